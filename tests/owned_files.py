"""Memories with files: placing a file, forgetting, and looking at the trash."""

from pathlib import Path
from typing import Any

from sidecar.namespace import Namespace
from sidecar.reports import ForgetReport, RestoreReport
from tests.namespaces import query


def media_of(namespace: Namespace) -> Path:
    """The folder in which a host places files."""
    return namespace.store.directory / "media"


def write(namespace: Namespace, ref: str, content: bytes = b"picture") -> Path:
    """Place a file as a host does."""
    path = media_of(namespace) / ref
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


async def forget(namespace: Namespace, *ids: str) -> ForgetReport:
    """memory.forget."""
    return await namespace.forget(ids=list(ids), reason="asked")


def trash(namespace: Namespace) -> dict[str, bytes]:
    """What lies in the trash, by run and name."""
    folder = media_of(namespace) / ".trash"
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def states(namespace: Namespace) -> dict[str, str]:
    """What became of each file that is or was on its way, by the memory it went with."""
    return dict(query(namespace, "SELECT memory_id, state FROM media_trash ORDER BY trash_id"))


def came_back(report: RestoreReport) -> dict[str, Any]:
    """Where the file of each restored memory is."""
    return {one.id: one.media for one in report.results}
