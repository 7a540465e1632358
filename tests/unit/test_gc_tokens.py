"""Tokens of a destruction: one use, one namespace, a quarter of an hour."""

import pytest

from sidecar.apply.destroy import doomed_of
from sidecar.errors import GcTokenExpired, GcTokenUnknown, GcTokenUsed, GcWrongNamespace
from sidecar.gc_tokens import GcTokens, PlannedDestruction
from sidecar.limits import GC_PLANS_KEPT_MAX, GC_TOKEN_LIFETIME_MS

NOW = 1_780_000_000_000


def a_plan(namespace: str = "me") -> PlannedDestruction:
    return PlannedDestruction(namespace, doomed_of([]), "aged", NOW)


@pytest.mark.gate("GC-13")
def test_a_token_is_used_once() -> None:
    tokens = GcTokens()
    plan = a_plan()
    token = tokens.add(plan)
    assert tokens.take(token, "me", NOW) is plan
    with pytest.raises(GcTokenUsed):
        tokens.take(token, "me", NOW)
    tokens.give_back(plan)
    assert tokens.take(token, "me", NOW) is plan


@pytest.mark.gate("GC-13")
@pytest.mark.parametrize("passed", [0, GC_TOKEN_LIFETIME_MS])
def test_a_token_lives_a_quarter_of_an_hour(passed: int) -> None:
    tokens = GcTokens()
    token = tokens.add(a_plan())
    assert tokens.take(token, "me", NOW + passed).made_at == NOW


@pytest.mark.gate("GC-13")
@pytest.mark.parametrize("passed", [-1, GC_TOKEN_LIFETIME_MS + 1, -365 * 86_400_000])
def test_a_token_is_refused_later_and_when_the_clock_went_back(passed: int) -> None:
    tokens = GcTokens()
    token = tokens.add(a_plan())
    with pytest.raises(GcTokenExpired):
        tokens.take(token, "me", NOW + passed)


@pytest.mark.gate("GC-13")
def test_a_token_of_another_namespace_is_refused_and_stays_good() -> None:
    tokens = GcTokens()
    token = tokens.add(a_plan())
    with pytest.raises(GcWrongNamespace):
        tokens.take(token, "you", NOW)
    assert tokens.take(token, "me", NOW).namespace == "me"


@pytest.mark.gate("GC-13")
def test_unknown_tokens_and_those_of_too_many_plans_ago_are_refused() -> None:
    tokens = GcTokens()
    first = tokens.add(a_plan())
    made = [tokens.add(a_plan()) for _ in range(GC_PLANS_KEPT_MAX)]
    assert len({first, *made}) == GC_PLANS_KEPT_MAX + 1
    for token in (first, "gc-guessed"):
        with pytest.raises(GcTokenUnknown):
            tokens.take(token, "me", NOW)
    assert tokens.take(made[0], "me", NOW).namespace == "me"
