"""The dashboard: server-rendered pages with a JSON twin each, live by server-sent events."""

from server.dashboard.routes import router

__all__ = ["router"]
