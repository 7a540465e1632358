"""forgetd.toml, the environment and the flags, laid over each other."""

from pathlib import Path

import pytest

from sidecar.config import Config, default_config_path, load_config
from sidecar.errors import ConfigError

FULL = """\
# what the operator of this machine ordered
[daemon]
socket = "/run/me/forgetd.sock"
state_dir = "/var/lib/forgetd"
log_level = "warning"

[thresholds]
forget_threshold_count = 20_000
forget_threshold_disk_gb = 4
forget_enabled = false

[namespaces.work.thresholds]
forget_enabled = true

[namespaces."agent.1"]
thresholds = { low_watermark = 0.8 }
"""


@pytest.fixture
def write(tmp_path: Path):
    """Writes forgetd.toml and loads it with an environment and flags of the test's."""

    def load(
        text: str, environ: dict[str, str] | None = None, flags: dict[str, object] | None = None
    ) -> Config:
        path = tmp_path / "forgetd.toml"
        path.write_text(text)
        return load_config(path=path, environ=environ or {}, flags=flags)

    return load


@pytest.mark.gate("CONF-01")
def test_flags_go_before_environment_before_file_before_defaults(write) -> None:
    config = write(
        FULL,
        {"FORGETD_STATE_DIR": "/env/state", "FORGETD_SOCKET": "/env/socket"},
        {"daemon.socket": "/flag/socket", "daemon.state_dir": None},
    )
    assert config.daemon.socket == Path("/flag/socket")
    assert config.daemon.state_dir == Path("/env/state")
    assert config.daemon.log_level == "warning"
    assert config.origins == {
        "daemon.socket": "flag",
        "daemon.state_dir": "env",
        "daemon.log_level": "file",
        "gc.allow_rpc": "default",
        "gc.standing_order_days": "default",
        "thresholds.forget_threshold_count": "file",
        "thresholds.forget_threshold_disk_gb": "file",
        "thresholds.forget_enabled": "file",
        "namespaces.work.thresholds.forget_enabled": "file",
        "namespaces.agent.1.thresholds.low_watermark": "file",
    }


