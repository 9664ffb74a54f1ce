"""The language in which inference designs are written, checked, run and counted."""
