"""The service: API, coordinator, scheduler and dashboard."""
