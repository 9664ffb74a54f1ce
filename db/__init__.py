"""Tables and repositories of designs, runs and results."""
