"""One file per revision, oldest first; a published one never changes."""
