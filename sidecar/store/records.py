"""Writing one memory: create, replace, update, supersede, pin, hold, touch.

Every function works inside a transaction of the writer: row, text, vector, index and event
change together, and the RAM columns follow after COMMIT.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from ulid import ULID

from sidecar.errors import InvalidParams, MemoryExists, MemoryNotFound, RevisionConflict
from sidecar.estimate import Estimator
from sidecar.limits import INTEGER_MAX
from sidecar.model import ACTIVE, FORGOTTEN, HOT, SEMANTIC, SUPERSEDED
from sidecar.store import events, hot_payloads, links, rows, tombstones
from sidecar.store.media import measure_media
from sidecar.store.payload import Payload, content_hash
from sidecar.store.rows import Row
from sidecar.store.segment_files import SegmentFiles
from sidecar.store.sqlite.source import read_payload
from sidecar.store.sqlite.typed import Connection
from sidecar.store.sqlite.writer import Transaction
from sidecar.store.written import finish
from sidecar.validation import CheckedMemory

IfExists = Literal["error", "replace", "skip"]
PutResult = Literal["created", "replaced", "skipped"]
# What a replacement sets back when it does not name it. Creation, counters and protections stay.
_RESET_BY_REPLACE: dict[str, Any] = {
    "importance": None,
    "memory_type": SEMANTIC,
    "valid_from": None,
    "expires_at": None,
    "superseded_by": None,
    "media_ref": None,
    "embedding_model": None,
    "embedding_dimensions": None,
}
_LAST_DIMENSIONS: Final = (
    "SELECT embedding_dimensions FROM memories WHERE embedding_model IS ?"
    " AND embedding_dimensions IS NOT NULL ORDER BY rid DESC LIMIT 1"
)


@dataclass(slots=True)
class Records:
    """The writing verbs of one namespace. `dimensions` knows each model's embedding size."""

    directory: Path
    files: SegmentFiles
    estimator: Estimator
    dimensions: dict[str | None, int]

    def put(
        self,
        tx: Transaction,
        memory: CheckedMemory,
        now: int,
        if_exists: IfExists,
        path: str,
        *,
        revive: bool = False,
    ) -> tuple[Row, PutResult]:
        """Create a memory, or treat an existing id as `if_exists` says. Raises MemoryExists.

        Raises MemoryDestroyed where a memory with this id was destroyed, unless `revive`.
        """
        memory_id = memory.id or str(ULID.from_timestamp(now / 1000))
        existing = rows.by_id(tx.connection, memory_id)
        if existing is None:
            if not revive and memory.id is not None:
                tombstones.refuse(tx.connection, memory_id, path)
            return self._create(tx, memory_id, memory, now, path), "created"
        if if_exists == "skip":
            return existing, "skipped"
        if if_exists == "error":
            raise MemoryExists(
                field=f"{path}.id",
                remedy='send ifExists "replace" or "skip", or use memory.update',
            )
        whole = replace(memory, scalars=_RESET_BY_REPLACE | memory.scalars)
        whole.metadata = memory.metadata or "{}"
        whole.extra = memory.extra or "{}"
        whole.embedding = memory.embedding or b""
        _require_content(whole, path)
        return self.change(tx, existing, whole, now, path, believed=True), "replaced"

    def update(
        self, tx: Transaction, memory_id: str, patch: CheckedMemory, revision: int | None, now: int
    ) -> Row:
        """Change the fields that `patch` names. Raises MemoryNotFound, RevisionConflict."""
        row = live_row(tx.connection, memory_id)
        if revision is not None and row.revision != revision:
            raise RevisionConflict(
                field="$.ifRevision",
                bound=f"the present revision, {row.revision}",
                remedy="get the memory again and decide anew",
            )
        return self.change(tx, row, patch, now, "$.patch")

    def change(
        self,
        tx: Transaction,
        row: Row,
        patch: CheckedMemory,
        now: int,
        path: str,
        *,
        believed: bool = False,
    ) -> Row:
        """Apply a patch to a row in any tier; a change of its payload thaws it first.

        `believed`: the patch is a whole new record, which is believed whatever the old one was.
        """
        before = rows.scalars(row)
        if believed and row.status != ACTIVE and patch.scalars.get("superseded_by") is None:
            row.status, row.status_reason, row.status_at = ACTIVE, None, now
        tier_before = row.tier
        scalars = dict(patch.scalars)
        self._set_importance(row, scalars)
        self._set_successor(tx, row, scalars, now, f"{path}.supersededBy")
        for name in ("created_at", "updated_at"):
            if scalars.get(name, 0) is None:
                del scalars[name]
        for name, value in scalars.items():
            setattr(row, name, value)
        self._change_payload(tx, row, patch, before, path)
        if rows.scalars(row) != before:
            if "updated_at" not in scalars:
                row.updated_at = now
            if tier_before == FORGOTTEN and row.tier == HOT:
                row.forgotten_at = None
                row.restored_at = now
            measure_media(tx, self.directory, row.media_ref)
            finish(tx, before, row, "memory.updated", now)
        self._supersede_named(tx, row, patch, now, path)
        return row

    def supersede(self, tx: Transaction, memory_id: str, by: str, now: int) -> Row:
        """Set the successor of a live memory. Raises MemoryNotFound, SupersessionConflict."""
        row = live_row(tx.connection, memory_id)
        live_row(tx.connection, by, "$.by")
        return self._link(tx, row, by, now, "$.by")

    def set_flag(
        self, tx: Transaction, memory_id: str, name: str, value: int | None, now: int
    ) -> Row:
        """Set `pinned` of a live memory, `held_until` of any. Raises MemoryNotFound."""
        held = rows.by_id(tx.connection, memory_id) if name == "held_until" else None
        row = held or live_row(tx.connection, memory_id)
        before = rows.scalars(row)
        setattr(row, name, value)
        if rows.scalars(row) == before:
            return row
        return finish(tx, before, row, "memory.updated", now)

    def touch(self, tx: Transaction, rid: int, count: int, at: int, now: int) -> bool:
        """Count recalls of a live memory. False where it is gone or forgotten."""
        row = rows.by_rid(tx.connection, rid)
        if row is None or row.tier == FORGOTTEN:
            return False
        row.recall_count = min(row.recall_count + count, INTEGER_MAX)
        row.last_recalled_at = max(at, row.last_recalled_at or 0)
        row.change_counter += 1
        tx.connection.execute(
            "UPDATE memories SET recall_count = ?, last_recalled_at = ?, change_counter = ?"
            " WHERE rid = ?",
            (row.recall_count, row.last_recalled_at, row.change_counter, rid),
        )
        names = ("recall_count", "last_recalled_at", "change_counter")
        payload = {name: getattr(row, name) for name in names}
        events.append(tx.connection, now, "memory.touched", row.id, payload)
        recalled_at, recalls, counter = row.last_recalled_at, row.recall_count, row.change_counter
        tx.after_commit.append(lambda columns: columns.touched(rid, recalled_at, recalls, counter))
        return True

    def _create(
        self, tx: Transaction, memory_id: str, memory: CheckedMemory, now: int, path: str
    ) -> Row:
        content = _require_content(memory, path)
        scalars = dict(memory.scalars)
        created_at = now if scalars.get("created_at") is None else scalars["created_at"]
        payload = Payload(
            memory_id,
            content,
            memory.metadata or "{}",
            memory.extra or "{}",
            created_at,
            scalars.get("embedding_model"),
            memory.embedding or None,
        )
        row = self._new_row(payload, created_at, now)
        self._set_successor(tx, row, scalars, now, f"{path}.supersededBy")
        for name, value in scalars.items():
            if name not in ("created_at", "updated_at") or value is not None:
                setattr(row, name, value)
        self.check_dimensions(tx, row, path)
        hot_payloads.measure(row, payload)
        row.content_hash = content_hash(payload)
        rows.insert(tx.connection, row)
        hot_payloads.insert(tx, row.rid, payload)
        measure_media(tx, self.directory, row.media_ref)
        events.append(tx.connection, now, events.CREATED, row.id, events.birth(rows.scalars(row)))
        successor = links.successor_rid(tx.connection, row)
        tx.after_commit.append(lambda columns: columns.put(row, successor))
        links.link_predecessors(tx, row)
        self._supersede_named(tx, row, memory, now, path)
        return row

    def _new_row(self, payload: Payload, created_at: int, now: int) -> Row:
        absent: dict[str, Any] = dict.fromkeys(rows.COLUMNS)
        zero: dict[str, Any] = dict.fromkeys(
            (
                "rid",
                "recall_count",
                "use_count",
                "regret_count",
                "success_count",
                "failure_count",
                "pinned",
                "evergreen",
                "text_bytes",
                "bytes",
            ),
            0,
        )
        given: dict[str, Any] = {
            "id": payload.id,
            "tier": HOT,
            "status": ACTIVE,
            "memory_type": SEMANTIC,
            "estimate": self.estimator.estimate(payload.content),
            "estimator": self.estimator.version,
            "fade_factor": 1.0,
            "created_at": created_at,
            "updated_at": now,
            "usefulness_score": 0.0,
            "revision": 1,
            "change_counter": 1,
            "content_hash": b"",
        }
        return Row(**(absent | zero | given))

    def _set_importance(self, row: Row, scalars: dict[str, Any]) -> None:
        """A written importance equal to the one shown changes nothing; any other is the host's."""
        if "importance" not in scalars:
            return
        value = scalars.pop("importance")
        shown = row.value * row.fade_factor
        if value is None:
            row.importance = None
        elif value != shown:
            row.importance = value
            row.fade_factor = 1.0
            row.faded_at = None

    def _set_successor(
        self, tx: Transaction, row: Row, scalars: dict[str, Any], now: int, field: str
    ) -> None:
        if "superseded_by" not in scalars:
            return
        successor: str | None = scalars.pop("superseded_by")
        unlinked = successor is None and row.status == SUPERSEDED
        if successor == row.superseded_by and not unlinked:
            return
        if successor is not None:
            links.refuse_loop(tx.connection, row.id, successor, field)
        row.superseded_by = successor
        if successor is not None and row.status == ACTIVE:
            row.status, row.status_reason, row.status_at = SUPERSEDED, "superseded", now
        elif unlinked:
            row.status, row.status_reason, row.status_at = ACTIVE, None, now

    def _link(self, tx: Transaction, row: Row, successor: str, now: int, field: str) -> Row:
        before = rows.scalars(row)
        self._set_successor(tx, row, {"superseded_by": successor}, now, field)
        if rows.scalars(row) == before:
            return row
        return finish(tx, before, row, "memory.superseded", now)

    def _supersede_named(
        self, tx: Transaction, row: Row, memory: CheckedMemory, now: int, path: str
    ) -> None:
        """Older versions may be forgotten: a host need not know what was, and must not fail."""
        for memory_id in memory.supersedes:
            older = rows.by_id(tx.connection, memory_id)
            if older is None:
                raise InvalidParams(
                    f"{path}.supersedes names an id that does not exist",
                    field=f"{path}.supersedes",
                    bound="ids of memories that exist",
                    remedy="put the older memory first, or leave it out",
                )
            self._link(tx, older, row.id, now, f"{path}.supersedes")

    def _change_payload(
        self, tx: Transaction, row: Row, patch: CheckedMemory, before: dict[str, Any], path: str
    ) -> None:
        named = (patch.content, patch.metadata, patch.extra, patch.embedding)
        own = ("created_at", "embedding_model")
        scalar_changed = any(getattr(row, name) != before[name] for name in own)
        thaw = row.tier == FORGOTTEN
        if all(part is None for part in named) and not scalar_changed and not thaw:
            return
        stored = rows.by_rid(tx.connection, row.rid)
        assert stored is not None
        old = read_payload(tx.connection, self.files, stored)
        embedding = old.embedding if patch.embedding is None else patch.embedding or None
        new = Payload(
            row.id,
            old.content if patch.content is None else patch.content,
            old.metadata if patch.metadata is None else patch.metadata,
            old.extra if patch.extra is None else patch.extra,
            row.created_at,
            row.embedding_model,
            embedding,
        )
        if new == old and not thaw:
            row.embedding_dimensions = before["embedding_dimensions"]
            return
        self.check_dimensions(tx, row, path)
        if new.content != old.content:
            row.estimate = self.estimator.estimate(new.content)
            row.estimator = self.estimator.version
        row.content_hash = content_hash(new)
        if row.tier == HOT:
            hot_payloads.delete(tx, [row.rid])
            hot_payloads.insert(tx, row.rid, new)
            hot_payloads.measure(row, new)
        else:
            hot_payloads.place_hot(tx, row, new)

    def check_dimensions(self, tx: Transaction, row: Row, path: str) -> None:
        """The first embedding of a model that is stored decides their size, for good."""
        model, size = row.embedding_model, row.embedding_dimensions
        if size is None:
            return
        known = self.dimensions.get(model)
        if known is None:  # perhaps the first one is in this very transaction
            found = tx.connection.execute(_LAST_DIMENSIONS, (model,)).fetchall()
            known = found[0][0] if found else size
            tx.after_commit.append(lambda _columns: self.dimensions.setdefault(model, size))
        if known != size:
            raise InvalidParams(
                f"{path}.embedding has {size} numbers, not {known}",
                field=f"{path}.embedding",
                bound=f"{known} numbers for this embeddingModel in this namespace",
                remedy="name another embeddingModel for embeddings of another size",
            )


def live_row(connection: Connection, memory_id: str, field: str = "$.id") -> Row:
    """The row of a hot or cold memory. Raises MemoryNotFound, which says if it is forgotten."""
    row = rows.by_id(connection, memory_id)
    if row is None:
        raise MemoryNotFound(field=field, remedy="list the ids with memory.list")
    if row.tier == FORGOTTEN:
        raise MemoryNotFound(
            "The memory with this id is forgotten",
            field=field,
            remedy="bring it back first with memory.restore",
        )
    return row


def _require_content(memory: CheckedMemory, path: str) -> str:
    if memory.content is None:
        raise InvalidParams(
            f"{path}.content is missing",
            field=f"{path}.content",
            bound="text that is not blank",
            remedy="say what is to be remembered",
        )
    return memory.content
