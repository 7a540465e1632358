"""Whatever was done to a store: what it exports makes another store of the same state."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.busy_store import fill_busily
from tests.exports import lines_of, pages_of, take_back
from tests.namespaces import a_world, check_columns, counted, payloads, state_hash


@pytest.mark.gate("EXP-01")
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), limit=st.integers(1, 70), chunk=st.integers(1, 70))
def test_export_and_import_give_the_same_state(seed: int, limit: int, chunk: int) -> None:
    asyncio.run(there_and_again(seed, limit, chunk))


async def there_and_again(seed: int, limit: int, chunk: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with a_world(Path(folder)) as world:
            source = await world.open("source", automatic=False)
            await fill_busily(world, source, seed)
            pages = await pages_of(source, limit=limit)
            lines = lines_of(pages)
            assert pages[-1].state_hash == state_hash(source)
            world.pass_time(1_000)
            target = await world.open("target", automatic=False)
            report = await take_back(target, lines, chunk=chunk)
            assert (report.created, report.failed) == (len(lines), 0)
            assert state_hash(target) == state_hash(source)
            assert payloads(target) == payloads(source)
            assert counted(target)[2] == counted(source)[2]
            check_columns(target)
            for if_exists in ("skip", "replace"):
                again = await take_back(target, lines, if_exists, chunk=chunk)
                assert (again.skipped, again.created, again.replaced) == (len(lines), 0, 0)
            assert state_hash(target) == state_hash(source)
            await world.restart()
            target = await world.open("target", automatic=False)
            assert state_hash(target) == pages[-1].state_hash
            check_columns(target)
            assert lines_of(await pages_of(target)) == [
                {**line, "tier": line["tier"].replace("cold", "hot")} | placed(line)
                for line in lines
            ]


def placed(line: dict[str, object]) -> dict[str, object]:
    """Of a memory that is here, how it got to its place is not taken over."""
    return {} if line["tier"] == "forgotten" else {"tierLeft": None, "movedReason": None}
