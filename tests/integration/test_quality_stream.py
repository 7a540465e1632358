"""The quality benchmark streams into the daemon's own store, and its sweeps decide what stays."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.quality import store
from benchmarks.quality.dialogue import Dialogue
from benchmarks.quality.generated import generate
from benchmarks.quality.grid import Formula
from benchmarks.quality.stream import Budget, Protocol, simulate
from benchmarks.quality.words import Words

SESSIONS = 5


def small(*, replacing: bool) -> Dialogue:
    """A short dialogue in both languages; without `replacing` no turn takes another's place."""
    dialogue = generate(5, sessions=SESSIONS)[-1]
    turns = dialogue.turns if replacing else [replace(t, replaces=None) for t in dialogue.turns]
    return replace(dialogue, turns=tuple(turns))


@pytest.mark.gate("QUAL-07")
@pytest.mark.parametrize("protocol", ["count", "characters"])
async def test_the_daemon_keeps_what_its_formula_says(tmp_path: Path, protocol: Protocol) -> None:
    dialogue, budget = small(replacing=False), Budget(protocol, 0.4)
    async with store.a_daemon(tmp_path) as daemon:
        namespace, outcome = await store.stream(daemon, dialogue, "balanced", budget)
        page = await namespace.list(
            tier=None, status=None, memory_type=None, cursor=None, limit=1_000
        )
        everything = await daemon.namespace(dialogue.parts()[-1][1])
        await store.put(everything, dialogue, range(len(dialogue.turns)))
        importance = await store.importance_of(everything, dialogue)
    assert [store.row_of(one.id) for one in page.memories] == outcome.kept.tolist()
    said = simulate(dialogue, Words(dialogue), Formula().score(importance), budget)
    assert outcome.kept.tolist() == said.kept.tolist()
    assert (outcome.found, outcome.needed) == (said.found, said.needed)


@pytest.mark.gate("QUAL-07")
async def test_what_was_replaced_goes_first_and_what_the_host_marked_stays(tmp_path: Path) -> None:
    dialogue = small(replacing=True)
    async with store.a_daemon(tmp_path) as daemon:
        _, outcome = await store.stream(
            daemon, dialogue, "balanced", Budget("count", 0.3), marked=True
        )
    assert len(dialogue.stale) > 0
    assert not np.isin(dialogue.stale, outcome.kept).any()
    assert len(dialogue.important) > 0
    assert np.isin(dialogue.important, outcome.kept).all()


@pytest.mark.gate("QUAL-07")
async def test_recall_is_asked_of_what_was_kept(tmp_path: Path) -> None:
    dialogue = small(replacing=False)
    async with store.a_daemon(tmp_path) as daemon:
        at = dialogue.parts()[-1][1]
        whole, half = await daemon.namespace(at), await daemon.namespace(at)
        await store.put(whole, dialogue, range(len(dialogue.turns)))
        await store.put(half, dialogue, range(len(dialogue.turns) // 2))
        recalled = [await store.recall_share(one, dialogue) for one in (whole, half)]
    assert recalled[0] > 0.5
    assert recalled[0] > recalled[1] > 0
