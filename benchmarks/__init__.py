"""Timings that anyone can repeat: `make bench` or `python -m benchmarks.NAME`."""
