"""One file per group of pages."""
