"""JSON lines on standard error, whoever writes them and whether or not anybody reads them."""

import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from sidecar.daemon import log


@pytest.fixture(autouse=True)
def configured() -> Iterator[None]:
    """Logging as in a daemon; everything is as before afterwards."""
    root = logging.getLogger()
    kept = root.handlers[:], root.level
    root.handlers.clear()  # else configuring would close those of pytest
    log.configure("info")
    yield
    log.set_level("info")
    structlog.reset_defaults()
    root.handlers[:] = kept[0]
    root.setLevel(kept[1])


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


@pytest.mark.gate("DAEM-16")
def test_lines_of_the_daemon_and_of_libraries_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.get_logger().info("ours", number=1, text='커피 "quoted"\nnext')
    logging.getLogger("aiohttp.server").warning("theirs %s", 2)
    logging.getLogger("aiohttp.server").info("chatter")
    try:
        raise ValueError("a fault")
    except ValueError as error:
        structlog.get_logger().error("failed", exc_info=error)
    ours, theirs, failed = lines(capsys)
    assert (ours["event"], ours["number"], ours["level"]) == ("ours", 1, "info")
    assert ours["text"] == '커피 "quoted"\nnext'
    assert (theirs["event"], theirs["logger"]) == ("theirs 2", "aiohttp.server")
    assert "ValueError: a fault" in failed["exception"]


@pytest.mark.gate("DAEM-16")
def test_the_level_can_be_changed_while_the_daemon_runs(capsys: pytest.CaptureFixture[str]) -> None:
    logger = structlog.get_logger()
    logger.debug("not yet")
    log.set_level("debug")
    logger.debug("now")
    log.set_level("error")
    logger.warning("no more")
    assert [line["event"] for line in lines(capsys)] == ["now"]


class Closed(io.StringIO):
    """A pipe that nobody reads any more."""

    def write(self, _: str) -> int:
        raise BrokenPipeError


@pytest.mark.gate("DAEM-16")
def test_a_closed_standard_error_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Closed())
    structlog.get_logger().error("nobody hears this")
