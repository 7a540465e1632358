"""What the people of the generated dialogues say, in a form that is filled with values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is true of a person, told once and perhaps changed later.

    `says` and `changes` hold `{v}` for the value, `asks` (after the end) and `again` (while they
    talk) `{who}` for the person. Without `changes` it never changes.
    """

    says: tuple[str, ...]
    asks: str
    again: str
    values: tuple[str, ...]
    changes: tuple[str, ...] = ()
    important: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """What happened once: `says` holds `{place}` and `{detail}`, and `asks` is for the detail."""

    says: tuple[str, ...]
    asks: str
    reacts: str
    details: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Language:
    """All that is said in one language. `noise` holds `{place}`, `{thing}` and `{number}`."""

    speakers: tuple[str, ...]
    facts: tuple[Fact, ...]
    events: tuple[Event, ...]
    places: tuple[str, ...]
    things: tuple[str, ...]
    greetings: tuple[str, ...]
    farewells: tuple[str, ...]
    reactions: tuple[str, ...]
    musings: tuple[str, ...]
    noise: tuple[str, ...]
    unsure: tuple[str, ...]
