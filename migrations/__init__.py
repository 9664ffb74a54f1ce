"""Versions of the database schema."""
