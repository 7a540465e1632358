"""`forgetd config show`: every key, its value, and where that is from."""

import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.config import DAEMON_KEYS, load_config
from sidecar.daemon.schedule import effective_schedule
from sidecar.thresholds import SNAKE_BY_WIRE
from tests.unit.cli_run import Run, runner

FILE = """
[daemon]
log_level = "warning"

[thresholds]
forget_threshold_count = 20_000
low_watermark = 0.8

[namespaces."a.b".thresholds]
forget_enabled = false
low_watermark = 0.5
"""


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration file, and one variable beside it."""
    path = tmp_path / "forgetd.toml"
    path.write_text(FILE)
    monkeypatch.delenv("FORGETD_SOCKET", raising=False)
    monkeypatch.setenv("FORGETD_CONFIG", str(path))
    monkeypatch.setenv("FORGETD_THRESHOLDS_WEAK_STRENGTH", "0.1")
    return path


def told(forgetd: Run, *options: str) -> dict[str, Any]:
    done = forgetd("config", "show", "--json", *options)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


@pytest.mark.gate("CLI-70")
def test_every_key_is_shown_with_value_and_origin(forgetd: Run, file: Path, tmp_path: Path) -> None:
    answer = told(forgetd, "--state-dir", str(tmp_path / "s"))
    shown = answer["settings"]
    assert set(shown) >= {f"daemon.{key}" for key in DAEMON_KEYS} | {
        f"thresholds.{key}" for key in SNAKE_BY_WIRE.values()
    }

    def is_told(key: str, value: object, origin: str, place: str | None) -> bool:
        return shown[key] == {"value": value, "origin": origin, "place": place}

    assert is_told("daemon.state_dir", str(tmp_path / "s"), "flag", "--state-dir")
    assert is_told("daemon.log_level", "warning", "file", f"{file}:3")
    assert is_told("thresholds.forget_threshold_count", 20_000, "file", f"{file}:6")
    variable = "$FORGETD_THRESHOLDS_WEAK_STRENGTH"
    assert is_told("thresholds.weak_strength", 0.1, "env", variable)
    assert is_told("thresholds.newborn_days", 1.0, "default", None)
    assert is_told("namespaces.a.b.thresholds.forget_enabled", False, "file", f"{file}:10")


@pytest.mark.gate("CLI-70")
def test_the_settings_of_one_namespace_are_its_own_over_the_common_ones(
    forgetd: Run, file: Path
) -> None:
    shown = told(forgetd, "--namespace", "A.B")["settings"]
    own = "namespaces.a.b.thresholds."
    assert shown[f"{own}low_watermark"]["value"] == 0.5
    assert shown[f"{own}low_watermark"]["place"] == f"{file}:11"
    assert "thresholds.low_watermark" not in shown
    assert shown["thresholds.forget_threshold_count"]["value"] == 20_000


@pytest.mark.gate("CLI-70")
def test_the_schedule_is_the_one_that_the_daemon_logs(forgetd: Run, file: Path) -> None:
    logged = effective_schedule(load_config(path=file))
    schedule = told(forgetd)["schedule"]
    assert schedule.items() <= logged.items()
    assert told(forgetd, "--namespace", "a.b")["schedule"]["automaticSweep"] is False


@pytest.mark.gate("CLI-70")
def test_places_are_shown_where_they_are_asked_for(forgetd: Run, file: Path) -> None:
    plain = forgetd("config", "show")
    assert "forget_threshold_count" in plain.out
    assert str(file) not in plain.out
    assert f"{file}:6" in forgetd("config", "show", "--origin").out


@pytest.mark.gate("CLI-70")
def test_a_wrong_setting_is_told_with_its_line(forgetd: Run, file: Path) -> None:
    file.write_text("[thresholds]\nlow_watermark = 7\n")
    done = forgetd("config", "show")
    assert (done.code, done.out) == (78, "")
    assert f"{file}:2" in done.err
