"""Clusters of duplicates: one survivor, whatever the size and the order, or all of them kept."""

import importlib.util
import random
import sys
from itertools import combinations
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from protocol.vector_store import DAY, NOW, StoredMemory, snapshot_of
from sidecar.errors import ConfigError
from sidecar.plan.duplicate_pairs import Embeddings, Pairs, similar_pairs
from sidecar.plan.duplicates import (
    DuplicateCandidates,
    Guarded,
    GuardedResolver,
    Resolution,
    equal_texts,
    meeting_rows,
)
from sidecar.plan.plan import Snapshot
from sidecar.resolvers import load_resolver
from tests.sources import ROOT

SAME = "The user likes green tea."


def snapshot(*memories: StoredMemory) -> Snapshot:
    """The snapshot that the planner would get of these memories."""
    made = snapshot_of(list(memories))
    return made[0] if isinstance(made, tuple) else made


def memory(id: str, **fields: object) -> StoredMemory:
    """A semantic memory, like the others but for its fields."""
    return StoredMemory(id=id, **{"importance": 0.5, "created_at": NOW - DAY, **fields})  # type: ignore[arg-type]


def pairs_of(*met: tuple[int, int]) -> Pairs:
    """Pairs as a search would give them, in this order."""
    a, b = np.array(met, dtype=np.int64).reshape(-1, 2).T
    return Pairs(a, b, np.ones(len(met)))


def resolve(store: Snapshot, pairs: Pairs, texts: dict[int, str] | None = None) -> Resolution:
    """What the daemon's own resolver makes of one kind of pairs."""
    given = dict.fromkeys(range(len(store)), SAME) | (texts or {})
    return GuardedResolver().resolve(DuplicateCandidates(store, [pairs], given))


