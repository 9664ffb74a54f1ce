"""The error of an import: the file, or what it says, cannot become a design."""

from catalogue.errors import CatalogueFileError


class ConfigError(CatalogueFileError):
    """A config.json cannot be read or no design can be made of it; one sentence for the user."""
