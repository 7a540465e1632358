"""Dialogues of our own: the same for one seed on any machine, so that anyone can run the harness.

Three people talk over eight months, in English, in Korean, or in both. They tell facts, some of
which change, and events; they come back to them, ask each other for them, and fill the time with
small talk, long and short, with rare words and without. After the end somebody asks for a part of
what was told. What was asked for is the evidence; what was changed is stale.
"""

import random
from dataclasses import dataclass, field, replace
from typing import Final

from benchmarks.quality.dialogue import Dialogue, Question, Turn
from benchmarks.quality.english import ENGLISH
from benchmarks.quality.korean import KOREAN
from benchmarks.quality.phrases import Event, Fact, Language
from sidecar.limits import MILLISECONDS_PER_DAY, MILLISECONDS_PER_MINUTE

START_MS: Final = 1_735_722_000_000  # 2025-01-01T09:00:00Z
SESSIONS: Final = 28
DAYS_BETWEEN: Final = (3, 14)
BLOCKS: Final = (5, 7)
ASKED_SHARE: Final = 0.6
CHANGED_SHARE: Final = 0.6
EVENTS: Final = 60
VARIETIES: Final[dict[str, tuple[Language, ...]]] = {
    "english": (ENGLISH,),
    "korean": (KOREAN,),
    "both": (ENGLISH, KOREAN),
}


def generate(seed: int, sessions: int = SESSIONS) -> list[Dialogue]:
    """One dialogue of each variety, with as many sessions."""
    return [talk(seed, f"generated-{name}", name, sessions) for name in VARIETIES]


def talk(
    seed: int, name: str, variety: str, sessions: int = SESSIONS, surname: str = ""
) -> Dialogue:
    """One dialogue; with a surname the people can be told from those of other dialogues."""
    languages = VARIETIES[variety]
    if surname:
        languages = tuple(
            replace(one, speakers=tuple(f"{first} {surname}" for first in one.speakers))
            for one in languages
        )
    return _Talk(name, languages, random.Random(f"{seed} {name}"), sessions).dialogue()


@dataclass(slots=True)
class _Told:
    """What one person said of a fact or an event, and where; `row` is its latest turn."""

    language: Language
    who: str
    about: Fact | Event
    value: str
    place: str = ""
    row: int = -1

    def question(self) -> str:
        return self.about.asks.format(who=self.who, place=self.place)


@dataclass(slots=True)
class _Talk:
    name: str
    languages: tuple[Language, ...]
    rng: random.Random
    sessions: int
    turns: list[Turn] = field(default_factory=list[Turn])
    wanted: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    told: list[_Told] = field(default_factory=list[_Told])
    now: int = START_MS

    def dialogue(self) -> Dialogue:
        plan = self._plan()
        starts: list[int] = []
        for number in range(self.sessions):
            starts.append(len(self.turns))
            self._session(plan[number])
            self.now += self.rng.randint(*DAYS_BETWEEN) * MILLISECONDS_PER_DAY
            self.now += self.rng.randint(-180, 180) * MILLISECONDS_PER_MINUTE
        asked = [one for one in self.told if self.rng.random() < ASKED_SHARE]
        return Dialogue(
            self.name,
            "generated",
            tuple(self.turns),
            tuple(starts),
            tuple(Question(one.question(), (one.row,)) for one in asked),
            tuple(self.wanted),
        )

    def _plan(self) -> list[list[_Told]]:
        """What is told in which session. Facts that change come up again with another value."""
        plan: list[list[_Told]] = [[] for _ in range(self.sessions)]
        for language in self.languages:
            for who in language.speakers:
                for fact in language.facts:
                    self._plan_fact(plan, language, who, fact)
        for language in self.languages:
            happened = [(event, place) for event in language.events for place in language.places]
            count = round(EVENTS * self.sessions / SESSIONS / len(self.languages))
            for event, place in self.rng.sample(happened, min(count, len(happened))):
                who, detail = self.rng.choice(language.speakers), self.rng.choice(event.details)
                self.rng.choice(plan).append(_Told(language, who, event, detail, place))
        return plan

    def _plan_fact(self, plan: list[list[_Told]], language: Language, who: str, fact: Fact) -> None:
        if self.rng.random() > 1 / len(self.languages):
            return
        value, *others = self.rng.sample(fact.values, 3)
        first = self.rng.randrange(self.sessions)
        one = _Told(language, who, fact, value)
        plan[first].append(one)
        for other in others if fact.changes else ():
            later = range(first + 2, self.sessions)
            if later and self.rng.random() < CHANGED_SHARE:
                first = self.rng.choice(later)
                plan[first].append(_Told(language, who, fact, other))

    def _session(self, planned: list[_Told]) -> None:
        language = self.rng.choice(self.languages)
        for _ in range(2):
            self._say(language, self.rng.choice(language.greetings))
        blocks = [self._small_talk] * self.rng.randint(*BLOCKS) + [self._come_back] * 3
        blocks += [lambda language, one=one: self._tell(one) for one in planned]
        self.rng.shuffle(blocks)
        for block in blocks:
            block(language)
        self._say(language, self.rng.choice(language.farewells))

    def _tell(self, one: _Told) -> None:
        older = None
        says, marked = one.about.says, False
        if isinstance(one.about, Fact):
            marked = one.about.important
            older = next((o for o in self.told if (o.who, o.about) == (one.who, one.about)), None)
            says = says if older is None else one.about.changes
        text = self.rng.choice(says).format(v=one.value, place=one.place, detail=one.value)
        replaces = None if older is None else older.row
        one.row = self._say(one.language, text, who=one.who, important=marked, replaces=replaces)
        if older is not None:
            self.told.remove(older)
        self.told.append(one)
        reaction = self.rng.choice(one.language.reactions)
        if isinstance(one.about, Event) and self.rng.random() < 0.5:
            reaction = one.about.reacts.format(place=one.place)
        self._say(one.language, reaction, not_by=one.who)

    def _small_talk(self, language: Language) -> None:
        if self.rng.random() < 0.35:
            self._say(language, self.rng.choice(language.musings))
        else:
            filled = self.rng.choice(language.noise).format(
                thing=self.rng.choice(language.things),
                place=self.rng.choice(language.places),
                number=self.rng.randint(3, 59),
            )
            self._say(language, filled)
        self._say(language, self.rng.choice(language.reactions))

    def _come_back(self, language: Language) -> None:
        """Somebody asks for something told earlier, more often for what was told lately."""
        known = [one for one in self.told if one.language is language]
        if not known:
            return
        one = known[-1 - min(int(self.rng.expovariate(1 / 12)), len(known) - 1)]
        if isinstance(one.about, Fact):
            self._say(language, one.about.again, not_by=one.who, wanted=(one.row,))
            self._say(language, self.rng.choice(language.unsure), who=one.who)
        else:
            text = one.about.reacts.format(place=one.place)
            self._say(language, text, not_by=one.who, wanted=(one.row,))

    def _say(
        self,
        language: Language,
        text: str,
        *,
        who: str = "",
        not_by: str = "",
        important: bool = False,
        replaces: int | None = None,
        wanted: tuple[int, ...] = (),
    ) -> int:
        row = len(self.turns)
        speaker = who or self.rng.choice([one for one in language.speakers if one != not_by])
        self.turns.append(Turn(f"g{row}", self.now, f"{speaker}: {text}", important, replaces))
        self.wanted.append(wanted)
        self.now += self.rng.randint(10, 90) * 1000
        return row
