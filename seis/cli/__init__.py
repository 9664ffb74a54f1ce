"""The command line `seis`: one command per file; `main` puts them together."""
