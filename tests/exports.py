"""Exporting and importing whole namespaces, as a client does it: through JSON."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from sidecar.model import TIERS, Tier
from sidecar.namespace import Namespace
from sidecar.reports import ExportPage, ImportReport


async def pages_of(
    namespace: Namespace, tiers: Sequence[Tier] = TIERS, limit: int = 25
) -> list[ExportPage]:
    """Every page of an export."""
    pages = [await namespace.export(tiers=tiers, cursor=None, limit=limit)]
    while pages[-1].cursor is not None:
        pages.append(await namespace.export(tiers=tiers, cursor=pages[-1].cursor, limit=limit))
    return pages


def lines_of(pages: Sequence[ExportPage]) -> list[dict[str, Any]]:
    """The records of pages, as they come out of a file."""
    return [
        json.loads(json.dumps(json.loads(msgspec.json.encode(line)), ensure_ascii=False))
        for page in pages
        for line in page.lines
    ]


async def take_back(
    namespace: Namespace,
    lines: Sequence[dict[str, Any]],
    if_exists: Any = "skip",
    *,
    skip_bad: bool = False,
    chunk: int = 17,
) -> ImportReport:
    """memory.import of exported records, in calls of `chunk`; the counts of all together."""
    total = ImportReport(created=0, skipped=0, replaced=0, failed=0, errors=[])
    for start in range(0, len(lines), chunk):
        report = await namespace.import_many(
            memories=list(lines[start : start + chunk]),
            if_exists=if_exists,
            skip_bad=skip_bad,
            source="an export",
            format="forgetd",
        )
        for name in ("created", "skipped", "replaced", "failed", "errors"):
            setattr(total, name, getattr(total, name) + getattr(report, name))
    return total
