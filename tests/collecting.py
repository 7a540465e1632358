"""Calls that destroy for good, with the wire's defaults, and looking at what is left."""

from pathlib import Path
from typing import Any

import apsw

from sidecar.gc_choice import Chosen
from sidecar.gc_reports import GcReport, GcRequest
from sidecar.gc_tokens import PlannedDestruction
from sidecar.namespace import Namespace


async def plan(namespace: Namespace, *ids: str, **given: Any) -> tuple[Chosen, PlannedDestruction]:
    """gc.plan: of these ids, or of what is old enough."""
    request = GcRequest(ids=ids or None, **({"older_than_days": 14.0} | given))
    return await namespace.plan_destruction(request=request)


async def destroy(namespace: Namespace, *ids: str, **given: Any) -> GcReport:
    """Plan and destroy at once; ids from any tier."""
    if ids:
        given = {"older_than_days": 0.0} | given
    _, planned = await plan(namespace, *ids, **given)
    return await namespace.destroy(plan=planned)


def index_terms(database: Path) -> set[str]:
    """Every word that the text index of a namespace knows, deleted rows' too."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, 'search', 'row')")
        return {term for (term,) in connection.execute("SELECT term FROM words")}
    finally:
        connection.close()


def files_with(folder: Path, text: str) -> list[str]:
    """The files below a folder whose bytes hold a text."""
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and text.encode() in path.read_bytes()
    ]
