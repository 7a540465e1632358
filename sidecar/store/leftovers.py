"""Whether anything is left of destroyed memories: everything decoded, and every byte searched."""

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from sidecar.model import COLD, FORGOTTEN
from sidecar.store import proposals, rows, traces
from sidecar.store.raw_search import Texts, pieces_of, search_files
from sidecar.store.segment_lines import ids_in
from sidecar.store.segments import SegmentDamaged, is_segment
from sidecar.store.sqlite.source import PayloadDamaged, read_payload
from sidecar.store.sqlite.typed import Connection
from sidecar.store.store import Store

_BY_ROW: Final = {"texts": "rid", "vectors": "rid", "search": "rowid"}


@dataclass(slots=True)
class Leftovers:
    """What is still there, as (where, what); and memories that hold the same words themselves."""

    left: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    shared: list[str] = field(default_factory=list[str])
    files: int = 0
    bytes: int = 0
    not_reached: list[str] = field(default_factory=list[str])


def look_for(
    store: Store, ids: Collection[str], texts: Texts, rids: Collection[int] = ()
) -> Leftovers:
    """Look for ids in every row and archive line, and for texts in the bytes of every file."""
    found = Leftovers()
    with store.readers.view() as connection:
        _rows(connection, ids, rids, found)
        for table, count in traces.named_in(connection, ids).items():
            found.left.append((table, f"{count} entries name it"))
    _lines(store, ids, found)
    search = search_files(store.directory, texts.kept)
    found.files, found.bytes = search.files, search.bytes
    found.not_reached += search.not_reached
    if search.found:
        shared = _words_of_others(store, frozenset(search.found), found)
        _words_of_proposals(store, search.found.keys() - shared, found)
        files = {
            name
            for text in texts.kept
            for piece in pieces_of(text)
            if piece in search.found and piece not in shared
            for name in search.found[piece]
        }
        found.left += [(name, "holds a part of its words") for name in sorted(files)]
    return found


def _rows(
    connection: Connection, ids: Collection[str], rids: Collection[int], found: Leftovers
) -> None:
    query = "SELECT count(*) FROM memories WHERE id IN (SELECT value FROM json_each(?))"
    count = connection.execute(query, (json.dumps(list(ids)),)).fetchall()[0][0]
    if count:
        found.left.append(("memories", f"{count} rows"))
    for table, column in _BY_ROW.items():
        query = f"SELECT count(*) FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))"
        count = connection.execute(query, (json.dumps(list(rids)),)).fetchall()[0][0]
        if count:
            found.left.append((table, f"{count} rows"))


def _lines(store: Store, ids: Collection[str], found: Leftovers) -> None:
    wanted = frozenset(ids)
    for tier in (COLD, FORGOTTEN):
        folder = store.files.folder(tier)
        for name in sorted(entry.name for entry in folder.iterdir() if is_segment(entry.name)):
            where = f"{folder.name}/{name}"
            try:
                count = sum(each in wanted for each in ids_in(store.files.reader(tier, name)))
            except (SegmentDamaged, OSError):
                found.not_reached.append(where)
            else:
                if count:
                    found.left.append((where, f"{count} lines"))


def _words_of_proposals(store: Store, pieces: Collection[bytes], found: Leftovers) -> None:
    """Name the proposals that hold some of the words: rejecting and dropping them is the way."""
    with store.readers.borrow() as connection:
        for proposal_id, text in proposals.texts(connection):
            if any(piece in text.encode() for piece in pieces):
                found.left.append(("proposals", f"{proposal_id} holds a part of its words"))


def _words_of_others(store: Store, pieces: frozenset[bytes], found: Leftovers) -> frozenset[bytes]:
    """The pieces that are words of memories which are still here; those are named."""
    shared: set[bytes] = set()
    with store.readers.view() as connection:
        for row in rows.select(connection, "ORDER BY tier, segment, frame, line, rid", ()):
            try:
                payload = read_payload(connection, store.files, row)
            except PayloadDamaged:
                continue
            own = Texts()
            own.add(payload)
            whole = b"\0".join(own.kept)
            held = {piece for piece in pieces if piece in whole}
            held |= {piece for text in own.kept for piece in pieces_of(text) if piece in pieces}
            if held:
                shared |= held
                found.shared.append(row.id)
    return frozenset(shared)
