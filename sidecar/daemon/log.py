"""JSON log lines on standard error. At `info` and below they hold no content of memories.

The lines of libraries go the same way. Where nobody reads standard error any more, lines are
dropped: a daemon outlives the terminal that started it.
"""

import contextlib
import json
import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Final

import structlog

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}

_threshold = LEVELS["info"]


def configure(level: str) -> None:
    """Send every log line of this process to standard error, from `level` on."""
    set_level(level)
    structlog.configure(
        processors=[
            structlog.stdlib.add_log_level,
            _drop_below_threshold,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_to_json),
        ],
        wrapper_class=structlog.BoundLogger,
        logger_factory=_StandardError,
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(handlers=[_Forward()], level=logging.WARNING, force=True)


def set_level(level: str) -> None:
    """Change the level of a running daemon."""
    global _threshold
    _threshold = LEVELS[level]


class _StandardError:
    """What structlog writes finished lines to, whatever their level."""

    def __init__(self, *_: object) -> None:
        pass

    def msg(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    debug = info = warning = error = critical = msg


class _Forward(logging.Handler):
    """Lines of the standard library's logging, as ours."""

    def emit(self, record: logging.LogRecord) -> None:
        logger = structlog.get_logger()
        write = getattr(logger, record.levelname.lower(), logger.error)
        write(record.getMessage(), logger=record.name, exc_info=record.exc_info)


def _drop_below_threshold(
    _: Any, __: str, entry: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    if LEVELS[entry["level"]] < _threshold:
        raise structlog.DropEvent
    return entry


def _to_json(entry: object, **_: object) -> str:
    return json.dumps(entry, ensure_ascii=False, default=str)
