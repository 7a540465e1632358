"""The options of the cycle: names, bounds, defaults."""

from typing import Any

import pytest

from sidecar.cycle_config import (
    CYCLE,
    CycleOptions,
    cycle_settings,
)
from sidecar.errors import InvalidParams
from sidecar.plan.cycle_settings import CycleSettings


@pytest.mark.gate("CYC-29")
def test_the_defaults_are_those_that_are_promised() -> None:
    assert CYCLE.options({}) == CycleOptions()
    assert cycle_settings(CycleOptions()) == CycleSettings(
        fade_factor=0.5,
        fade_floor=0.01,
        semantic_prune_threshold=0.05,
        semantic_fade_threshold=0.15,
        episodic_prune_threshold=0.05,
        episodic_fade_threshold=0.20,
        procedural_prune_threshold=0.05,
        procedural_fade_threshold=0.15,
        semantic_duplicate_threshold=0.95,
        procedural_low_perf_wilson_threshold=0.1,
        procedural_low_perf_min_outcomes=10,
        fade_interval_days=7.0,
        duplicate_guard=True,
    )


@pytest.mark.gate("CYC-29")
@pytest.mark.parametrize(
    "name,good,bad",
    [
        ("enabled", [True, False], [0, "true"]),
        ("interval_hours", [0.5, 24, 8_760], [0, -1, 8_761, float("inf"), "24"]),
        ("fade_factor", [0.01, 0.99], [0, 1, -0.5, float("nan"), True]),
        ("fade_floor", [0.0001, 1], [0, -0.01, 1.01]),
        ("fade_interval_days", [0, 0.5, 36_500], [-0.1, 36_501, float("nan"), 10**400]),
        ("semantic_prune_threshold", [0, 1], [-0.01, 1.01, {}]),
        ("semantic_duplicate_threshold", [0.5, 1], [0, 1.01]),
        ("procedural_low_perf_wilson_threshold", [0, 1], [-0.1, 1.1]),
        ("procedural_low_perf_min_outcomes", [1, 10], [0, 1.5, True]),
        ("duplicate_guard", [True, False], [1]),
        ("duplicate_resolver", ["exact", "a.b:C"], ["", "two words", "a:b:c", "a\n", 1, "x" * 257]),
    ],
)
def test_bounds_hold_and_are_told(name: str, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert CYCLE.parse(name, value) == value
    for value in bad:
        with pytest.raises(InvalidParams) as refused:
            CYCLE.parse(name, value, "$.cycle")
        assert refused.value.data["field"] == f"$.cycle.{name}"
        assert refused.value.data["bound"]
        assert "the default is" in refused.value.data["remedy"]


@pytest.mark.gate("CYC-29")
def test_an_unknown_option_is_told_with_the_likely_name() -> None:
    with pytest.raises(InvalidParams) as refused:
        CYCLE.parse("fade_intervall_days", 1)
    assert refused.value.data["remedy"] == "did you mean fade_interval_days?"
    assert len(CYCLE.keys) == len(set(CYCLE.keys))


@pytest.mark.gate("CYC-29")
@pytest.mark.parametrize("kind", ["semantic", "episodic", "procedural"])
def test_a_memory_fades_before_it_goes(kind: str) -> None:
    prune, fade = f"{kind}_prune_threshold", f"{kind}_fade_threshold"
    assert CYCLE.options({prune: 0.1, fade: 0.1})
    with pytest.raises(InvalidParams) as refused:
        CYCLE.options({prune: 0.11, fade: 0.1})
    assert refused.value.data["field"] == f"cycle.{prune}"
    with pytest.raises(InvalidParams) as refused:
        CYCLE.options({fade: 0.01})
    assert refused.value.data["field"] == f"cycle.{fade}"
