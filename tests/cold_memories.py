"""Namespaces with cold memories, and what a deep recall of them must answer, computed plainly."""

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from sidecar.reports import RecallReport
from sidecar.store import cold_index
from sidecar.store.cold_tables import FAULTS
from sidecar.store.search_text import TermCounter, parse_query
from tests.namespaces import World, fill, ids_in, memory, payloads, query, recall

DIMENSIONS = 8
TOP_MAX = 1_000
_WORDS = "red blue green old new fast slow bike boat house 커피 회의 서울 book tea Zürich 🍜"
WORDS = _WORDS.split()
MODELS = ("m", "m", "m", "other", None)

Found = dict[str, tuple[float | None, float | None]]


def index_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows be worth an index, too."""
    monkeypatch.setattr(cold_index, "SCANNED_GLADLY_MAX", 0)


def words(rng: random.Random, most: int = 12) -> str:
    """A content of a small vocabulary, so that every word is in many."""
    return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))


def direction(rng: random.Random, dimensions: int = DIMENSIONS) -> list[float]:
    """A random direction in numbers that float32 holds exactly."""
    return [float(np.float32(rng.gauss(0, 1))) for _ in range(dimensions)]


def made(rng: random.Random, memory_id: str) -> MemoryInput:
    """A memory with words; most have a vector, of one of two models."""
    model = rng.choice(MODELS)
    if model is None:
        return memory(memory_id, content=words(rng))
    return memory(memory_id, content=words(rng), embedding=direction(rng), embedding_model=model)


async def fill_cold(namespace: Namespace, rng: random.Random, count: int) -> None:
    """Put memories and spill all of them."""
    await fill(namespace, [made(rng, f"m{number:04}") for number in range(count)])
    await spill(namespace)


async def spill(namespace: Namespace, target: int = 0) -> None:
    """Spill down to `target`, and wait until the index has followed."""
    await namespace.cold_spill(dry_run=False, target=target)
    await settled(namespace)


async def settled(namespace: Namespace) -> None:
    """Return when nothing is being indexed."""
    await namespace._in_thread(namespace.store.cold_index.settle)


async def indexed(namespace: Namespace) -> set[str]:
    """The ids that a recall looks up and does not scan."""
    return (await entries(namespace))[0]


async def entries(namespace: Namespace) -> tuple[set[str], int]:
    """The ids that a recall looks up and does not scan; and how many entries there are in all."""
    index = namespace.store.cold_index
    try:
        with index.reading() as reading, namespace.store.readers.view() as hot:
            if reading is None:
                return set(), 0
            cold = namespace.store.columns.cold_now()
            rids = cold.rids[index.matched(hot, reading.entries, cold)].tolist()
    except FAULTS:
        return set(), 0
    ids = dict(query(namespace, "SELECT rid, id FROM memories"))
    return {ids[rid] for rid in rids}, len(reading.entries)


def cold_folder(world: World, name: str = "default") -> Path:
    """Where the segments and the index of a namespace lie."""
    return world.directory(name) / "cold"


def index_files(folder: Path) -> list[Path]:
    """The files of an index."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith("seg-"))


async def deep(namespace: Namespace, text: str | None = None, **given: Any) -> RecallReport:
    """A deep recall of as many as a recall may answer."""
    return await recall(namespace, text, **({"depth": "deep", "top_k": TOP_MAX} | given))


async def found(namespace: Namespace, text: str | None = None, **given: Any) -> Found:
    """Each id that a deep recall answers, with its scores by text and by vector."""
    report = await deep(namespace, text, **given)
    return {one.memory.id: (one.text_score, one.vector_score) for one in report.results}


def live_payloads(namespace: Namespace) -> dict[str, tuple[Any, ...]]:
    """The exact bytes of every memory that is hot or cold."""
    live = {*ids_in(namespace, "hot"), *ids_in(namespace, "cold")}
    return {one: values for one, values in payloads(namespace).items() if one in live}


def plain_cosines(
    namespace: Namespace, asked: Sequence[float], model: str | None = None
) -> dict[str, float]:
    """The cosine of every live memory that can be compared."""
    query = np.array(asked, np.float64)
    cosines: dict[str, float] = {}
    for memory_id, (*_, its_model, embedding) in live_payloads(namespace).items():
        if embedding is None or (model is not None and its_model != model):
            continue
        other = np.frombuffer(embedding, "<f4").astype(np.float64)
        if len(other) == len(query):
            lengths = np.linalg.norm(query) * np.linalg.norm(other)
            cosines[memory_id] = float(query @ other / lengths)
    return cosines


def plain_scores(namespace: Namespace, text: str) -> dict[str, float]:
    """BM25 of every live memory: rarity over all, lengths against the mean of their tier."""
    asked = parse_query(text)
    counter = TermCounter(asked)
    contents = {one: values[0].decode() for one, values in live_payloads(namespace).items()}
    cold = set(ids_in(namespace, "cold"))
    counts = {one: counter.count(content) for one, content in contents.items()}
    lengths = {one: counter.length(content) for one, content in contents.items()}

    def mean(is_cold: bool) -> float:
        its = [length for one, length in lengths.items() if (one in cold) == is_cold]
        return sum(its) / max(1, len(its))

    means = {is_cold: mean(is_cold) for is_cold in (False, True)}
    rarity: list[float] = []
    for term in range(len(asked.terms)):
        holding = sum(1 for found in counts.values() if found and found[term])
        logarithm = math.log((len(contents) - holding + 0.5) / (holding + 0.5))
        rarity.append(logarithm if logarithm > 0 else 1e-6)
    scores: dict[str, float] = {}
    for one, found in counts.items():
        if found:
            damping = 1.2 * (0.25 + 0.75 * lengths[one] / means[one in cold])
            scores[one] = sum(
                weight * count * 2.2 / (count + damping)
                for weight, count in zip(rarity, found, strict=True)
            )
    return scores
