"""Models: published architectures as designs of one decode step, and what they count."""

from catalogue.models.registry import load_model, model_names

__all__ = ["load_model", "model_names"]
