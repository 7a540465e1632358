"""Taking back what `memory.export` gave: every memory exactly as it was, forgotten ones too."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sidecar.errors import ForgetdError, InvalidParams, MemoryExists
from sidecar.exchange import check_exported, exported_from
from sidecar.imports import PATH, Member, import_report, store_members, tell_import
from sidecar.replies import Keep
from sidecar.reports import ImportReport
from sidecar.store import rows
from sidecar.store.intake import Archive, Arrival, arrival_of, take_in
from sidecar.store.records import IfExists, PutResult, Records
from sidecar.store.rows import Row
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.store import Store


@dataclass(slots=True)
class ExactMember(Member):
    """One record of the call, and the memory that it is to be."""

    arrival: Arrival | None = None


def import_exactly(
    store: Store,
    memories: Sequence[Mapping[str, Any]],
    *,
    now: int,
    if_exists: IfExists,
    skip_bad: bool,
    source: str | None,
    keep: Keep,
    revive: bool,
) -> ImportReport:
    """Store the records of an export. An id that is here already is treated as `if_exists` says.

    Of several records of one id in one call the first counts, with `replace` the last.
    """
    members = _checked(store.records, memories, skip_bad=skip_bad)
    _settle_repeated(members, if_exists, skip_bad=skip_bad)
    wanted = [m for m in members if m.arrival is not None and m.result is None]
    archive = Archive(store.files)

    def job(tx: Transaction) -> ImportReport:
        def put(member: ExactMember) -> tuple[Row, PutResult]:
            assert member.arrival is not None
            path = f"{PATH}[{member.index}]"
            return take_in(
                tx, store.records, member.arrival, archive, if_exists, now, path, revive=revive
            )

        store_members(tx, wanted, put, partial=skip_bad)
        tell_import(tx, members, source, now)
        archive.publish(tx)
        report = import_report(members)
        keep(tx, report)
        return report

    try:
        archive.fill(_coming_forgotten(store, wanted, if_exists))
        try:
            return store.writer.call(job)
        except BaseException:
            if archive.published:
                with suppress(ForgetdError):
                    store.writer.call(lambda tx: archive.retire(tx, now))
                    store.remove_unneeded_segments()
            raise
    finally:
        archive.tidy()


def _checked(
    records: Records, memories: Sequence[Mapping[str, Any]], *, skip_bad: bool
) -> list[ExactMember]:
    members: list[ExactMember] = []
    for index, record in enumerate(memories):
        given, path = record.get("id"), f"{PATH}[{index}]"
        member = ExactMember(index, given if isinstance(given, str) else None)
        try:
            checked = check_exported(exported_from(record, path), path)
            member.arrival = arrival_of(records, checked, path)
        except InvalidParams as error:
            if not skip_bad:
                raise
            member.error = error
        members.append(member)
    return members


def _settle_repeated(members: list[ExactMember], if_exists: IfExists, *, skip_bad: bool) -> None:
    """Decide which record of a repeated id is stored, so that each is stored at most once."""
    kept: dict[str, ExactMember] = {}
    for member in members:
        if member.arrival is None:
            continue
        earlier = kept.setdefault(member.arrival.row.id, member)
        if earlier is member:
            continue
        if if_exists == "replace":
            kept[member.arrival.row.id] = member
            earlier.result = "skipped"
        elif if_exists == "skip":
            member.result = "skipped"
        else:
            field = f"{PATH}[{member.index}].id"
            member.error = MemoryExists(field=field, remedy='send ifExists "replace" or "skip"')
            member.arrival = None
            if not skip_bad:
                raise member.error


def _coming_forgotten(
    store: Store, members: Sequence[ExactMember], if_exists: IfExists
) -> list[Arrival]:
    """The arrivals that need a place in a segment, as far as can be told before the transaction.

    An id never goes away, so one that is skipped now is skipped then.
    """
    arrivals = [m.arrival for m in members if m.arrival is not None and m.arrival.forgotten]
    if if_exists != "skip" or not arrivals:
        return arrivals
    with store.readers.view() as connection:
        return [one for one in arrivals if rows.by_id(connection, one.row.id) is None]
