"""A fixed piece of work, and a process that dies in it at a step of one's choice.

A step is whatever makes something durable, visible or gone: a sync, a cut or a removal of a
database file; an fsync, a link or an unlink of a segment; a folder made or a file moved for media.
`python -m tests.crash.steps FOLDER FIRST STRIDE PIECES` does the pieces of that name in FOLDER/N
for N = FIRST, FIRST + STRIDE, … and dies before step N of each, until N is past the end.
"""

import asyncio
import functools
import itertools
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sidecar.apply import journal
from sidecar.lifecycle_config import LifecycleOptions, LifecycleRequest
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.store import media_files
from tests.crash.faulty_disk import Layer, under_sqlite
from tests.crash.namespaces import DAY_MS, NOW, memories, opened

ACKNOWLEDGED = "acknowledged"
MEMORIES = 36
ARCHIVED_PER_TRANSACTION = 4


Piece = Callable[[Namespace], Awaitable[object]]


def put(namespace: Namespace) -> Awaitable[object]:
    """The memories that all other steps are about."""
    return namespace.put_many(memories=memories(MEMORIES), if_exists="error", partial=False)


def spill(namespace: Namespace) -> Awaitable[object]:
    """Most of what is hot goes to a segment, and hot.db shrinks."""
    return namespace.cold_spill(dry_run=False, target=6)


def reword(key: str) -> Piece:
    """A cold memory gets another text, so it thaws."""
    patch = MemoryInput(content=f"{key} in other words")
    return lambda namespace: namespace.update(id=key, patch=patch, if_revision=None)


def forget(numbers: range) -> Piece:
    """From any tier to forgotten. A segment that is mostly dead is merged, an empty one goes."""
    ids = [f"m{at}" for at in numbers]
    return lambda namespace: namespace.forget(ids=ids, reason="called")


def restore(*ids: str) -> Piece:
    """Back to hot."""
    return lambda namespace: namespace.restore(ids=ids, run_id=None, reason=None)


async def undo_forgetting(namespace: Namespace) -> None:
    """What the last forgetting moved, and nobody moved since, goes back where it was."""
    page = await namespace.runs(limit=20, cursor=None)
    forgettings = [one for one in page.runs if one.kind == "forget" and one.state == "finished"]
    await namespace.undo(run_id=forgettings[0].run_id)


# Each piece is one call: after a kill it is done, or not begun.
WORK: tuple[Piece, ...] = (
    put,
    spill,
    reword("m0"),
    reword("m3"),
    lambda namespace: namespace.touch(ids=["m5"]),
    forget(range(0, 24, 2)),
    restore("m2", "m4"),
    lambda namespace: namespace.pin(id="m7", pinned=True),
    lambda namespace: namespace.hold(id="m9", until=NOW + DAY_MS),
    undo_forgetting,
    forget(range(MEMORIES)),
)

FILES = {"m0": "shared.jpg", "m1": "shared.jpg", "m2": "photos/2.jpg", "m3": "photos/3.jpg"}


def with_files() -> list[MemoryInput]:
    """Memories that name files, two of them the same one."""
    found = memories(5)
    for one in found:
        one.media_ref = FILES.get(str(one.id))
    return found


def put_with_files(namespace: Namespace) -> Awaitable[object]:
    """A host places its files before it names them."""
    media = namespace.store.directory / "media"
    (media / "photos").mkdir(exist_ok=True)
    for ref in FILES.values():
        (media / ref).write_bytes(ref.encode())
    return namespace.put_many(memories=with_files(), if_exists="error", partial=False)


def put_again(namespace: Namespace) -> Awaitable[object]:
    """A forgotten memory that is written comes back."""
    return namespace.put_many(memories=with_files()[2:3], if_exists="replace", partial=False)


def put_for_a_cycle(namespace: Namespace) -> Awaitable[object]:
    """Some that fade, some that go for their age, a chain and two that say the same."""
    given = memories(24)
    for at, one in enumerate(given):
        one.created_at = NOW - (14 if at % 2 else 60) * DAY_MS
        one.importance = 0.3
    given[1].superseded_by = "m3"
    given[5].content = given[7].content = "said twice"
    given[5].embedding = given[7].embedding = None
    return namespace.put_many(memories=given, if_exists="error", partial=False)


def run_cycle(namespace: Namespace) -> Awaitable[object]:
    """Fade and prune in one run."""
    return namespace.run_cycle(dry_run=False, plan_id=None, now=None, decisions_limit=100)


