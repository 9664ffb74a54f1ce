"""Executors over several machines."""
