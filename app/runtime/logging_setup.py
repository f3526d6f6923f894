"""Structured logging: text on a terminal, JSON elsewhere; never payloads, never tokens."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from app.database_outage import DATABASE_OUTAGE, LibraryLineFilter, hold_back_line
from app.settings import Settings, unknown_variables


def is_console_format(settings: Settings) -> bool:
    """Whether lines are written as text for people instead of JSON."""
    return settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())


def configure(settings: Settings, process: str = "serve") -> None:
    """Send our lines and those of libraries to standard error in one format, each with the name of this process."""
    console = is_console_format(settings)

    def add_process_name(_logger: Any, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
        line.setdefault("process", process)
        return line

    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        add_process_name,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.typing.Processor = (
        # Not structlog's own tracebacks: they show local variables, which may hold tokens and passwords.
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if console
        else structlog.processors.JSONRenderer()
    )
    last: list[structlog.typing.Processor] = [_escape_controls if console else structlog.processors.format_exc_info]
    level = getattr(logging, settings.log_level.upper())
    structlog.configure(
        processors=[hold_back_line, *shared, *last, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last, renderer],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    handler.addFilter(LibraryLineFilter())
    DATABASE_OUTAGE.start()
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(level, logging.WARNING))
    logging.captureWarnings(capture=True)  # else they would be printed in another format
    for name in unknown_variables(os.environ):
        structlog.get_logger().warning("setting_unknown", variable=name)


def _escape_controls(_logger: Any, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """The line with values that nobody can use to control a terminal: a path is whatever a visitor sends."""
    for name, value in line.items():
        if name != "event" and isinstance(value, str) and not value.isprintable():
            line[name] = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in value)
    return line


@contextmanager
def silence_logs() -> Iterator[None]:
    """Suppress log lines during the block, for a command that prints its own messages."""
    before = structlog.get_config()
    silent_logger = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=silent_logger, cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)