@pytest.mark.gate("DUP-08")
@pytest.mark.parametrize("size", [1, 2, 3, 5, 50])
def test_a_cluster_of_any_size_has_one_survivor(size: int, rng: random.Random) -> None:
    store = snapshot(*(memory(f"m{n:02}", recall_count=n == size // 2) for n in range(size)))
    chain = [(n, n + 1) for n in range(size - 1)]
    rng.shuffle(chain)
    resolution = resolve(store, pairs_of(*chain))
    assert resolution.survivor.tolist() == [size // 2 if size > 1 else -1] * size
    assert resolution.guarded == ()


@pytest.mark.gate("DUP-09")
def test_the_survivor_is_chosen_by_one_property_after_the_other() -> None:
    better: list[dict[str, object]] = [
        {},
        {"created_at": NOW - DAY + 1},
        {"recall_count": 1},
        {"importance": 0.6},
    ]
    for place, fields in enumerate(better):
        weaker = {key: value for one in better[:place] for key, value in one.items()}
        store = snapshot(memory("b", **weaker), memory("a", **fields))
        assert resolve(store, pairs_of((0, 1))).survivor.tolist() == [1, 1]
    faded = snapshot(memory("a", importance=0.9, fade_factor=0.5), memory("b", importance=0.5))
    assert resolve(faded, pairs_of((0, 1))).survivor.tolist() == [1, 1]


@pytest.mark.gate("DUP-09")
def test_a_superseded_memory_stays_for_no_other() -> None:
    old = memory("a", importance=1.0, status="superseded", superseded_by="c")
    store = snapshot(old, memory("b"), memory("c", importance=0.1))
    assert resolve(store, pairs_of((0, 1))).survivor.tolist() == [1, 1, -1]


@pytest.mark.gate("DUP-10")
def test_the_order_of_pairs_changes_nothing(rng: random.Random) -> None:
    store = snapshot(*(memory(f"m{n}", importance=rng.random()) for n in range(12)))
    texts = {3: "The user likes black tea."}
    met = [*combinations(range(4), 2), *combinations(range(5, 9), 2), (9, 11)]
    first = resolve(store, pairs_of(*met), texts)
    for _ in range(5):
        again = resolve(store, pairs_of(*rng.sample(met, len(met))), texts)
        assert again.survivor.tolist() == first.survivor.tolist()
        assert (again.guarded, again.flagged.tolist()) == (first.guarded, first.flagged.tolist())


@pytest.mark.gate("DUP-11")
def test_a_cluster_with_a_difference_inside_is_kept_whole() -> None:
    store = snapshot(*(memory(f"m{n}") for n in range(5)))
    texts = {2: "The user likes 2 green teas."}
    resolution = resolve(store, pairs_of((0, 1), (1, 2), (3, 4)), texts)
    assert resolution.survivor.tolist() == [-1, -1, -1, 3, 3]
    assert resolution.guarded == (Guarded(1, 2, "number"),)
    assert resolution.flagged.tolist() == [0, 1, 2]


@pytest.mark.gate("DUP-11")
def test_a_survivor_says_what_every_member_says_also_at_the_end_of_a_chain() -> None:
    store = snapshot(memory("a", importance=0.9), memory("b"), memory("c"))
    texts = {
        0: "The user likes strong tea.",
        1: "The user likes tea.",
        2: "The user likes iced tea.",
    }
    resolution = resolve(store, pairs_of((0, 1), (1, 2)), texts)
    assert resolution.guarded == (Guarded(0, 2, "words"),)
    assert resolution.survivor.tolist() == [-1, -1, -1]


@pytest.mark.gate("DUP-11")
def test_of_more_pairs_than_were_collected_none_collapses() -> None:
    store = snapshot(memory("a"), memory("b"))
    met = pairs_of((0, 1))
    resolution = resolve(store, Pairs(met.a, met.b, met.cosine, overflowed=True))
    assert resolution.survivor.tolist() == [-1, -1]
    assert resolution.flagged.tolist() == [0, 1]


@pytest.mark.gate("DUP-12")
def test_without_vectors_equal_texts_meet_but_for_case_punctuation_and_space() -> None:
    texts = [(0, "Likes  TEA!"), (1, "likes tea"), (2, "Likes tea."), (3, "likes coffee"), (4, "!")]
    pairs = equal_texts([*texts, (5, "?"), (6, "ｌｉｋｅｓ tea")])
    assert list(zip(pairs.a, pairs.b, strict=True)) == [(0, 1), (0, 2), (0, 6)]
    assert len(equal_texts([])) == 0


@pytest.mark.gate("DUP-12")
def test_equal_letters_do_not_make_numbers_equal() -> None:
    pairs = equal_texts([(0, "It weighs 1.5 kg"), (1, "It weighs 15 kg")])
    store = snapshot(memory("a"), memory("b"))
    texts = {0: "It weighs 1.5 kg", 1: "It weighs 15 kg"}
    assert resolve(store, pairs, texts).survivor.tolist() == [-1, -1]


@pytest.mark.gate("DUP-13")
def test_embeddings_of_two_models_never_meet() -> None:
    vectors = np.ones((2, 4), dtype=np.float32)
    store = snapshot(*(memory(f"m{n}") for n in range(4)))
    met = [
        similar_pairs(Embeddings(model, np.array(rows), vectors), 0.95)
        for model, rows in (("one", [0, 2]), ("two", [1, 3]))
    ]
    given = [pairs for pairs in met if pairs is not None]
    texts = dict.fromkeys(range(4), SAME)
    resolution = GuardedResolver().resolve(DuplicateCandidates(store, given, texts))
    assert resolution.survivor.tolist() == [0, 1, 0, 1]


@pytest.mark.gate("DUP-13")
def test_only_semantic_memories_that_are_believed_meet() -> None:
    store = snapshot(
        memory("a"),
        memory("b", memory_type="episodic"),
        memory("c", status="archived"),
        memory("d", status="invalidated"),
        memory("e", expires_at=NOW),
        memory("f", importance="NaN"),
        memory("g", tier="cold"),
    )
    assert meeting_rows(store, NOW).tolist() == [0, 6]


def example() -> ModuleType:
    """examples/keep_oldest.py, as Python would import it."""
    path: Path = ROOT / "examples" / "keep_oldest.py"
    spec = importlib.util.spec_from_file_location("keep_oldest", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.gate("DUP-14")
def test_a_resolver_of_ones_own_is_loaded_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keep_oldest", example())
    store = snapshot(memory("a"), memory("b", created_at=NOW - 9 * DAY), memory("c"))
    candidates = DuplicateCandidates(store, [pairs_of((0, 1))], dict.fromkeys(range(3), SAME))
    assert load_resolver("keep_oldest:KeepOldest").resolve(candidates).survivor.tolist() == [
        1,
        1,
        -1,
    ]
    assert load_resolver(None).resolve(candidates).survivor.tolist() == [0, 0, -1]


@pytest.mark.gate("DUP-14")
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("no colon", "package.module:name"),
        ("absent_module_of_nobody:Thing", "cannot be imported"),
        ("sidecar.resolvers:Missing", "has no Missing"),
        ("sidecar.resolvers:KEY", "resolves nothing"),
        ("sidecar.plan.duplicates:Guarded", "cannot be made"),
    ],
)
def test_a_name_that_gives_no_resolver_is_refused_with_a_remedy(name: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=r"cycle\.duplicate_resolver") as raised:
        load_resolver(name)
    assert fault in str(raised.value)
    assert raised.value.remedy
