"""Pictures of frontiers: characters for a terminal, SVG for a file."""
