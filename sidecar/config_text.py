"""The text of a TOML file: its tables, and the line of each key, so that an error can name it."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from sidecar.errors import ConfigError
from sidecar.suggest import quoted, remedy_for

_TABLE: Final = re.compile(r"^\s*\[(?!\[)\s*(?P<path>[^\]]*?)\s*\]")
_ENTRY: Final = re.compile(
    r"""^\s*(?P<path>(?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART: Final = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The number (from 1) of the line where the key or the table at `path` is written.

    A key inside an inline table answers with the line of that table. None where the text says
    it in a way that is not looked for.
    """
    wanted = tuple(path)
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.match(line):
            table = _parts(header["path"])
            if table[: len(wanted)] == wanted:
                return number
        elif entry := _ENTRY.match(line):
            written = (*table, *_parts(entry["path"]))
            if written == wanted[: len(written)] or written[: len(wanted)] == wanted:
                return number
    return None


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


class ConfigText:
    """One file's text and one environment, with errors that name the line."""

    def __init__(self, path: Path, text: str, environ: Mapping[str, str]) -> None:
        self.path = path
        self.text = text
        self.environ = environ

    def document(self) -> dict[str, object]:
        """The whole file. Raises ConfigError."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{self.path}: {error}", "mend the line named") from None

    def table(self, value: object, at: tuple[str, ...]) -> dict[str, object]:
        """`value` as the table that stands at `at`. Raises ConfigError."""
        if not isinstance(value, dict):
            raise ConfigError(f"{self.where(at)} must be a table", f"write [{'.'.join(at)}]")
        return cast(dict[str, object], value)

    def refuse_unknown(
        self, table: Mapping[str, object], known: tuple[str, ...], at: tuple[str, ...]
    ) -> None:
        """Raise ConfigError for a key of the table at `at` that nobody knows."""
        for key in table:
            if key not in known:
                raise ConfigError(f"{self.where((*at, key))} is not known", remedy_for(key, known))

    def refuse_unknown_variables(self, section: str, keys: tuple[str, ...]) -> None:
        """Raise ConfigError for a variable of a section that nobody knows."""
        prefix = f"FORGETD_{section}_"
        known = [prefix + key.upper() for key in keys]
        for variable in self.environ:
            if variable.startswith(prefix) and variable not in known:
                raise ConfigError(
                    f"the environment variable {quoted(variable)} is not known",
                    remedy_for(variable, known),
                )

    def where(self, at: tuple[str, ...]) -> str:
        """`file:line: dotted.key`, or without the line where it cannot be told."""
        line = line_of(self.text, at)
        return f"{self.path}{f':{line}' if line else ''}: {quoted('.'.join(at))}"
