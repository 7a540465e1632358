"""`[lifecycle]` in forgetd.toml: defaults, bounds, layers, and how they are shown."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sidecar.config import Config, load_config
from sidecar.cycle_config import CYCLE
from sidecar.errors import ConfigError, InvalidParams
from sidecar.lifecycle_config import LIFECYCLE, LifecycleOptions, lifecycle_settings
from sidecar.limits import INTEGER_MAX
from sidecar.plan.lifecycle import LifecycleSettings
from sidecar.thresholds import DAYS_MAX
from tests.unit.cli_run import Run, runner

FILE = """\
[gc]
allow_rpc = true

[lifecycle]
forget_enabled = true
min_age_days = 30

[namespaces.me.cycle]
fade_factor = 0.25

[namespaces."a.b".lifecycle]
forget_enabled = false
harmful_floor = -2
"""


@pytest.fixture
def write(tmp_path: Path):
    """Writes forgetd.toml and loads it with an environment of the test's."""

    def load(text: str, environ: dict[str, str] | None = None) -> Config:
        path = tmp_path / "forgetd.toml"
        path.write_text(text)
        return load_config(path=path, environ=environ or {})

    return load


# --- values ------------------------------------------------------------------------------


@pytest.mark.gate("LIFE-70")
def test_the_defaults_are_those_that_are_promised_and_archive_nothing() -> None:
    options = LIFECYCLE.options({})
    assert options == LifecycleOptions(
        forget_enabled=False,
        usefulness_floor=-0.1,
        min_age_days=90.0,
        protect_use_count=10,
        harmful_floor=-0.5,
    )
    assert lifecycle_settings(options) == LifecycleSettings()


