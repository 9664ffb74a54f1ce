"""Facts with sources: models, devices and systems."""
