"""Cycles of a real store, with the wire's defaults, and memories of which each fares otherwise."""

from typing import Any

from sidecar.cycle_reports import ForgettingReport
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from tests.namespaces import memory

SAME, OTHER = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


async def cycle(namespace: Namespace, **given: Any) -> ForgettingReport:
    """One cycle, with what is not given at rest."""
    rest: dict[str, Any] = {"dry_run": False, "plan_id": None, "now": None, "decisions_limit": 1000}
    return await namespace.run_cycle(**(rest | given))


def fact(
    memory_id: str, content: str, vector: list[float] | None = None, **more: Any
) -> MemoryInput:
    """A fact of two weeks ago that neither fades nor goes by its age."""
    given = {"importance": 0.9, "days": 14, "content": content} | more
    return memory(memory_id, embedding=vector, embedding_model=vector and "test", **given)


def decided(report: ForgettingReport) -> dict[str, tuple[str, str | None, str | None]]:
    """Action, reason and what stopped it, by id."""
    return {one.record_id: (one.action, one.reason, one.skipped) for one in report.decisions}


def a_bit_of_all() -> list[MemoryInput]:
    """One of each: superseded and its head, a duplicate and its survivor, weaker, weak, kept."""
    return [
        fact("home-old", "Mina lives in Busan"),
        fact("home", "Mina lives in Seoul", supersedes=["home-old"]),
        fact("tea", "Mina drinks green tea", SAME),
        fact("tea-again", "Mina drinks green tea.", SAME, importance=0.8),
        fact("weaker", "parked in row one", importance=0.1),
        fact("weak", "parked in row two", importance=0.3),
        fact("kept", "Mina is allergic to nuts"),
    ]
