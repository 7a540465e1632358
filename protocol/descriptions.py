"""The words of the contract: what each parameter and field means, from descriptions.toml."""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

from sidecar.model import MemoryInput
from sidecar.rpc.method import Method
from sidecar.thresholds import DEFAULTS

FILE: Final = Path(__file__).resolve().parent / "descriptions.toml"
# A struct whose fields mean what those of another mean.
LIKE: Final = {
    "ExportedMemory": ("Memory",),
    "MemoryChange": ("ExportedMemory", "Memory"),
    "MemoryFaded": ("ExportedMemory", "Memory"),
    "MemoryFeedback": ("ExportedMemory", "Memory"),
    "MemoryInput": ("Memory",),
    "MemoryPruned": ("ExportedMemory", "Memory"),
    "RetrievalRegret": ("ExportedMemory", "Memory"),
    "ThresholdChanges": ("Thresholds",),
    "ThresholdDifferences": ("Thresholds",),
    "ThresholdOrigins": ("Thresholds",),
}


class Descriptions:
    """Looks the words up, and keeps account: `missing` has no words, `unused` names nothing."""

    def __init__(self) -> None:
        with FILE.open("rb") as stream:
            self._words: dict[str, dict[str, str]] = tomllib.load(stream)
        self._used: set[tuple[str, str]] = set()
        self.missing: list[str] = []

    @property
    def unused(self) -> list[str]:
        """Words for what is not there, as section.name."""
        written = [(section, name) for section, words in self._words.items() for name in words]
        return [
            f"{section}.{name}" for section, name in written if (section, name) not in self._used
        ]

    def describe_fields(self, name: str, schema: dict[str, Any]) -> None:
        """Put words to every field that has none. A reference is described where it leads."""
        sections = [name, *LIKE.get(name, ())]
        for field, declared in schema["properties"].items():
            if "$ref" not in declared and "description" not in declared:
                words = self._find(f"{name}.{field}", field, [*sections, "any"])
                if name == "ThresholdChanges":
                    words = f"{words} Default {json.dumps(DEFAULTS[field])}."
                schema["properties"][field] = {"description": words, **declared}

    def parameters(self, method: Method, schema: dict[str, Any]) -> list[dict[str, Any]]:
        """The parameters of a method: those by position, then required ones, namespace last."""
        sections = [method.name, "parameters", "any"]
        if issubclass(method.params, MemoryInput):
            sections[1:1] = ["MemoryInput", "Memory"]
        required = set(schema.get("required", ()))

        def rank(name: str) -> tuple[int, bool, bool]:
            positions = method.positional
            place = positions.index(name) if name in positions else len(positions)
            return place, name == "namespace", name not in required

        return [
            {
                "name": name,
                "description": self._find(f"{method.name} {name}", name, sections),
                "required": name in required,
                "schema": schema["properties"][name],
            }
            for name in sorted(schema["properties"], key=rank)
        ]

    def _find(self, what: str, name: str, sections: list[str]) -> str:
        for section in sections:
            if words := self._words.get(section, {}).get(name):
                self._used.add((section, name))
                return words
        self.missing.append(what)
        return ""
