"""Measuring every policy on every dialogue, in as many processes as there are cores."""

import asyncio
import logging
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import numpy as np
import structlog

from benchmarks.quality import store
from benchmarks.quality.dialogue import Dialogue
from benchmarks.quality.measures import KEEP_EVERYTHING, Result, result_of
from benchmarks.quality.policies import ORACLE, PLAIN, Policy
from benchmarks.quality.store import Daemon
from benchmarks.quality.stream import Budget, Outcome, simulate
from benchmarks.quality.systems import SYSTEMS
from benchmarks.quality.words import Words
from sidecar.plan.policies import POLICY_DEFAULT, POLICY_NAMES

FORMULAS: Final[dict[str, Policy]] = {one.name: one for one in (*PLAIN, *SYSTEMS, ORACLE)}
OURS: Final[dict[str, str]] = {f"forgetd {name}": name for name in POLICY_NAMES}
OUR_DEFAULT: Final = f"forgetd {POLICY_DEFAULT}"
NAMES: Final = (*FORMULAS, *OURS, KEEP_EVERYTHING)

Task = tuple[Dialogue, str]


def measure_all(
    dialogues: Sequence[Dialogue],
    policies: Sequence[str],
    budgets: Sequence[Budget],
    processes: int,
    scratch: Path,
    done: Callable[[Task], None],
) -> list[Result]:
    """All results, ordered as the dialogues and policies are; `done` hears of each task."""
    tasks = [(dialogue, policy) for dialogue in dialogues for policy in policies]
    found: dict[int, list[Result]] = {}
    with ProcessPoolExecutor(processes, get_context("spawn"), _quiet) as pool:
        # The daemon's streams are the longest: they begin first.
        order = sorted(range(len(tasks)), key=lambda at: tasks[at][1] not in OURS)
        running = {pool.submit(measure, *tasks[at], budgets, scratch): at for at in order}
        for future in as_completed(running):
            place = running[future]
            found[place] = future.result()
            done(tasks[place])
    return [result for place in sorted(found) for result in found[place]]


def measure(
    dialogue: Dialogue, policy: str, budgets: Sequence[Budget], scratch: Path
) -> list[Result]:
    """One policy on one dialogue at every size."""
    with tempfile.TemporaryDirectory(prefix="q-", dir=scratch) as folder:
        return asyncio.run(_measure(dialogue, policy, budgets, Path(folder)))


async def _measure(
    dialogue: Dialogue, policy: str, budgets: Sequence[Budget], state_dir: Path
) -> list[Result]:
    async with store.a_daemon(state_dir) as daemon:
        if policy == KEEP_EVERYTHING:
            return [await _everything(daemon, dialogue)]
        if policy in OURS:
            return [await _ours(daemon, dialogue, policy, budget) for budget in budgets]
        words = Words(dialogue)
        return [
            await _formula(daemon, dialogue, words, FORMULAS[policy], budget) for budget in budgets
        ]


async def _everything(daemon: Daemon, dialogue: Dialogue) -> Result:
    rows = np.arange(len(dialogue.turns))
    needed = sum(map(len, dialogue.wanted))
    recall = await _recall(daemon, dialogue, rows)
    outcome, budget = Outcome(rows, needed, needed), Budget("count", 1.0)
    return result_of(dialogue, KEEP_EVERYTHING, budget, outcome, recall, rows)


async def _formula(
    daemon: Daemon, dialogue: Dialogue, words: Words, policy: Policy, budget: Budget
) -> Result:
    outcome = simulate(dialogue, words, policy.score, budget)
    marked = outcome
    if policy.marks:
        marked = simulate(dialogue, words, policy.score, budget, marked=True)
    recall = await _recall(daemon, dialogue, outcome.kept)
    return result_of(dialogue, policy.name, budget, outcome, recall, marked.kept)


async def _ours(daemon: Daemon, dialogue: Dialogue, policy: str, budget: Budget) -> Result:
    """The same measures by the daemon's own runs; recall is asked of the namespace they left."""
    namespace, outcome = await store.stream(daemon, dialogue, OURS[policy], budget)
    recall = await store.recall_share(namespace, dialogue)
    _, marked = await store.stream(daemon, dialogue, OURS[policy], budget, marked=True)
    return result_of(dialogue, policy, budget, outcome, recall, marked.kept)


async def _recall(daemon: Daemon, dialogue: Dialogue, rows: np.ndarray) -> float:
    """recall@10 of a namespace that holds these turns and no others."""
    namespace = await daemon.namespace(dialogue.parts()[-1][1])
    await store.put(namespace, dialogue, rows.tolist())
    return await store.recall_share(namespace, dialogue)


def _quiet() -> None:
    """In a process of the pool: nothing but warnings is logged."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
