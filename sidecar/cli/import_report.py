"""What an import found and did, as it is told."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sidecar.cli.failures import DATA, Failure
from sidecar.cli.output import emit_json, say, tell
from sidecar.cli.progress import Progress
from sidecar.cli.settings import Settings
from sidecar.cli.shown import count, plural

if TYPE_CHECKING:
    from sidecar.importers.formats import Opened
    from sidecar.importers.items import BadLine

BAD_LINES_SHOWN_MAX: Final = 10
REPORTED_MAX: Final = 1_000

# What is told of each kind of notice: one, several, and the rest of the sentence.
_NOTICES: Final = {
    "repeated": ("memory", "memories", "repeated in the file, stored once"),
    "blank": ("blank observation", "blank observations", "left out"),
    "deleted": ("memory", "memories", "not imported: the other store deleted them"),
    "no_vector": ("memory", "memories", "stored without the vector, which does not fit the others"),
    "no_link": ("memory", "memories", "stored without a successor: the chain comes back to itself"),
}


@dataclass
class Survey:
    """What the first reading of the source found. `by_line`: its places are lines."""

    by_line: bool = True
    records: int = 0
    bad_lines: "list[BadLine]" = field(default_factory=list["BadLine"])
    bad_count: int = 0
    notices: Counter[str] = field(default_factory=Counter[str])
    unknown_types: Counter[str] = field(default_factory=Counter[str])
    left_out: list[str] = field(default_factory=list[str])

    @property
    def noun(self) -> str:
        """What a place of the source is called."""
        return "line" if self.by_line else "record"


@dataclass
class Stored:
    """What became of the records that were sent."""

    created: int = 0
    replaced: int = 0
    skipped: int = 0
    failed: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def survey_of(opened: "Opened", advance: Progress) -> Survey:
    """Read the source once, to its end."""
    from sidecar.importers.items import BadLine, Record

    survey = Survey(opened.by_line)
    for item in opened.read():
        advance(opened.done())
        if isinstance(item, Record):
            survey.records += 1
        elif isinstance(item, BadLine):
            survey.bad_count += 1
            if len(survey.bad_lines) < REPORTED_MAX:
                survey.bad_lines.append(item)
        elif item.kind == "unknown_type":
            survey.unknown_types[item.detail] += 1
        elif item.kind == "no_memory":
            survey.left_out.append(item.detail)
        else:
            survey.notices[item.kind] += 1
    return survey


def refuse(survey: Survey) -> None:
    """Say what is bad, and end the command. Raises Failure."""
    for bad in survey.bad_lines[:BAD_LINES_SHOWN_MAX]:
        say(_described(bad))
        say(f"  remedy: {bad.remedy}")
    rest = survey.bad_count - BAD_LINES_SHOWN_MAX
    if rest > 0:
        say(f"and {plural(rest, f'more bad {survey.noun}')}")
    raise Failure(
        f"{plural(survey.bad_count, survey.noun)} cannot be stored; nothing of the file was",
        "mend them, or import the rest with --skip-bad",
        DATA,
    )


def report(options: Settings, survey: Survey, stored: Stored) -> None:
    """Tell what was stored, and what was not and why."""
    if options.json:
        emit_json(_as_json(survey, stored))
    else:
        tell(
            f"{count(stored.created)} created, {count(stored.replaced)} replaced, "
            f"{count(stored.skipped)} already there (namespace {options.namespace_name()})"
        )
    for bad in survey.bad_lines[:BAD_LINES_SHOWN_MAX]:
        say(f"left out: {_described(bad)}")
    for error in stored.errors[:BAD_LINES_SHOWN_MAX]:
        say(f"left out: {error['place']}: {error['message']}")
    if left_out := survey.bad_count + stored.failed:
        say(f"{plural(left_out, survey.noun)} left out")
    for sentence in _notices(survey):
        say(sentence)


def _as_json(survey: Survey, stored: Stored) -> dict[str, Any]:
    return {
        "created": stored.created,
        "replaced": stored.replaced,
        "skipped": stored.skipped,
        "failed": stored.failed,
        "errors": [_placed(error, error["message"]) for error in stored.errors],
        "badLines": [
            _placed({"line": bad.line, "place": bad.place}, bad.message, field=bad.field)
            for bad in survey.bad_lines
        ],
        "badLineCount": survey.bad_count,
        "repeated": survey.notices["repeated"],
        "blank": survey.notices["blank"],
        "deleted": survey.notices["deleted"],
        "withoutVector": survey.notices["no_vector"],
        "withoutLink": survey.notices["no_link"],
        "notMemories": survey.left_out,
        "unknownTypes": dict(survey.unknown_types),
    }


def _placed(at: dict[str, Any], message: str, **named: Any) -> dict[str, Any]:
    """A line by its number, any other place by its name."""
    place = {"line": at["line"]} if at["line"] else {"place": at["place"]}
    return {**place, **named, "message": message}


def _notices(survey: Survey) -> Iterator[str]:
    for kind, amount in survey.notices.items():
        one, several, rest = _NOTICES[kind]
        yield f"{plural(amount, one, several)} {rest}"
    for kind, amount in survey.unknown_types.items():
        yield f"{plural(amount, 'line')} of the unknown type {kind!r} kept as they are"
    if survey.left_out:
        yield f"left out, as it holds no memories: {', '.join(survey.left_out)}"


def _described(bad: "BadLine") -> str:
    return f"{bad.place}: {f'{bad.field} ' if bad.field else ''}{bad.message}"
