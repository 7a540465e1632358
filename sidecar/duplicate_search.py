"""Looking for duplicates among the live memories of a namespace, for a cycle. Blocks."""

from collections.abc import Callable, Iterator

import numpy as np

from sidecar.cycle_config import RESOLVER_DEFAULT, CycleOptions
from sidecar.errors import ShuttingDown
from sidecar.model import COLD
from sidecar.plan.duplicate_pairs import Embeddings, Pairs, similar_pairs
from sidecar.plan.duplicates import (
    DuplicateCandidates,
    DuplicateResolver,
    GuardedResolver,
    Resolution,
    equal_texts,
    meeting_rows,
)
from sidecar.plan.plan import Int64, Snapshot
from sidecar.resolvers import load_resolver
from sidecar.store import live_payloads
from sidecar.store.sqlite.typed import Connection
from sidecar.store.store import Store


class DuplicateSearch:
    """Finds the near memories of one namespace and asks a resolver which of them stay."""

    def __init__(self, store: Store, proceed: Callable[[], bool]) -> None:
        """`proceed` is asked often; False ends a search with ShuttingDown."""
        self._store = store
        self._proceed = proceed

    def find(self, snapshot: Snapshot, options: CycleOptions, now: int) -> Resolution:
        """Who stands for whom among the rows of a snapshot at `now` (ms). Changes nothing.

        Raises ShuttingDown, and ConfigError where the resolver's name leads to none.
        """
        resolver = resolver_of(options)
        meeting = meeting_rows(snapshot, now)
        row_of = dict(zip(snapshot.rid[meeting].tolist(), meeting.tolist(), strict=True))
        with self._store.readers.view() as connection:
            pairs, compared = self._near(connection, row_of, options.semantic_duplicate_threshold)
            alone = [rid for rid, row in row_of.items() if row not in compared]
            pairs.append(equal_texts(self._texts(connection, row_of, alone)))
            met = np.unique(np.concatenate([np.concatenate((one.a, one.b)) for one in pairs]))
            texts = dict(self._texts(connection, row_of, snapshot.rid[met].tolist()))
        pairs = [_with_texts(one, texts) for one in pairs]
        return resolver.resolve(DuplicateCandidates(snapshot, pairs, texts))

    def _near(
        self, connection: Connection, row_of: dict[int, int], threshold: float
    ) -> tuple[list[Pairs], set[int]]:
        """The close pairs of each model, and the rows that have a vector to compare."""
        found: list[Pairs] = []
        compared: set[int] = set()
        folder = self._store.files.folder(COLD)
        for vectors in live_payloads.semantic_vectors(
            connection, folder, self._store.directory, self._go_on
        ):
            rows: Int64 = np.array([row_of.get(rid, -1) for rid in vectors.rids.tolist()], np.int64)
            kept = rows >= 0
            matrix = vectors.matrix if kept.all() else vectors.matrix[kept]
            compared.update(rows[kept].tolist())
            embeddings = Embeddings(vectors.model, rows[kept], matrix)
            pairs = similar_pairs(embeddings, threshold, self._proceed)
            if pairs is None:
                raise ShuttingDown
            found.append(pairs)
        return found, compared

    def _texts(
        self, connection: Connection, row_of: dict[int, int], rids: list[int]
    ) -> Iterator[tuple[int, str]]:
        """(row of the snapshot, content), one after the other: all together may be large."""
        folder = self._store.files.folder(COLD)
        for rid, content in live_payloads.contents(connection, folder, rids):
            self._go_on()
            yield row_of[rid], content

    def _go_on(self) -> None:
        if not self._proceed():
            raise ShuttingDown


def resolver_of(options: CycleOptions) -> DuplicateResolver:
    """The resolver that the options name. Raises ConfigError."""
    if options.duplicate_resolver != RESOLVER_DEFAULT:
        return load_resolver(options.duplicate_resolver)
    return GuardedResolver() if options.duplicate_guard else GuardedResolver(None)


def _with_texts(pairs: Pairs, texts: dict[int, str]) -> Pairs:
    """Without the pairs of which a text cannot be read: nothing can be said of them."""
    readable = np.fromiter(texts, np.int64, len(texts))
    kept = np.isin(pairs.a, readable) & np.isin(pairs.b, readable)
    return Pairs(pairs.a[kept], pairs.b[kept], pairs.cosine[kept], pairs.overflowed)
