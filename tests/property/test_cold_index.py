"""Whatever happens to memories and to the index, a deep recall answers what is true."""

import asyncio
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.namespace import Namespace
from sidecar.store import cold_index
from tests.cold_memories import (
    cold_folder,
    direction,
    entries,
    found,
    index_files,
    made,
    plain_cosines,
    plain_scores,
    settled,
    words,
)
from tests.namespaces import World, a_world, fill, ids_in, memory, put, restore

COUNT = 24
STEPS = (
    "spill",
    "update",
    "replace",
    "touch",
    "forget",
    "restore",
    "undo",
    "put",
    "lose",
    "restart",
)


async def step(world: World, namespace: Namespace, kind: str, rng: random.Random) -> Namespace:
    """One thing that may happen to a namespace with cold memories."""
    live = ids_in(namespace, "hot") + ids_in(namespace, "cold")
    some = rng.sample(live, min(len(live), rng.randint(1, 6)))
    match kind:
        case "spill":
            await namespace.cold_spill(dry_run=False, target=rng.randint(0, COUNT // 2))
        case "update" | "replace" if some:
            changed = memory(some[0], content=words(rng), embedding=direction(rng))
            if kind == "update":
                await namespace.update(id=some[0], patch=changed, if_revision=None)
            else:
                await namespace.put(memory=changed, if_exists="replace")
        case "touch":
            await namespace.touch(ids=some)
        case "forget":
            await namespace.forget(ids=some, reason="called")
        case "restore":
            gone = ids_in(namespace, "forgotten")
            if gone:
                await restore(namespace, *gone[:4])
        case "undo":
            runs = await namespace.runs(limit=1, cursor=None)
            if runs.runs and runs.runs[0].undone_by is None and runs.runs[0].kind == "spill":
                await namespace.undo(run_id=runs.runs[0].run_id)
        case "put":
            await put(namespace, made(rng, f"n{rng.randrange(2**40)}"))
        case "lose":
            lost = index_files(cold_folder(world))
            for path in lost[: rng.randint(1, 3)]:
                path.unlink()
        case "restart":
            await world.restart()
            return await world.open()
        case _:
            pass
    return namespace


async def check(namespace: Namespace, rng: random.Random) -> None:
    """Every memory that a deep recall must answer, with the scores that it must have."""
    text, asked, model = words(rng, 5), direction(rng), rng.choice(["m", "other", None])
    by_vector = await found(namespace, embedding=asked, embedding_model=model)
    cosines = plain_cosines(namespace, asked, model)
    assert {one: score for one, (_, score) in by_vector.items()} == pytest.approx(cosines, abs=1e-6)
    # Words that were indexed and have left since still count in rarities, until the index follows.
    cold = set(ids_in(namespace, "cold"))
    complete = cold != set() and await entries(namespace) == (cold, len(cold))
    by_text = {one: score for one, (score, _) in (await found(namespace, text)).items()}
    scores = plain_scores(namespace, text)
    assert by_text.keys() == scores.keys()
    if complete:
        assert by_text == pytest.approx(scores, abs=1e-9)


async def live(folder: Path, steps: list[str], followed: bool, seed: int) -> None:
    """Let steps happen, with the index following at once or hardly ever, and check in between."""
    rng = random.Random(seed)
    async with a_world(folder) as world:
        namespace = await world.open(automatic=False)
        await fill(namespace, [made(rng, f"m{number}") for number in range(COUNT)])
        await namespace.cold_spill(dry_run=False, target=COUNT // 4)
        for number, kind in enumerate(steps):
            if followed or rng.random() < 0.3:
                await settled(namespace)
            namespace = await step(world, namespace, kind, rng)
            if number % 3 == 2:
                await check(namespace, rng)
        await check(namespace, rng)
        await settled(namespace)
        await check(namespace, rng)


@pytest.mark.gate("COLD-30")
@settings(max_examples=25)
@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=3, max_size=14),
    worth=st.sampled_from([0, 0, 0, 6]),
    followed=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_a_deep_recall_answers_what_a_plain_reading_of_all_memories_answers(
    steps: list[str], worth: int, followed: bool, seed: int
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="cold-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cold_index, "SCANNED_GLADLY_MAX", worth)
        try:
            asyncio.run(live(folder, steps, followed, seed))
        finally:
            shutil.rmtree(folder)
