"""Who may do what, how often, and how much of it."""
