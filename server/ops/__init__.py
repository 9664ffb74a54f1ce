"""Running the service: logs without secrets, metrics, checks, backups, retention."""
