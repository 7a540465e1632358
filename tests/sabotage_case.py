"""What a breakage is: a line of the daemon, and the test that must see it broken."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sabotage:
    """One way to break a promise. `old` stands exactly once in `file`; `test` is a node id."""

    promise: str
    what: str
    file: str
    old: str
    new: str
    test: str
