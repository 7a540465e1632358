"""Answers of the daemon, made from its own structs, so that no test can keep an old shape."""

from typing import Any

import msgspec

from sidecar import reports
from sidecar.model import Memory
from sidecar.review_reports import ReviewCounts

NOW = 1_764_500_000_000


def wire(value: Any) -> Any:
    """The value as a client sees it."""
    return msgspec.json.decode(msgspec.json.encode(value))


def memory(identity: str = "m1", content: str = "Tofu is a grey cat", **changed: Any) -> Memory:
    fields: dict[str, Any] = {
        "id": identity,
        "memory_type": "semantic",
        "content": content,
        "importance": 0.5,
        "importance_base": None,
        "importance_source": "estimated",
        "fade_factor": 1.0,
        "created_at": NOW,
        "updated_at": NOW,
        "last_recalled_at": None,
        "valid_from": None,
        "expires_at": None,
        "held_until": None,
        "recall_count": 0,
        "use_count": 0,
        "regret_count": 0,
        "success_count": 0,
        "failure_count": 0,
        "usefulness_score": 0.0,
        "last_useful_at": None,
        "superseded_by": None,
        "supersedes": [],
        "pinned": False,
        "evergreen": False,
        "media_ref": None,
        "embedding_model": None,
        "embedding_dimensions": None,
        "metadata": {},
        "extra": {},
        "status": "active",
        "status_reason": None,
        "status_at": None,
        "tier": "hot",
        "revision": 1,
        "strength": 0.25,
        "forgotten_at": None,
        "restored_at": None,
        "bytes": 100,
    }
    return Memory(**{**fields, **changed})


def counts(hot: int, cold: int, forgotten: int = 0) -> reports.TierCounts:
    return reports.TierCounts(
        hot=hot,
        cold=cold,
        forgotten=forgotten,
        total=hot + cold,
        live_bytes=(hot + cold) * 1_000,
        overhead_bytes=2_000,
    )


def sweep(**changed: Any) -> reports.SweepReport:
    decision = reports.Decision(
        id="weak\x1b[31m",
        action="forget",
        reason="time_decay",
        from_tier="cold",
        score=0.0123,
        strength=0.01,
        parts=None,
    )
    fields: dict[str, Any] = {
        "namespace": "default",
        "run_id": None,
        "plan_id": "P1",
        "dry_run": True,
        "trigger": "call",
        "now": NOW,
        "policy": "balanced",
        "policy_version": "1",
        "mode": "normal",
        "before": counts(10_001, 5, 7),
        "after": counts(9_000, 1_004, 9),
        "thresholds": {},
        "stages": [
            reports.StageReport(stage=1, crossed=["count"], selected=1_001, moved=0, skipped=0),
            reports.StageReport(stage=2, crossed=[], selected=2, moved=0, skipped=0),
        ],
        "decisions": [decision],
        "decisions_truncated": True,
        "counts": {"spill": 1_001, "forget": 2},
        "kept": 9_000,
        "skipped": [],
        "skipped_count": 0,
        "protected": {"pinned": 3, "held": 0, "newborn": 12},
        "unscored": 4,
        "unscored_ids": ["u1"],
        "shortfall": reports.Shortfall(memories=11, bytes=0),
        "brake": reports.BrakeReport(share=0.2, forgotten_in_window=5, allowed=1_995, engaged=True),
        "bytes_planned": 1_500_000,
        "bytes_reclaimed": 0,
        "media": None,
        "space_note": None,
        "duration_ms": 12.5,
    }
    return reports.SweepReport(**{**fields, **changed})


def restore(*results: tuple[str, str], **changed: Any) -> reports.RestoreReport:
    named: list[Any] = [
        reports.RestoreResult(id=identity, result=result, tier="hot", media=None)  # type: ignore[arg-type]
        for identity, result in results
    ]
    totals: dict[str, int] = {}
    for _, result in results:
        totals[result] = totals.get(result, 0) + 1
    fields: dict[str, Any] = {
        "namespace": "default",
        "run_id": "R2",
        "results": named,
        "results_truncated": False,
        "counts": totals,
        "paused": False,
        "duration_ms": 1.0,
    }
    return reports.RestoreReport(**{**fields, **changed})


def run(**changed: Any) -> reports.RunSummary:
    fields: dict[str, Any] = {
        "run_id": "R1",
        "kind": "sweep",
        "trigger": "call",
        "state": "finished",
        "planned_at": NOW,
        "started_at": NOW,
        "finished_at": NOW,
        "policy": "balanced",
        "policy_version": "1",
        "decisions": 2,
        "moved": 2,
        "skipped": 0,
        "undone_by": None,
        "undoes": None,
    }
    return reports.RunSummary(**{**fields, **changed})


def thresholds(**changed: Any) -> reports.ThresholdsReport:
    values: dict[str, Any] = {
        "forgetThresholdCount": 10_000,
        "forgetThresholdTotal": 100_000,
        "forgetThresholdDiskGB": 2.0,
        "forgetEnabled": True,
    }
    fields: dict[str, Any] = {
        "namespace": "default",
        "thresholds": {
            name: reports.ThresholdValue(value=value, origin="default")
            for name, value in values.items()
        },
        "crossed": [],
        "paused": [],
        "stage_two_not_before": None,
    }
    return reports.ThresholdsReport(**{**fields, **changed})


def namespace_status(name: str = "default", **changed: Any) -> reports.NamespaceStatus:
    fields: dict[str, Any] = {
        "namespace": name,
        "counts": counts(9_400, 2_600, 300),
        "thresholds": thresholds(namespace=name),
        "read_only": None,
        "unscored": 0,
        "corrupt": 0,
        "unknown_segments": [],
        "running": None,
        "last_run": None,
        "alarms": [],
        "review": ReviewCounts(regret=0, guarded=0, broken_chain=0, unscored=0),
    }
    return reports.NamespaceStatus(**{**fields, **changed})


def listing(*names: str) -> dict[str, Any]:
    return {
        "namespaces": [
            {"namespace": name, "open": True, "hot": 1, "cold": 2, "forgotten": 3} for name in names
        ]
    }


def system_status(*namespaces: reports.NamespaceStatus) -> dict[str, Any]:
    return {
        "version": "0.1.0",
        "protocolVersion": 1,
        "pid": 4242,
        "uptimeSeconds": 93_784.2,
        "now": NOW,
        "clockHeld": False,
        "namespaces": [wire(namespace) for namespace in namespaces],
    }
