"""Where the next page of runs, decisions, items of a review or proposals starts."""

import base64
import binascii
import json
from typing import Any

from sidecar.errors import InvalidParams
from sidecar.limits import INTEGER_MAX
from sidecar.reports import DecisionPage


def decision_page(page: list[Any], start: int, total: int) -> DecisionPage:
    """The decisions from `start` on, of `total`."""
    end = start + len(page)
    return DecisionPage(decisions=page, cursor=cursor_of(end) if end < total else None, total=total)


def cursor_of(value: Any) -> str:
    """A cursor that holds a value; opaque to callers."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


def _read_cursor(cursor: str) -> Any:
    try:
        return json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, ValueError):
        return None


def _may_be_a_place(value: Any) -> bool:
    """Whether it is a number that a page can have given: no bool, and none too large to ask for."""
    return type(value) is int and 0 <= value <= INTEGER_MAX


def offset_of_cursor(cursor: str | None) -> int:
    """Where a page of decisions starts. Raises InvalidParams."""
    value = 0 if cursor is None else _read_cursor(cursor)
    if not _may_be_a_place(value):
        raise _bad_cursor()
    return int(value)


def run_of_cursor(cursor: str | None) -> tuple[int, str] | None:
    """Before which run a page of runs starts. Raises InvalidParams."""
    if cursor is None:
        return None
    match _read_cursor(cursor):
        case [int(at), str(run_id)] if _may_be_a_place(at):
            return at, run_id
        case _:
            raise _bad_cursor()


def archived_of_cursor(cursor: str | None) -> tuple[int, int] | None:
    """Before which (time, row number) a page of archived memories starts. Raises InvalidParams."""
    if cursor is None:
        return None
    match _read_cursor(cursor):
        case [int(at), int(rid)] if _may_be_a_place(at) and _may_be_a_place(rid):
            return at, rid
        case _:
            raise _bad_cursor()


def review_place_of_cursor(cursor: str | None) -> list[Any] | None:
    """Beyond which item a page of a review starts. Raises InvalidParams."""
    if cursor is None:
        return None
    match _read_cursor(cursor):
        case [0, str()] | [1, str(), str()] | [2 | 3, int()] as place:
            return list(place)
        case _:
            raise _bad_cursor()


def _bad_cursor() -> InvalidParams:
    return InvalidParams(
        "$.cursor is not one that the page before gave",
        field="$.cursor",
        bound="the cursor of the page before",
        remedy="start again without a cursor",
    )
