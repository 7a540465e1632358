"""What may be found in the files of a namespace, and what an operator does about each finding."""

from dataclasses import dataclass, field
from typing import Final

NAMED_MAX: Final = 10

# The name of a check → what to do where it fails. docs/operations.md explains every one.
REMEDIES: Final = {
    "database": "bring hot.db back from a backup of the namespace; where its event log is whole, "
    "stop the daemon and try: forgetd rebuild",
    "commits": "restore a backup, or take the database as it is with: forgetd doctor --accept",
    "segments": "copy the named files back from a backup; nothing else needs them",
    "unknown segments": "start the daemon once: it takes back memories that live nowhere else; "
    "then remove the files whose memories are all elsewhere with: forgetd doctor --reclaim",
    "places": "copy the named segments back from a backup; if they are whole, stop the daemon and "
    "run: forgetd rebuild",
    "memories": "restore them from a backup; they are never moved as they are",
    "tables": "stop the daemon and run: forgetd rebuild",
    "event log": "stop the daemon and run `forgetd rebuild`, which tells whether the log or the "
    "tables are wrong; or restore a backup",
    "media": "put the named files back below the namespace's media directory, or take mediaRef "
    "off the memories",
    "leftovers": "start the daemon once: it removes them; but look at rebuilt.db, and remove it "
    "yourself",
    "kept": "start the daemon: it adopts what has no memory of its own",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `remedy` is empty where nothing need be done."""

    check: str
    ok: bool
    detail: str
    remedy: str = ""


@dataclass(slots=True)
class Findings:
    """Everything that was looked at, in order."""

    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return all(finding.ok for finding in self.findings)

    def add(self, check: str, ok: bool, detail: str) -> None:
        """Note one finding, with its remedy where something is wrong."""
        self.findings.append(Finding(check, ok, detail, "" if ok else REMEDIES[check]))


def named(names: list[str]) -> str:
    """The first of the names, for the end of a sentence."""
    if not names:
        return ""
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f": {', '.join(names[:NAMED_MAX])}{more}"
