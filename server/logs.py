"""Logging: structured lines on stderr, for people or as JSON."""

from __future__ import annotations

import logging
import sys

import structlog

from server.ops.redaction import Redaction
from server.settings import Settings


def set_up(settings: Settings) -> None:
    """Configure the log of this process."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    last: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            Redaction(settings),
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
