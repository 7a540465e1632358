"""A store with everything in it: each status, tier, count and odd value, made by real calls."""

import random
from itertools import pairwise
from typing import Any

from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from tests.namespaces import DAY, NOW, World, ids_in, memory, vector

SIGNALS = ("useful", "shown", "unhelpful", "harmful", "success", "failure", "regret")
REASONS = ("obsolete", "superseded", "conflicted", "incorrect", "duplicate", "forgotten", "manual")
TEXTS = (
    "tea",
    "커피를 두 잔",
    "line\nbreak\u2028end",
    "\x01\x1f",
    "👩‍👩‍👧",
    '"quoted"\\',
    "ß" * 40,
)
NUMBERS = (0, 1, -1, 1.0, -0.0, 1e22, 5e-324, 0.1, 1.7976931348623157e308, 2**53 - 1)


def some_json(generator: random.Random, depth: int = 0) -> Any:
    """A value that JSON can hold, with the numbers and texts that often go wrong."""
    kind = generator.randrange(6 if depth < 3 else 4)
    if kind == 0:
        return generator.choice(NUMBERS)
    if kind == 1:
        return generator.choice((None, True, False))
    if kind < 4:
        return generator.choice(TEXTS)
    if kind == 4:
        return [some_json(generator, depth + 1) for _ in range(generator.randrange(3))]
    return {
        generator.choice(TEXTS) + str(n): some_json(generator, depth + 1)
        for n in range(generator.randrange(3))
    }


def some_memory(generator: random.Random, memory_id: str) -> MemoryInput:
    """A memory with any of its fields."""
    given: dict[str, Any] = {
        "content": f"{generator.choice(TEXTS)} {memory_id}",
        "memory_type": generator.choice(("semantic", "episodic", "procedural")),
        "importance": generator.choice((None, 0, 1, 0.1, generator.random())),
        "updated_at": NOW - generator.randrange(DAY),
        "last_recalled_at": generator.choice((None, NOW - DAY)),
        "valid_from": generator.choice((None, NOW)),
        "expires_at": generator.choice((None, NOW - 1, NOW + DAY)),
        "held_until": generator.choice((None, NOW + DAY)),
        "recall_count": generator.choice((0, 3, 2**53 - 1)),
        "success_count": generator.randrange(3),
        "usefulness_score": generator.choice(NUMBERS[:8]),
        "pinned": generator.random() < 0.1,
        "evergreen": generator.random() < 0.1,
        "media_ref": generator.choice((None, "a/b.png")),
        "metadata": {"any": some_json(generator)},
    }
    if generator.random() < 0.5:
        given["embedding"] = vector(generator)
        given["embedding_model"] = generator.choice((None, "small"))
    return memory(memory_id, generator.uniform(0, 400), **given)


async def fill_busily(world: World, namespace: Namespace, seed: int, count: int = 60) -> None:
    """Make `count` memories and do to them all that can be done."""
    generator = random.Random(seed)
    ids = [f"{generator.choice(TEXTS)[:9].strip()}-{number}" for number in range(count)]
    made = [some_memory(generator, one) for one in ids]
    await namespace.put_many(memories=made, if_exists="error", partial=False)
    odd = {"content": "odd", "importance": 7, "createdAt": 5, "unknown": some_json(generator)}
    await namespace.import_many(
        memories=[{"id": f"odd-{n}", **odd} for n in range(3)],
        if_exists="error",
        skip_bad=False,
        source=None,
    )
    for older, newer in pairwise(ids[:9]):
        await namespace.supersede(id=older, by=newer)
    for memory_id in generator.sample(ids, 15):
        world.pass_time(1)
        await namespace.feedback(id=memory_id, signal=generator.choice(SIGNALS))  # type: ignore[arg-type]
    for memory_id in generator.sample(ids, 12):
        await namespace.invalidate(id=memory_id, reason=generator.choice(REASONS))  # type: ignore[arg-type]
    await namespace.touch(ids=generator.sample(ids, 5))
    await namespace.forget(ids=generator.sample(ids, 12), reason="the test")
    await namespace.cold_spill(dry_run=False, target=count // 3)
    await namespace.forget(ids=ids_in(namespace, "cold")[:5], reason="the test")
    world.pass_time(1)
    await namespace.restore(ids=ids_in(namespace, "forgotten")[::3], run_id=None, reason=None)
    for memory_id in ids_in(namespace, "forgotten")[:2]:
        await namespace.invalidate(id=memory_id, reason="incorrect")
        await namespace.feedback(id=memory_id, signal="regret")
    for memory_id in ids_in(namespace, "cold")[:2]:
        await namespace.update(
            id=memory_id, patch=MemoryInput(metadata={"new": 1}), if_revision=None
        )
