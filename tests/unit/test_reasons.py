"""Reasons to stop believing a memory, as they are stored and read."""

from typing import get_args

import pytest

from sidecar.model import ARCHIVED, INVALIDATED, SUPERSEDED
from sidecar.reasons import InvalidationReason, ReasonName


@pytest.mark.gate("SIG-01")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("obsolete", "obsolete"),
        ("Superseded", "superseded"),
        (" CONFLICTED ", "conflicted"),
        ("forgotten", "forgotten"),
        ("forgotten/archived", "forgotten"),
        ("Archived", "forgotten"),
        ("the user said so", "manual"),
        ("", "manual"),
        (None, "manual"),
    ],
)
def test_a_stored_text_is_read_whatever_its_case(text: str | None, reason: str) -> None:
    assert InvalidationReason.from_db(text) == reason


@pytest.mark.gate("SIG-01")
def test_every_reason_has_its_status_and_a_name_on_the_wire() -> None:
    assert set(get_args(ReasonName)) == {reason.value for reason in InvalidationReason}
    statuses = {reason.value: reason.status for reason in InvalidationReason}
    assert statuses == dict.fromkeys(statuses, ARCHIVED) | {
        "superseded": SUPERSEDED,
        "incorrect": INVALIDATED,
        "conflicted": INVALIDATED,
    }
