"""Functions of the dashboard that run in processes of their own; arguments and answers are plain data."""