async def undo_cycle(namespace: Namespace) -> None:
    """Take it back."""
    page = await namespace.runs(limit=20, cursor=None)
    cycles = [one for one in page.runs if one.kind == "cycle" and one.state == "finished"]
    await namespace.undo(run_id=cycles[0].run_id)


def put_of_no_use(namespace: Namespace) -> Awaitable[object]:
    """Some that did harm, between others that did not."""
    given = memories(24)
    for at, one in enumerate(given):
        one.use_count, one.usefulness_score = 1, -1.0 if at % 3 else 1.0
    return namespace.put_many(memories=given, if_exists="error", partial=False)


async def forget_useless(namespace: Namespace) -> None:
    """Archive those that did harm, hot and cold, in several transactions."""
    request = LifecycleRequest(options=LifecycleOptions(forget_enabled=True))
    with patch.object(journal, "MOVES_PER_TRANSACTION_MAX", ARCHIVED_PER_TRANSACTION):
        await namespace.forget_useless(dry_run=False, plan_id=None, request=request)


async def undo_archiving(namespace: Namespace) -> None:
    """Believe them again."""
    page = await namespace.runs(limit=20, cursor=None)
    (run,) = (one for one in page.runs if one.kind == "lifecycle")
    with patch.object(journal, "MOVES_PER_TRANSACTION_MAX", ARCHIVED_PER_TRANSACTION):
        await namespace.undo(run_id=run.run_id)


PIECES: dict[str, tuple[Piece, ...]] = {
    "lifecycle": (
        put_of_no_use,
        lambda namespace: namespace.cold_spill(dry_run=False, target=12),
        forget_useless,
        undo_archiving,
    ),
    "cycle": (
        put_for_a_cycle,
        lambda namespace: namespace.cold_spill(dry_run=False, target=12),
        run_cycle,
        undo_cycle,
    ),
    "memories": WORK,
    "media": (
        put_with_files,
        forget(range(1)),
        forget(range(1, 4)),
        restore("m0"),
        put_again,
        lambda namespace: namespace.cold_spill(dry_run=False, target=0),
        forget(range(3)),
        undo_forgetting,
    ),
}


Work = Callable[[Path, Callable[[], None]], Coroutine[Any, Any, None]]


def work_of(pieces: tuple[Piece, ...]) -> Work:
    """All of them, in order, with word after each piece that was answered."""

    async def work(state_dir: Path, after_each: Callable[[], None]) -> None:
        async with opened(state_dir) as namespace:
            for piece in pieces:
                await piece(namespace)
                after_each()

    return work


class Steps(Layer):
    """Counts steps, and kills this process before the one that was chosen."""

    def __init__(self, fatal: int) -> None:
        self._fatal = fatal
        self._count = 0

    def begin(self, fatal: int) -> None:
        """Count anew from here; 0 is never reached."""
        self._fatal, self._count = fatal, 0

    def step(self, *_: Any) -> None:
        """One more."""
        self._count += 1
        if self._count == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    before_sync = before_truncate = before_delete = step

    def watch_files(self) -> None:
        """Count what is done to segments and media as well."""
        for name in ("fsync", "link", "unlink", "truncate", "mkdir"):
            setattr(os, name, self._counted(getattr(os, name)))
        media_files.rename = self._counted(media_files.rename)

    def _counted(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(operation)
        def counted(*arguments: Any, **named: Any) -> Any:
            self.step()
            return operation(*arguments, **named)

        return counted


def die_at(state_dir: Path, fatal: int, work: Work) -> None:
    """Do the work until the fatal step; return only if there are not so many."""
    state_dir.mkdir()
    descriptor = os.open(state_dir / ACKNOWLEDGED, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    steps = Steps(fatal)
    steps.watch_files()
    with under_sqlite(steps):
        asyncio.run(work(state_dir, lambda: os.write(descriptor, b".") and None))


def in_a_process_of_its_own(state_dir: Path, fatal: int, work: Work) -> int:
    """The wait status of a process that does the work and dies at a step."""
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1]
    try:
        die_at(state_dir, fatal, work)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
        raise
    os._exit(0)


def main(work: Work) -> int:
    """See the head of this file; `work` is what is to be done."""
    folder, first, stride = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for fatal in itertools.count(first, stride):
        status = in_a_process_of_its_own(folder / str(fatal), fatal, work)
        if not os.WIFSIGNALED(status):
            return os.waitstatus_to_exitcode(status)
    return 0


if __name__ == "__main__":
    sys.exit(main(work_of(PIECES[sys.argv[4]])))
