"""The options of forgetting: names on both sides, bounds, defaults."""

import re
from typing import Any

import pytest

from sidecar.errors import InvalidParams
from sidecar.limits import INTEGER_MAX
from sidecar.plan.plan import CascadeSettings
from sidecar.thresholds import (
    DEFAULTS,
    SNAKE_BY_WIRE,
    WIRE_BY_SNAKE,
    parse_thresholds,
    settings,
    thresholds_from,
)


@pytest.mark.gate("CONF-06")
def test_the_defaults_are_those_that_are_promised() -> None:
    assert DEFAULTS == {
        "forgetThresholdCount": 10_000,
        "forgetThresholdTotal": 100_000,
        "forgetThresholdDiskGB": 2.0,
        "forgetEnabled": True,
        "lowWatermark": 0.9,
        "weakStrength": 0.05,
        "minIdleDays": 7.0,
        "newbornDays": 1.0,
        "restoreGraceDays": 30.0,
        "forgetActive": True,
        "brakeShare": 0.2,
        "loweringDelayMinutes": 60.0,
        "forgottenWarnGB": 1.0,
        "eventRetentionDays": 90.0,
    }
    assert settings({}) == CascadeSettings()


@pytest.mark.gate("CONF-06")
def test_names_of_the_wire_and_of_python_correspond() -> None:
    for wire, snake in SNAKE_BY_WIRE.items():
        assert WIRE_BY_SNAKE[snake] == wire
        assert re.sub(r"(?<=[a-z])(?=[A-Z])", "_", wire).lower() == snake


@pytest.mark.gate("CONF-06")
@pytest.mark.parametrize(
    "name,good,bad",
    [
        ("forgetThresholdCount", [0, INTEGER_MAX], [-1, 1.0, True, "1", INTEGER_MAX + 1, [1]]),
        ("forgetThresholdDiskGB", [0.001, 2, 9_000_000], [0, -1, 9_000_001, True, 10**400]),
        ("forgetEnabled", [True, False], [0, 1, "true"]),
        ("lowWatermark", [0.01, 1], [0, 1.01, float("nan")]),
        ("weakStrength", [0, 1], [-0.01, 1.01, float("nan")]),
        ("minIdleDays", [0, 0.5, 36_500], [-1, float("inf"), float("nan"), {}]),
        ("brakeShare", [1, 0.2], [0, 2]),
        ("loweringDelayMinutes", [0, 525_600], [-1, 525_601]),
        ("eventRetentionDays", [0, 0.5, 36_500], [-1, 36_501, True, "90"]),
    ],
)
def test_bounds_hold_and_are_told(name: str, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert parse_thresholds({name: value})[name] == value
    for value in bad:
        with pytest.raises(InvalidParams) as refused:
            parse_thresholds({name: value}, "$.options")
        assert refused.value.data["field"] == f"$.options.{name}"
        assert refused.value.data["bound"]
        assert "the default is" in refused.value.data["remedy"]


@pytest.mark.gate("CONF-06")
def test_an_unknown_option_is_told_with_the_likely_name() -> None:
    with pytest.raises(InvalidParams) as refused:
        parse_thresholds({"forgetTresholdCount": 1})
    assert refused.value.data["remedy"] == "did you mean forgetThresholdCount?"
    with pytest.raises(InvalidParams) as refused:
        parse_thresholds({"x" * 1_000_000: 1})
    assert len(str(refused.value.to_wire_data())) < 1_000


@pytest.mark.gate("CONF-06")
def test_null_asks_for_the_default() -> None:
    values = parse_thresholds({"lowWatermark": None, "forgetThresholdCount": 5})
    assert values == {"lowWatermark": None, "forgetThresholdCount": 5}
    assert thresholds_from(values).low_watermark == 0.9


@pytest.mark.gate("CONF-06")
def test_settings_carry_the_values_and_the_share_of_the_call() -> None:
    values = parse_thresholds({"forgetThresholdDiskGB": 0.5, "brakeShare": 0.1, "minIdleDays": 3})
    assert settings(values) == CascadeSettings(
        threshold_disk_bytes=500_000_000, brake_share=0.1, idle_days_min=3.0
    )
    assert settings(values, 0.7).brake_share == 0.7
