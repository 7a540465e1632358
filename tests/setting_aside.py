"""Active forgetting of a real store: calls with the wire's defaults, and what was of no use."""

from typing import Any

from sidecar.lifecycle_config import LifecycleOptions, LifecycleRequest
from sidecar.lifecycle_reports import ForgetSummary
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.reports import RestoreReport, RunSummary
from tests.namespaces import get, memory


async def forget_useless(
    namespace: Namespace,
    *,
    dry_run: bool = False,
    plan_id: str | None = None,
    now: int | None = None,
    forced: bool = False,
    candidates_limit: int = 100,
    **options: Any,
) -> ForgetSummary:
    """lifecycle.forget where the config file allows it. Further names are options."""
    return await namespace.forget_useless(
        dry_run=dry_run,
        plan_id=plan_id,
        request=LifecycleRequest(
            options=LifecycleOptions(**({"forget_enabled": True} | options)),
            now=now,
            forced=forced,
            candidates_limit=candidates_limit,
        ),
    )


def harmful(memory_id: str, **fields: Any) -> MemoryInput:
    """A memory of 200 days that did harm once, and is too strong to go under pressure."""
    given: dict[str, Any] = {"importance": 1.0, "use_count": 1, "usefulness_score": -1.0}
    return memory(memory_id, **(given | fields))


def useful(memory_id: str, **fields: Any) -> MemoryInput:
    """Its like that was of use once."""
    return harmful(memory_id, **({"usefulness_score": 1.0} | fields))


def became(report: ForgetSummary) -> dict[str, str | None]:
    """What became of each candidate, in order: archived, to archive (None), or what keeps it."""
    return {one.id: "archived" if one.executed else one.skipped for one in report.candidates}


def answers(report: RestoreReport) -> dict[str, str]:
    """What a report says of each id."""
    return {one.id: one.result for one in report.results}


async def statuses(namespace: Namespace, *ids: str) -> list[tuple[str, str | None]]:
    """Status and its reason of live memories."""
    found = [await get(namespace, one) for one in ids]
    assert None not in found
    return [(one.status, one.status_reason) for one in found if one is not None]


async def runs_of(namespace: Namespace, kind: str) -> list[RunSummary]:
    """The runs of one kind, newest first."""
    page = await namespace.runs(limit=100, cursor=None)
    return [run for run in page.runs if run.kind == kind]
