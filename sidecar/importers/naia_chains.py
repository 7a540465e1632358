"""Which fact took the place of which, in a file of naia-memory.

A fact names its successor, or is named by it as `supersedes`. Older releases did neither: they
told versions of one fact by the ending of their ids, `…-v` and a time.
"""

import re
from itertools import pairwise
from typing import Any, Final, cast

_VERSION: Final = re.compile(r"(-v\d+)+$")


def successors(facts: list[Any]) -> dict[str, str | None]:
    """The successor of each fact that has one. None: its chain would come back to itself."""
    objects = [cast(dict[str, Any], one) for one in facts if isinstance(one, dict)]
    known = [one for one in objects if isinstance(one.get("id"), str)]
    named = _named(known)
    loops = _in_loops(named)
    return {one: None if one in loops else after for one, after in named.items()}


def _named(facts: list[dict[str, Any]]) -> dict[str, str]:
    links: dict[str, str] = {}
    versions: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        identity, older = fact["id"], fact.get("supersedes")
        versions.setdefault(_VERSION.sub("", identity), []).append(fact)
        if isinstance(older, str) and older:
            links.setdefault(older, identity)
    for fact in facts:
        after = fact.get("successorId")
        if isinstance(after, str) and after:
            links[fact["id"]] = after
    for group in versions.values():
        ordered = sorted(group, key=_created)
        for older, newer in pairwise(ordered):
            if older.get("status") == "superseded":
                links.setdefault(older["id"], newer["id"])
    present = {fact["id"] for fact in facts}
    return {one: after for one, after in links.items() if one in present}


def _in_loops(links: dict[str, str]) -> set[str]:
    """The facts from which following the successors comes back to them."""
    loops: set[str] = set()
    walked: set[str] = set()
    for start in links:
        path: dict[str, int] = {}
        following: str | None = start
        while following is not None and following not in walked and following not in path:
            path[following] = len(path)
            following = links.get(following)
        if following in path:
            loops.update(one for one, at in path.items() if at >= path[following])
        walked.update(path)
    return loops


def _created(fact: dict[str, Any]) -> float:
    value = fact.get("createdAt")
    return value if isinstance(value, int | float) else 0.0
