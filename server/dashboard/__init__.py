"""The dashboard: server-rendered pages with a JSON twin each, live by server-sent events."""
