"""The service: a REST API over the database, jobs, and the coordinator that runs them."""
