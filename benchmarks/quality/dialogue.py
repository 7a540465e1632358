"""A dialogue that is streamed into memory, the questions asked about it, and LoCoMo's form."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sidecar.limits import MILLISECONDS_PER_DAY, MILLISECONDS_PER_MINUTE

Rows = NDArray[np.int64]
Float64 = NDArray[np.float64]
Vectors = NDArray[np.float32]

IMPORTANT_SHARE_MAX: Final = 0.05
SWEEP_BEFORE_SESSION_MS: Final = MILLISECONDS_PER_MINUTE
SWEEP_AFTER_LAST_MS: Final = 2 * MILLISECONDS_PER_DAY
TURN_EVERY_MS: Final = MILLISECONDS_PER_MINUTE // 2

_ADVERSARIAL: Final = 5  # questions of this category have no answer in the dialogue
_TURN_ID: Final = re.compile(r"D\d+:\d+")
_TIME_FORMAT: Final = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said, which becomes one memory. `at` is ms; `replaces` is the row it corrects."""

    id: str
    at: int
    text: str
    important: bool = False
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """Asked after the end. `evidence` are the rows of the turns that hold the answer."""

    text: str
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Turns in time order. `sessions` are the first rows of the sessions.

    `wanted` has, for each turn, the rows of earlier turns that are needed again when it is said.
    `vectors` and `question_vectors` are the sentence vectors, where there is a model.
    """

    name: str
    kind: str
    turns: tuple[Turn, ...]
    sessions: tuple[int, ...]
    questions: tuple[Question, ...]
    wanted: tuple[tuple[int, ...], ...] = ()
    vectors: Vectors | None = field(default=None, repr=False)
    question_vectors: Vectors | None = field(default=None, repr=False)

    @property
    def evidence(self) -> Rows:
        """The rows that any question needs, each once."""
        needed = {row for question in self.questions for row in question.evidence}
        return np.array(sorted(needed), dtype=np.int64)

    @property
    def important(self) -> Rows:
        """The rows that a host would mark."""
        return np.flatnonzero([turn.important for turn in self.turns])

    @property
    def stale(self) -> Rows:
        """The rows that a later turn replaces."""
        replaced = [turn.replaces for turn in self.turns if turn.replaces is not None]
        return np.array(sorted(replaced), dtype=np.int64)

    @property
    def lengths(self) -> Rows:
        """Characters of each turn."""
        return np.array([len(turn.text) for turn in self.turns], dtype=np.int64)

    def parts(self) -> list[tuple[range, int]]:
        """Each session's rows, and when the sweep after it is made (ms)."""
        ends = [*self.sessions[1:], len(self.turns)]
        sweeps = [self.turns[row].at - SWEEP_BEFORE_SESSION_MS for row in self.sessions[1:]]
        sweeps.append(self.turns[-1].at + SWEEP_AFTER_LAST_MS)
        bounds = zip(self.sessions, ends, strict=True)
        return [(range(*rows), at) for rows, at in zip(bounds, sweeps, strict=True)]


def read_locomo(path: Path) -> list[Dialogue]:
    """The dialogues of a file in LoCoMo's form, read where it lies."""
    conversations = json.loads(path.read_text(encoding="utf-8"))
    return [_locomo_dialogue(one, place) for place, one in enumerate(conversations, 1)]


def _locomo_dialogue(one: dict[str, Any], place: int) -> Dialogue:
    conversation = one["conversation"]
    numbers = sorted(
        int(key.removeprefix("session_"))
        for key, value in conversation.items()
        if isinstance(value, list)
    )
    turns: list[Turn] = []
    sessions: list[int] = []
    for number in numbers:
        said = conversation[f"session_{number}"]
        start = _time_of(conversation[f"session_{number}_date_time"])
        if said:
            sessions.append(len(turns))
        turns += [
            Turn(turn["dia_id"], start + TURN_EVERY_MS * n, f"{turn['speaker']}: {turn['text']}")
            for n, turn in enumerate(said)
        ]
    rows = {turn.id: row for row, turn in enumerate(turns)}
    questions = tuple(
        Question(str(asked["question"]), evidence)
        for asked in one["qa"]
        if asked["category"] != _ADVERSARIAL and (evidence := _evidence(asked, rows))
    )
    name = str(one.get("sample_id", f"dialogue-{place}"))
    dialogue = Dialogue(name, "locomo", tuple(turns), tuple(sessions), questions)
    return mark_most_asked(dialogue)


def _evidence(asked: dict[str, Any], rows: dict[str, int]) -> tuple[int, ...]:
    """The rows that the evidence names; what names no existing turn is left out."""
    named = [name for text in asked.get("evidence", ()) for name in _TURN_ID.findall(text)]
    return tuple(sorted({rows[name] for name in named if name in rows}))


def _time_of(text: str) -> int:
    """LoCoMo names no zone: all times are read as of one."""
    read = datetime.strptime(text.strip(), _TIME_FORMAT).replace(tzinfo=UTC)
    return round(read.timestamp() * 1000)


def mark_most_asked(dialogue: Dialogue) -> Dialogue:
    """The same with those turns important that most questions need, at most one in twenty."""
    asked = Counter(row for question in dialogue.questions for row in question.evidence)
    most = sorted(asked, key=lambda row: (-asked[row], row))
    marked = set(most[: int(len(dialogue.turns) * IMPORTANT_SHARE_MAX)])
    turns = tuple(replace(turn, important=row in marked) for row, turn in enumerate(dialogue.turns))
    return replace(dialogue, turns=turns)