@pytest.mark.gate("CONF-01")
def test_nothing_given_means_the_usual_places(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    config = load_config(environ=environ)
    assert config.daemon.state_dir == tmp_path / "state" / "forgetd"
    assert config.daemon.socket == tmp_path / "state" / "forgetd" / "run" / "forgetd.sock"
    assert config.path == tmp_path / "forgetd" / "forgetd.toml"
    assert set(config.origins.values()) == {"default"}
    assert config.thresholds == {}
    with_runtime = load_config(environ={**environ, "XDG_RUNTIME_DIR": "/run/user/7"})
    assert with_runtime.daemon.socket == Path("/run/user/7/forgetd/forgetd.sock")
    assert default_config_path({"XDG_CONFIG_HOME": "relative"}).is_relative_to(Path.home())


@pytest.mark.gate("CONF-02")
def test_only_thresholds_that_are_given_are_ordered_for_a_namespace(write) -> None:
    config = write(FULL)
    common = {
        "forgetThresholdCount": 20_000,
        "forgetThresholdDiskGB": 4.0,
        "forgetEnabled": False,
    }
    assert config.thresholds_for("anyone") == common
    assert config.thresholds_for("work") == {**common, "forgetEnabled": True}
    assert config.thresholds_for("WORK") == {**common, "forgetEnabled": True}
    assert config.thresholds_for("agent.1") == {**common, "lowWatermark": 0.8}


@pytest.mark.gate("CONF-02")
def test_thresholds_may_come_from_the_environment(write) -> None:
    config = write(
        FULL,
        {
            "FORGETD_THRESHOLDS_FORGET_THRESHOLD_COUNT": "30_000",
            "FORGETD_THRESHOLDS_FORGET_ENABLED": "True",
            "FORGETD_THRESHOLDS_MIN_IDLE_DAYS": "1.5",
        },
    )
    assert config.thresholds_for("anyone") == {
        "forgetThresholdCount": 30_000,
        "forgetThresholdDiskGB": 4.0,
        "forgetEnabled": True,
        "minIdleDays": 1.5,
    }
    assert config.origins["thresholds.forget_threshold_count"] == "env"
    assert config.origins["thresholds.forget_threshold_disk_gb"] == "file"


@pytest.mark.gate("CONF-03")
@pytest.mark.parametrize(
    "text,line,key,meant",
    [
        ("[deamon]\n", 1, "deamon", "daemon"),
        ('[daemon]\n\nsockte = "x"\n', 3, "daemon.sockte", "socket"),
        ("[thresholds]\nforget_treshold_count = 1\n", 2, "forget_treshold_count", "_threshold_co"),
        ("[thresholds]\nforgetThresholdCount = 1\n", 2, "forgetThresholdCount", "_threshold_co"),
        ("[namespaces.me]\nthreshold = {}\n", 2, "namespaces.me.threshold", "thresholds"),
        ("[namespaces.me.thresholds]\nlow = 1\n", 2, "namespaces.me.thresholds.low", "low_waterm"),
        ("x = 1\n", 1, "'x'", "daemon, gc, thresholds, cycle, lifecycle, namespaces"),
    ],
)
def test_an_unknown_key_is_an_error_with_its_line_and_the_likely_name(
    write, text: str, line: int, key: str, meant: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        write(text)
    assert f"forgetd.toml:{line}: " in refused.value.message
    assert key in refused.value.message
    assert meant in refused.value.remedy
    assert refused.value.exit_code == 78


@pytest.mark.gate("CONF-03")
@pytest.mark.parametrize(
    "text,told",
    [
        ("[thresholds]\nlow_watermark = 1.5\n", "greater than 0 and at most 1"),
        ("[thresholds]\nforget_threshold_count = 1.0\n", "an integer from 0"),
        ("[thresholds]\nforget_threshold_count = -1\n", "an integer from 0"),
        ("[thresholds]\nforget_threshold_disk_gb = 0\n", "greater than 0"),
        ("[thresholds]\nforget_threshold_disk_gb = inf\n", "greater than 0"),
        ("[thresholds]\nmin_idle_days = nan\n", "a number from 0 to 36500"),
        ('[thresholds]\nforget_enabled = "yes"\n', "true or false"),
        ("[thresholds]\nforget_enabled = 1\n", "true or false"),
        ("[daemon]\nsocket = 5\n", "a text"),
        ('[daemon]\nsocket = ""\n', "a text"),
        ('[daemon]\nlog_level = "loud"\n', "debug, info, warning, error"),
        ("daemon = 1\n", "a table"),
        ("[namespaces]\nme = 1\n", "a table"),
        ("[namespaces.me]\n[namespaces.ME]\n", "other letter case"),
    ],
)
def test_a_value_out_of_bounds_names_place_bound_and_remedy(write, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        write(text)
    assert "forgetd.toml:" in refused.value.message
    assert told in refused.value.message
    assert refused.value.remedy


@pytest.mark.gate("CONF-04")
@pytest.mark.parametrize(
    "environ,told",
    [
        ({"FORGETD_THRESHOLDS_LOW_WATERMARC": "1"}, "FORGETD_THRESHOLDS_LOW_WATERMARC"),
        ({"FORGETD_DAEMON_SOKET": "/x"}, "FORGETD_DAEMON_SOKET"),
        ({"FORGETD_THRESHOLDS_LOW_WATERMARK": "much"}, "FORGETD_THRESHOLDS_LOW_WATERMARK"),
        ({"FORGETD_LOG_LEVEL": "loud"}, "FORGETD_LOG_LEVEL"),
        ({"FORGETD_SOCKET": "/a", "FORGETD_DAEMON_SOCKET": "/b"}, "FORGETD_DAEMON_SOCKET differ"),
    ],
)
def test_a_bad_variable_is_named(write, environ: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        write("", environ)
    assert told in refused.value.message
    assert refused.value.remedy


@pytest.mark.gate("CONF-04")
def test_a_variable_may_be_written_out_or_be_empty(write) -> None:
    config = write("", {"FORGETD_DAEMON_SOCKET": "/a", "FORGETD_STATE_DIR": ""})
    assert config.daemon.socket == Path("/a")
    assert config.origins["daemon.state_dir"] == "default"


@pytest.mark.gate("CONF-05")
@pytest.mark.parametrize(
    "raw,told",
    [
        (b"[daemon\n", "line 1"),
        (b"[daemon]\nsocket = 'a'\nsocket = 'b'\n", "line 3"),
        (b"# \xff\n", "not UTF-8 at byte 2"),
        (b"#" * 1_048_577, "longer than"),
    ],
)
def test_a_file_that_is_no_toml_is_told_with_its_place(
    tmp_path: Path, raw: bytes, told: str
) -> None:
    path = tmp_path / "forgetd.toml"
    path.write_bytes(raw)
    with pytest.raises(ConfigError) as refused:
        load_config(path=path, environ={})
    assert str(path) in refused.value.message
    assert told in refused.value.message


@pytest.mark.gate("CONF-05")
def test_a_file_that_was_named_must_be_there_and_readable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_config(path=tmp_path / "none.toml", environ={})
    with pytest.raises(ConfigError, match="does not exist"):
        load_config(environ={"FORGETD_CONFIG": str(tmp_path / "none.toml")})
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(path=tmp_path, environ={})


CYCLES = """\
[cycle]
enabled = true
fade_interval_days = 14

[namespaces.work.cycle]
semantic_fade_threshold = 0.3
"""


@pytest.mark.gate("CYC-30")
def test_a_cycle_goes_by_its_namespace_then_by_all_then_by_defaults(write) -> None:
    config = write(CYCLES, {"FORGETD_CYCLE_FADE_FACTOR": "0.25"})
    work, other = config.cycle_for("WORK"), config.cycle_for("other")
    assert (work.semantic_fade_threshold, other.semantic_fade_threshold) == (0.3, 0.15)
    assert (work.enabled, work.fade_interval_days, work.fade_factor) == (True, 14.0, 0.25)
    assert (other.interval_hours, other.duplicate_guard) == (24.0, True)
    assert config.origins["cycle.fade_factor"] == "env"
    assert config.origins["namespaces.work.cycle.semantic_fade_threshold"] == "file"


@pytest.mark.gate("CYC-30")
@pytest.mark.parametrize(
    "text,told,remedy",
    [
        ("[cycle]\nfade_facter = 0.5\n", ":2: 'cycle.fade_facter'", "mean fade_factor?"),
        ("[cycle]\n\nfade_floor = 0\n", ":3: 'cycle.fade_floor'", "default is 0.01"),
        (
            "[cycle]\nsemantic_prune_threshold = 0.2\n",
            "semantic_prune_threshold (0.2) is above cycle.semantic_fade_threshold (0.15)",
            "lower semantic_prune_threshold",
        ),
        (
            "[cycle]\nepisodic_prune_threshold = 0.2\n"
            "[namespaces.work.cycle]\nepisodic_fade_threshold = 0.1\n",
            "namespaces.work.cycle.episodic_prune_threshold (0.2)",
            "raise episodic_fade_threshold",
        ),
    ],
)
def test_a_wrong_cycle_is_refused_as_a_whole(write, text: str, told: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as refused:
        write(text)
    assert told in refused.value.message
    assert remedy in refused.value.remedy


@pytest.mark.gate("CYC-30")
def test_a_wrong_variable_of_the_cycle_is_named(write) -> None:
    for variable in ("FORGETD_CYCLE_FADE_FACTER", "FORGETD_CYCLE_FADE_FACTOR"):
        with pytest.raises(ConfigError, match=variable):
            write("", {variable: "2"})


@pytest.mark.gate("GC-20")
@pytest.mark.parametrize("days", [0, 7, 8, 36_500])
def test_a_standing_order_is_of_a_week_at_least(write, days: int) -> None:
    config = write(f"[gc]\nstanding_order_days = {days}\n")
    assert config.gc.standing_order_days == days
    assert config.gc.allow_rpc is False


@pytest.mark.gate("GC-20")
@pytest.mark.parametrize(
    "line",
    [
        "standing_order_days = 6",
        "standing_order_days = 1",
        "standing_order_days = -7",
        "standing_order_days = 36501",
        "standing_order_days = 7.5",
        "standing_order_days = true",
        'standing_order_days = "7"',
        'allow_rpc = "yes"',
        "allow_rpc = 1",
        "older_than_days = 3",
    ],
)
def test_a_bad_order_is_refused_at_the_start(write, line: str) -> None:
    with pytest.raises(ConfigError, match="gc"):
        write(f"[gc]\n{line}\n")


@pytest.mark.gate("GC-20")
def test_destroying_is_not_switched_on_by_a_variable(write) -> None:
    with pytest.raises(ConfigError, match="FORGETD_GC_STANDING_ORDER_DAYS"):
        write("", environ={"FORGETD_GC_STANDING_ORDER_DAYS": "7"})
