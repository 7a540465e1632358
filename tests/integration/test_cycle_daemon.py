"""A cycle of a real daemon, as its configuration file says."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running import RunningDaemon
from tests.sources import ROOT

DAY_MS = 86_400_000
NOW = 1_800_000_000_000


@pytest.mark.gate("CYC-50")
@pytest.mark.parametrize(
    ("resolver", "stays"), [(None, "newer"), ("keep_oldest:KeepOldest", "older")]
)
def test_the_resolver_of_duplicates_that_the_config_file_names_is_the_one_that_settles(
    start: Callable[..., RunningDaemon], folder: Path, resolver: str | None, stays: str
) -> None:
    file = folder / "forgetd.toml"
    file.write_text(f'[cycle]\nduplicate_resolver = "{resolver}"\n' if resolver else "")
    options = ("--config", str(file), "--allow-injected-clock")
    daemon = start(*options, PYTHONPATH=str(ROOT / "examples"))
    daemon.call("system.clock", now=NOW)
    for memory_id, days in (("older", 20), ("newer", 10)):
        daemon.call(
            "memory.put",
            id=memory_id,
            content="Mina drinks green tea",
            createdAt=NOW - days * DAY_MS,
            importance=0.9,
        )
    planned = daemon.call("forgetting.runCycle", dryRun=True)
    done = daemon.call("forgetting.runCycle", planId=planned["planId"])
    gone = [one["recordId"] for one in done["decisions"] if one["executed"]]
    assert gone == [{"older": "newer", "newer": "older"}[stays]]
    assert [one["id"] for one in daemon.call("memory.list")["memories"]] == [stays]
