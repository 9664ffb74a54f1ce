"""Models: published architectures as designs of one decode step, and what they count."""

from catalogue.models.registry import Description, describe, load_model, model_names

__all__ = ["Description", "describe", "load_model", "model_names"]
