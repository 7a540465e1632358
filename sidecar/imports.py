"""Many memories in one call: checking each, storing all or the good ones, and reporting."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from sidecar.errors import ForgetdError, InvalidParams
from sidecar.model import MemoryInput
from sidecar.replies import Keep
from sidecar.reports import ImportFault, ImportReport, PutManyItem, PutManyReport
from sidecar.store import events
from sidecar.store.records import IfExists, PutResult, Records
from sidecar.store.rows import Row
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store
from sidecar.validation import CheckedMemory, Refused, check, converted

KNOWN_FIELDS: Final = frozenset(spec.encode_name for spec in msgspec.structs.fields(MemoryInput))
PATH: Final = "$.memories"


@dataclass(slots=True)
class Member:
    """One member of a call: what was checked, then what became of it."""

    index: int
    id: str | None
    checked: CheckedMemory | None = None
    result: PutResult | None = None
    error: ForgetdError | None = None


M = TypeVar("M", bound=Member)


def checked_members(
    memories: Sequence[MemoryInput | Refused], now: int, *, partial: bool
) -> list[Member]:
    """Check every memory. Without `partial` the first bad one raises InvalidParams."""
    members: list[Member] = []
    for index, memory in enumerate(memories):
        if isinstance(memory, Refused):
            members.append(Member(index, memory.id, error=memory.error))
            continue
        member = Member(index, memory.id if isinstance(memory.id, str) else None)
        try:
            member.checked = check(memory, now, f"{PATH}[{index}]")
        except InvalidParams as error:
            if not partial:
                raise
            member.error = error
        members.append(member)
    return members


def foreign_members(
    memories: Sequence[Mapping[str, Any]], now: int, *, skip_bad: bool
) -> list[Member]:
    """Check records of another system; fields the record does not have go to `extra`."""
    members: list[Member] = []
    for index, record in enumerate(memories):
        given = record.get("id")
        member = Member(index, given if isinstance(given, str) else None)
        path = f"{PATH}[{index}]"
        try:
            known = {name: value for name, value in record.items() if name in KNOWN_FIELDS}
            extra = {name: value for name, value in record.items() if name not in KNOWN_FIELDS}
            memory = converted(MemoryInput, known, path, "convert the field, or leave it out")
            member.checked = check(memory, now, path, lenient=True, extra=extra)
        except InvalidParams as error:
            if not skip_bad:
                raise
            member.error = error
        members.append(member)
    return members


def put_members(
    records: Records,
    tx: Transaction,
    members: list[Member],
    now: int,
    if_exists: IfExists,
    *,
    partial: bool,
    revive: bool = False,
) -> list[Member]:
    """Store the members that were checked, in order. Without `partial` all or none."""

    def put(member: Member) -> tuple[Row, PutResult]:
        assert member.checked is not None
        path = f"{PATH}[{member.index}]"
        return records.put(tx, member.checked, now, if_exists, path, revive=revive)

    good = [member for member in members if member.checked is not None]
    store_members(tx, good, put, partial=partial)
    return members


def store_members(
    tx: Transaction,
    members: Iterable[M],
    put: Callable[[M], tuple[Row, PutResult]],
    *,
    partial: bool,
) -> None:
    """Store members one after the other; with `partial` a bad one takes no other along."""
    for member in members:
        if not partial:
            row, member.result = put(member)
            member.id = row.id
            continue
        changes = len(tx.after_commit)
        tx.connection.execute("SAVEPOINT member")
        try:
            row, member.result = put(member)
            member.id = row.id
        except ForgetdError as error:
            tx.connection.execute("ROLLBACK TO member")
            del tx.after_commit[changes:]
            member.error = error
        tx.connection.execute("RELEASE member")


def import_foreign(
    store: Store,
    memories: Sequence[Mapping[str, Any]],
    *,
    now: int,
    if_exists: IfExists,
    skip_bad: bool,
    source: str | None,
    revive: bool,
    keep: Keep,
) -> ImportReport:
    """Store another system's records in one transaction; unknown fields are kept in `extra`."""
    members = foreign_members(memories, now, skip_bad=skip_bad)

    def job(tx: Transaction) -> ImportReport:
        stored = put_members(
            store.records, tx, members, now, if_exists, partial=skip_bad, revive=revive
        )
        tell_import(tx, stored, source, now)
        report = import_report(stored)
        keep(tx, report)
        return report

    return store.writer.call(job)


def tell_import(tx: Transaction, members: Sequence[Member], source: str | None, now: int) -> None:
    """The event that ends an import."""
    created = sum(member.result == "created" for member in members)
    payload = {"source": source, "created": created}
    events.append(tx.connection, now, "import.completed", None, payload)


def put_report(members: Sequence[Member]) -> PutManyReport:
    """The answer of putMany."""
    counts = _counts(members)
    return PutManyReport(
        results=[
            PutManyItem(id=member.id, result=member.result or "failed", error=_told(member.error))
            for member in members
        ],
        **counts,
    )


def import_report(members: Sequence[Member]) -> ImportReport:
    """The answer of memory.import."""
    return ImportReport(
        **_counts(members),
        errors=[
            ImportFault(
                index=member.index,
                field=member.error.data.get("field"),
                message=member.error.message,
            )
            for member in members
            if member.error is not None
        ],
    )


def _counts(members: Sequence[Member]) -> dict[str, int]:
    results = [member.result or "failed" for member in members]
    return {name: results.count(name) for name in ("created", "replaced", "skipped", "failed")}


def _told(error: ForgetdError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {"code": error.code, "message": error.message, "data": error.to_wire_data()}
