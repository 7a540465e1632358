"""A hundred thousand memories at the default thresholds, until both stages fire by themselves.

Generated dialogues, of people with a surname each, go into one namespace in time order. The
detector sweeps it as in any daemon. The same questions are asked of it at the end, and of a
namespace that kept everything hot. By text alone: to embed so many texts would take too long.
"""

import asyncio
import itertools
import random
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
from rich.progress import Progress

from benchmarks.figures import Figure, grouped
from benchmarks.quality import store
from benchmarks.quality.dialogue import Dialogue, Question, Rows
from benchmarks.quality.generated import VARIETIES, talk
from benchmarks.quality.measures import share_kept
from benchmarks.quality.store import Daemon
from sidecar.namespace import Namespace

MEMORIES: Final = 110_000
BATCH: Final = 1_000
QUESTIONS: Final = 500
REST_SECONDS_MAX: Final = 120.0
SYLLABLES: Final = ("ba", "del", "fo", "gri", "hu", "ka", "len", "mo", "nar", "pi", "ro", "sta")


def measure(seed: int, state_dir: Path, progress: Progress) -> list[Figure]:
    """Recall and evidence with everything kept, and after the sweeps that came by themselves."""
    dialogue = merged(seed, MEMORIES)
    asked = random.Random(seed).sample(dialogue.questions, QUESTIONS)
    return asyncio.run(_measure(replace(dialogue, questions=tuple(asked)), state_dir, progress))


def merged(seed: int, count: int) -> Dialogue:
    """Dialogues of different people as one, in time order, of at least `count` turns."""
    surnames = ["".join(three).title() for three in itertools.product(SYLLABLES, repeat=3)]
    random.Random(seed).shuffle(surnames)
    parts: list[Dialogue] = []
    turns = 0
    for variety in itertools.cycle(VARIETIES):
        if turns >= count:
            return _in_time_order(parts)
        number = len(parts)
        parts.append(talk(seed, f"{variety}-{number}", variety, surname=surnames[number]))
        turns += len(parts[-1].turns)
    raise AssertionError("there is no variety")


def _in_time_order(parts: Sequence[Dialogue]) -> Dialogue:
    said = sorted(
        (turn.at, part, row) for part, one in enumerate(parts) for row, turn in enumerate(one.turns)
    )
    place = {(part, row): new for new, (_, part, row) in enumerate(said)}
    turns = [parts[part].turns[row] for _, part, row in said]
    turns = [
        turn if turn.replaces is None else replace(turn, replaces=place[part, turn.replaces])
        for turn, (_, part, _) in zip(turns, said, strict=True)
    ]
    wanted = [tuple(place[part, one] for one in parts[part].wanted[row]) for _, part, row in said]
    questions = [
        Question(question.text, tuple(place[part, row] for row in question.evidence))
        for part, one in enumerate(parts)
        for question in one.questions
    ]
    return Dialogue("at scale", "generated", tuple(turns), (0,), tuple(questions), tuple(wanted))


async def _measure(dialogue: Dialogue, state_dir: Path, progress: Progress) -> list[Figure]:
    task = progress.add_task("everything kept", total=2 * len(dialogue.turns))
    async with store.a_daemon(state_dir) as daemon:
        everything = await daemon.namespace(dialogue.turns[0].at)
        async for done in _stream(daemon, everything, dialogue):
            progress.update(task, advance=done)
        before = await _asked(everything, dialogue)
        progress.update(task, description="default thresholds")
        swept = await daemon.registry.open("default", create=True)
        async for done in _stream(daemon, swept, dialogue):
            await _at_rest(swept)
            progress.update(task, advance=done)
        after, deep = await _asked(swept, dialogue), await _asked(swept, dialogue, "deep")
        kept = await _live(swept)
        return [*_recalled(dialogue, before, after, deep), *_kept(dialogue, kept, swept)]


async def _stream(daemon: Daemon, namespace: Namespace, dialogue: Dialogue) -> AsyncIterator[int]:
    """Put all turns, a thousand a call, with their uses and what they replace."""
    for start in range(0, len(dialogue.turns), BATCH):
        rows = range(start, min(start + BATCH, len(dialogue.turns)))
        daemon.clock.hold(dialogue.turns[rows[-1]].at)
        await store.put(namespace, dialogue, rows)
        wanted = {store.memory_id(one) for row in rows for one in dialogue.wanted[row]}
        if wanted:
            await namespace.touch(ids=sorted(wanted))
        for row in rows:
            older = dialogue.turns[row].replaces
            if older is not None and await _is_live(namespace, older):
                await namespace.supersede(id=store.memory_id(older), by=store.memory_id(row))
        yield len(rows)


async def _is_live(namespace: Namespace, row: int) -> bool:
    return await namespace.get(id=store.memory_id(row), include_embedding=False) is not None


async def _at_rest(namespace: Namespace) -> None:
    """Wait until the detector's sweeps have brought the namespace below its thresholds."""
    until = time.monotonic() + REST_SECONDS_MAX
    while namespace.book.crossed(namespace.store.columns.counts()):
        assert time.monotonic() < until, "the namespace stays above its thresholds"
        await asyncio.sleep(0.02)


async def _asked(
    namespace: Namespace, dialogue: Dialogue, depth: Literal["auto", "deep"] = "auto"
) -> tuple[float, float]:
    """recall@10, and the milliseconds that a question takes in the mean."""
    started = time.perf_counter()
    share = await store.recall_share(namespace, dialogue, depth)
    return share, (time.perf_counter() - started) * 1000 / len(dialogue.questions)


async def _live(namespace: Namespace) -> Rows:
    rows: list[int] = []
    cursor: str | None = None
    while True:
        page = await namespace.list(
            tier=None, status=None, memory_type=None, cursor=cursor, limit=1_000
        )
        rows += [store.row_of(one.id) for one in page.memories]
        cursor = page.cursor
        if cursor is None:
            return np.array(rows, dtype=np.int64)


def _recalled(
    dialogue: Dialogue,
    before: tuple[float, float],
    after: tuple[float, float],
    deep: tuple[float, float],
) -> list[Figure]:
    told = (
        (f"recall@10 of {grouped(len(dialogue.turns))}, everything kept and hot", before),
        ("the same after both stages fired by themselves", after),
        ('the same, asked with depth "deep"', deep),
    )
    return [
        Figure("at scale", what, share, "", note=f"{took:.0f} ms a question, by text alone")
        for what, (share, took) in told
    ]


def _kept(dialogue: Dialogue, live: Rows, namespace: Namespace) -> list[Figure]:
    counts = namespace.store.columns.counts()
    tiers = f"{grouped(counts.hot)} hot, {grouped(counts.cold)} cold, "
    tiers += f"{grouped(counts.forgotten)} forgotten"
    told = (
        ("evidence that survived", dialogue.evidence, tiers),
        ("stale facts still live", dialogue.stale, "those that the host said were replaced"),
    )
    return [
        Figure("at scale", what, share_kept(rows, live), "", note=note) for what, rows, note in told
    ]