@pytest.mark.gate("LIFE-70")
@pytest.mark.parametrize(
    "name,good,bad",
    [
        ("forget_enabled", [True, False], [1, 0, "true", None]),
        (
            "usefulness_floor",
            [-1000, -0.1, 0, 0.5, 1000],
            [-1000.01, 1000.01, math.nan, math.inf, -math.inf, "0", True, None],
        ),
        ("harmful_floor", [-1000, -0.5, 1000], [-1001, 1001, math.nan, "x"]),
        ("min_age_days", [0, 0.5, 90, DAYS_MAX], [-1, -1e-9, DAYS_MAX + 1, math.nan, 1e400, "9"]),
        ("protect_use_count", [1, 10, INTEGER_MAX], [0, -1, 1.5, INTEGER_MAX + 1, "10", True]),
    ],
)
def test_bounds_hold_and_are_told(name: str, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert LIFECYCLE.parse(name, value) == value
    for value in bad:
        with pytest.raises(InvalidParams) as refused:
            LIFECYCLE.parse(name, value, "namespaces.me.lifecycle")
        assert refused.value.data["field"] == f"namespaces.me.lifecycle.{name}"
        assert refused.value.data["bound"] == LIFECYCLE.bound_of(name)
        assert "the default is" in refused.value.data["remedy"]


@pytest.mark.gate("LIFE-70")
def test_an_unknown_option_is_told_with_the_likely_name() -> None:
    with pytest.raises(InvalidParams) as refused:
        LIFECYCLE.parse("min_age_day", 1)
    assert refused.value.data["field"] == "lifecycle.min_age_day"
    assert refused.value.data["remedy"] == "did you mean min_age_days?"


@pytest.mark.gate("LIFE-70")
def test_harm_is_at_most_what_is_low() -> None:
    assert LIFECYCLE.options({"harmful_floor": -0.1})
    for given, named in (
        ({"harmful_floor": -0.05}, "harmful_floor"),
        ({"usefulness_floor": -0.6}, "usefulness_floor"),
    ):
        with pytest.raises(InvalidParams) as refused:
            LIFECYCLE.options(given)
        assert refused.value.data["field"] == f"lifecycle.{named}"
        assert refused.value.data["remedy"] == "lower harmful_floor, or raise usefulness_floor"


# --- layers ------------------------------------------------------------------------------


@pytest.mark.gate("LIFE-71")
def test_a_namespace_goes_by_its_own_then_by_all_then_by_defaults(write) -> None:
    config = write(FILE)
    own, other = config.lifecycle_for("A.B"), config.lifecycle_for("me")
    assert (own.forget_enabled, own.min_age_days, own.harmful_floor) == (False, 30.0, -2.0)
    assert (other.forget_enabled, other.min_age_days, other.harmful_floor) == (True, 30.0, -0.5)
    assert config.origins["lifecycle.min_age_days"] == "file"
    assert config.origins["namespaces.a.b.lifecycle.harmful_floor"] == "file"


@pytest.mark.gate("LIFE-71")
def test_the_environment_goes_over_the_file_and_under_a_namespaces_own(write) -> None:
    environ = {
        "FORGETD_LIFECYCLE_MIN_AGE_DAYS": "7.5",
        "FORGETD_LIFECYCLE_FORGET_ENABLED": "false",
        "FORGETD_LIFECYCLE_HARMFUL_FLOOR": "-3",
        "FORGETD_LIFECYCLE_PROTECT_USE_COUNT": "4",
    }
    config = write(FILE, environ)
    own, other = config.lifecycle_for("a.b"), config.lifecycle_for("me")
    assert (other.forget_enabled, other.min_age_days, other.harmful_floor) == (False, 7.5, -3.0)
    assert (own.harmful_floor, own.protect_use_count) == (-2.0, 4)
    assert config.origins["lifecycle.min_age_days"] == "env"


@pytest.mark.gate("LIFE-71")
@pytest.mark.parametrize(
    "text,told,remedy",
    [
        ("[lifecycle]\nforget_enabld = true\n", ":2: 'lifecycle.forget_enabld'", "forget_enabled?"),
        ("[lifecycle]\nenabled = true\n", ":2: 'lifecycle.enabled'", "forget_enabled"),
        ("[lifecycle]\n\nmin_age_days = -1\n", ":3: 'lifecycle.min_age_days'", "default is 90"),
        ("[lifecycle]\nforget_enabled = 1\n", ":2: 'lifecycle.forget_enabled'", "default is false"),
        ("[lifecycle]\nusefulness_floor = nan\n", "'lifecycle.usefulness_floor'", "is -0.1"),
        ("lifecycle = 3\n", "'lifecycle' must be a table", "[lifecycle]"),
        (
            "[lifecycle]\nharmful_floor = 0\n",
            "lifecycle.harmful_floor (0) is above lifecycle.usefulness_floor (-0.1)",
            "lower harmful_floor",
        ),
        (
            "[lifecycle]\nharmful_floor = -0.3\n"
            "[namespaces.work.lifecycle]\nusefulness_floor = -0.4\n",
            "namespaces.work.lifecycle.harmful_floor (-0.3)",
            "raise usefulness_floor",
        ),
        (
            "[namespaces.work.lifecycle]\nprotect_use_counts = 2\n",
            ":2: 'namespaces.work.lifecycle.protect_use_counts'",
            "protect_use_count?",
        ),
    ],
)
def test_a_wrong_table_is_refused_as_a_whole(write, text: str, told: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as refused:
        write(text)
    assert told in refused.value.message
    assert remedy in refused.value.remedy


@pytest.mark.gate("LIFE-71")
@pytest.mark.parametrize(
    "variable,value",
    [
        ("FORGETD_LIFECYCLE_MIN_AGE_DAY", "1"),
        ("FORGETD_LIFECYCLE_MIN_AGE_DAYS", "soon"),
        ("FORGETD_LIFECYCLE_MIN_AGE_DAYS", "-1"),
        ("FORGETD_LIFECYCLE_MIN_AGE_DAYS", "nan"),
        ("FORGETD_LIFECYCLE_FORGET_ENABLED", "maybe"),
    ],
)
def test_a_wrong_variable_is_named(write, variable: str, value: str) -> None:
    with pytest.raises(ConfigError, match=variable):
        write("", {variable: value})


# --- config show -------------------------------------------------------------------------


@pytest.fixture
def forgetd(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    path = tmp_path / "forgetd.toml"
    path.write_text(FILE)
    monkeypatch.delenv("FORGETD_SOCKET", raising=False)
    monkeypatch.setenv("FORGETD_CONFIG", str(path))
    monkeypatch.setenv("FORGETD_LIFECYCLE_PROTECT_USE_COUNT", "4")
    return runner(capsys)


def shown(forgetd: Run, *options: str) -> dict[str, dict[str, Any]]:
    done = forgetd("config", "show", "--json", *options)
    assert (done.code, done.err) == (0, "")
    settings: dict[str, dict[str, Any]] = json.loads(done.out)["settings"]
    return settings


@pytest.mark.gate("LIFE-72")
def test_every_option_of_every_table_is_shown_with_its_origin(forgetd: Run, tmp_path: Path) -> None:
    told = shown(forgetd)
    tables = {f"{table.name}.{key}" for table in (CYCLE, LIFECYCLE) for key in table.keys}
    assert set(told) >= tables | {"gc.allow_rpc", "gc.standing_order_days"}
    file = tmp_path / "forgetd.toml"
    expected: dict[str, tuple[object, str, str | None]] = {
        "gc.allow_rpc": (True, "file", f"{file}:2"),
        "gc.standing_order_days": (0, "default", None),
        "lifecycle.forget_enabled": (True, "file", f"{file}:5"),
        "lifecycle.protect_use_count": (4, "env", "$FORGETD_LIFECYCLE_PROTECT_USE_COUNT"),
        "lifecycle.harmful_floor": (-0.5, "default", None),
        "cycle.fade_factor": (0.5, "default", None),
        "namespaces.me.cycle.fade_factor": (0.25, "file", f"{file}:9"),
        "namespaces.a.b.lifecycle.forget_enabled": (False, "file", f"{file}:12"),
        "namespaces.a.b.lifecycle.harmful_floor": (-2.0, "file", f"{file}:13"),
    }
    for key, (value, origin, place) in expected.items():
        assert told[key] == {"value": value, "origin": origin, "place": place}, key


@pytest.mark.gate("LIFE-72")
def test_the_tables_of_one_namespace_are_its_own_over_the_common_ones(forgetd: Run) -> None:
    me, other = shown(forgetd, "--namespace", "ME"), shown(forgetd, "--namespace", "A.b")
    assert me["namespaces.me.cycle.fade_factor"]["value"] == 0.25
    assert "cycle.fade_factor" not in me
    assert me["lifecycle.min_age_days"]["value"] == 30.0
    assert other["cycle.fade_factor"]["value"] == 0.5
    assert other["namespaces.a.b.lifecycle.forget_enabled"]["value"] is False
    assert "lifecycle.forget_enabled" not in other
    assert not any(key.startswith("namespaces.me") for key in other)


@pytest.mark.gate("LIFE-72")
def test_the_tables_are_shown_to_people_too(forgetd: Run) -> None:
    done = forgetd("config", "show", "--origin")
    assert done.code == 0
    for key in ("gc.allow_rpc", "cycle.fade_factor", "lifecycle.forget_enabled"):
        assert key in done.out, key
    assert "namespaces.me.cycle.fade_factor" in done.out
