"""The part of a database connection that is used here, with types.

apsw's own stubs leave values partly unknown; every other module names these instead.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

Bindings = Sequence[Any] | Mapping[str, Any]


class Cursor(Protocol):
    """The rows of a statement."""

    def fetchall(self) -> list[tuple[Any, ...]]: ...

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...

    def __next__(self) -> tuple[Any, ...]: ...

    def close(self, force: bool = False) -> None: ...


class Connection(Protocol):
    """One connection to the database of a namespace."""

    @property
    def in_transaction(self) -> bool: ...

    def execute(self, statements: str, bindings: Bindings | None = None) -> Cursor: ...

    def executemany(self, statements: str, sequenceofbindings: Iterable[Bindings]) -> Cursor: ...

    def last_insert_rowid(self) -> int: ...

    def set_busy_timeout(self, milliseconds: int) -> None: ...

    def wal_autocheckpoint(self, n: int) -> None: ...

    def set_wal_hook(self, callable: Callable[[object, str, int], int] | None) -> None: ...

    def wal_checkpoint(self, dbname: str | None = None, mode: int = 0) -> tuple[int, int]: ...

    def close(self, force: bool = False) -> None: ...
