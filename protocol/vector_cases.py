"""The small stores of order.jsonl: each shows one rule of the cascade."""

from collections.abc import Iterator

import msgspec

from protocol.vector_store import DAY, NOW, Mode, StoredMemory, StoreSettings


class OrderCase(msgspec.Struct, rename="camel"):
    """One store, what a sweep is asked, and the rule that the case shows."""

    name: str
    why: str
    memories: list[StoredMemory]
    settings: StoreSettings
    policy: str = "balanced"
    mode: Mode = "normal"
    forgotten_in_window: int = 0
    now: int = NOW


def weak(id: str, days: int = 100, **fields: object) -> StoredMemory:
    """A memory that pressure may forget: importance 0.1, unused for 100 days or as many as said."""
    changed = {"importance": 0.1, "created_at": NOW - days * DAY, **fields}
    return StoredMemory(id=id, **changed)  # type: ignore[arg-type]


def over_total(keep: int, **fields: object) -> StoreSettings:
    """Settings under which a store of more than `keep` is swept down to exactly `keep`."""
    return StoreSettings(threshold_total=keep, low_watermark=1.0, **fields)  # type: ignore[arg-type]


def over_count(keep: int, **fields: object) -> StoreSettings:
    """Settings under which more than `keep` hot memories are spilled down to `keep`."""
    return StoreSettings(threshold_count=keep, low_watermark=1.0, **fields)  # type: ignore[arg-type]


def order_cases() -> Iterator[OrderCase]:
    """Every case, in a fixed order."""
    yield from _threshold_cases()
    yield from _class_cases()
    yield from _chain_cases()
    yield from _protection_cases()
    yield from _limit_cases()
    yield from _space_cases()


def _threshold_cases() -> Iterator[OrderCase]:
    five = [weak(f"m{n}", days=100 + n) for n in range(5)]
    yield OrderCase("at-the-threshold", "crossed is strictly greater", five, over_total(5))
    yield OrderCase("above-the-threshold", "one over: the oldest goes", five, over_total(4))
    yield OrderCase(
        "low-watermark",
        "down to floor(4 * 0.6) = 2",
        five,
        StoreSettings(threshold_total=4, low_watermark=0.6),
    )
    yield OrderCase(
        "threshold-one",
        "a store that may hold one memory keeps one",
        five,
        StoreSettings(threshold_count=1),
    )
    yield OrderCase("threshold-zero", "none may be hot", five, StoreSettings(threshold_count=0))
    yield OrderCase(
        "spill-and-forget",
        "what would be spilled and forgotten has one decision: forget",
        five,
        StoreSettings(threshold_count=2, threshold_total=3, low_watermark=1.0),
    )
    ties = [
        weak("b", days=50),
        weak("a", days=50),
        weak("B", days=50),
        weak("é", days=50),
        weak("각", days=50),
        weak("😀", days=50),
        weak("\uffee", days=50),
    ]
    yield OrderCase("ties-by-id", "equal in all else: ids by code point", ties, over_total(0))
    used = NOW - 50 * DAY
    recalled = [
        weak("later-made", days=60, last_recalled_at=used),
        weak("earlier-made", days=70, last_recalled_at=used),
        weak("never-recalled", days=50),
    ]
    yield OrderCase(
        "ties-by-creation",
        "equal last use: the older creation first",
        [msgspec.structs.replace(m, importance=0.0) for m in recalled],
        over_total(0),
    )


def _class_cases() -> Iterator[OrderCase]:
    classes = [
        weak("active", days=300),
        weak("archived", days=20, importance=0.2, status="archived"),
        weak("invalidated", days=30, status="invalidated"),
        weak("expired", days=40, expires_at=NOW),
        weak("not-yet-expired", days=290, expires_at=NOW + 1),
        weak("older", days=20, importance=1.0, status="superseded", superseded_by="newer"),
        weak("newer", days=19, importance=0.9),
    ]
    yield OrderCase("classes-spill", "classes before scores", classes, over_count(0))
    yield OrderCase("classes-forget", "classes before scores", classes, over_total(0))
    yield OrderCase(
        "archived-only",
        "forgetActive off: no believed memory goes",
        classes,
        over_total(0, forget_active=False),
    )
    policies = [
        StoredMemory("worth-more", importance=0.4, created_at=NOW - 60 * DAY),
        StoredMemory("worth-less", importance=0.3, created_at=NOW - 50 * DAY),
        StoredMemory("recalled", importance=0.2, created_at=NOW - 70 * DAY, recall_count=9),
    ]
    for policy in ("classic", "balanced"):
        yield OrderCase(
            f"policy-{policy}",
            "balanced lets worth decide before age and use",
            policies,
            over_count(0),
            policy=policy,
        )


def _chain_cases() -> Iterator[OrderCase]:
    chain = [
        weak("c3", days=40),
        weak("c1", days=60, status="superseded", superseded_by="c2"),
        weak("c0", days=30, status="superseded", superseded_by="c1"),
        weak("c2", days=50, status="superseded", superseded_by="c3"),
    ]
    yield OrderCase("chain", "the deepest first; the head stays", chain, over_total(0))
    yield OrderCase("chain-spill", "the deepest first", chain, over_count(0))
    pinned = [msgspec.structs.replace(m, pinned=m.id == "c0") for m in chain]
    yield OrderCase(
        "chain-pinned", "a held version does not hold newer ones", pinned, over_total(0)
    )
    gone = [
        weak("p0", status="superseded", superseded_by="p1", pinned=True),
        weak(
            "p1", tier="forgotten", status="superseded", superseded_by="p2", forgotten_at=NOW - DAY
        ),
        weak("p2", days=50),
        weak("q1", tier="forgotten", status="superseded", superseded_by="q2", forgotten_at=NOW),
        weak("q2", days=50),
        weak(
            "r1",
            tier="forgotten",
            status="superseded",
            superseded_by="r2",
            forgotten_at=NOW - DAY - 1,
        ),
        weak("r2", days=50),
    ]
    yield OrderCase(
        "chain-through-forgotten",
        "a head stays while an older version is here, and a day after the last one left",
        gone,
        over_total(0),
    )
    broken = [
        weak("no-successor", importance=0.9, status="superseded"),
        weak("missing", importance=0.9, status="superseded", superseded_by="nobody"),
        weak("itself", importance=0.9, status="superseded", superseded_by="itself"),
        weak("one", importance=0.9, status="superseded", superseded_by="other"),
        weak("other", importance=0.9, status="superseded", superseded_by="one"),
        weak("into-the-loop", importance=0.9, status="superseded", superseded_by="one"),
        weak("of-a-wrong-one", importance=0.9, status="superseded", superseded_by="wrong"),
        weak("wrong", status="invalidated"),
        weak("of-a-gone-one", importance=0.9, status="superseded", superseded_by="gone"),
        weak("gone", tier="forgotten", forgotten_at=NOW - DAY),
        weak("weak-and-old"),
    ]
    yield OrderCase(
        "broken-chains",
        "where no newer version stands a memory is judged by its own worth",
        broken,
        over_total(0),
    )


def _protection_cases() -> Iterator[OrderCase]:
    protected = [
        weak("pinned", pinned=True),
        weak("held", held_until=NOW + 1),
        weak("held-until-now", held_until=NOW),
        weak("evergreen", evergreen=True),
        weak("restored", restored_at=NOW - 30 * DAY + 1),
        weak("restored-long-ago", restored_at=NOW - 30 * DAY),
        weak("unscored", importance="NaN"),
        weak("seconds", created_at=1_750_000_000),
        weak("future", created_at=NOW + DAY + 1),
        StoredMemory("newborn", importance=0.0, created_at=NOW - DAY + 1, status="archived"),
        StoredMemory("a-day-old", importance=0.0, created_at=NOW - DAY, status="archived"),
        weak("just-used", importance=0.0, last_recalled_at=NOW - 7 * DAY + 1),
        weak("idle", importance=0.0, last_recalled_at=NOW - 7 * DAY),
    ]
    yield OrderCase("protections", "each kind, at its boundary", protected, over_total(0))
    yield OrderCase(
        "protections-strict",
        "strict goes on to stronger ones; protections hold",
        [*protected, StoredMemory("strong", importance=1.0, created_at=NOW - 8 * DAY)],
        over_total(0),
        mode="strict",
    )
    yield OrderCase(
        "spilled-last",
        "newborn, restored and unscored ones last, pinned ones never",
        protected,
        over_count(0),
    )
    yield OrderCase(
        "passed-over",
        "only protected ones that would have gone are counted",
        [weak("a", days=300, pinned=True), weak("b", days=200), weak("c", pinned=True), weak("d")],
        over_total(3),
    )


def _limit_cases() -> Iterator[OrderCase]:
    hundred = [weak(f"m{n:03}", days=100 + n) for n in range(100)]
    yield OrderCase("brake", "at most a fifth of a hundred", hundred, over_total(50))
    yield OrderCase(
        "brake-window",
        "what went in the last day counts: floor(0.2 * 108) - 8 = 13",
        hundred,
        over_total(50),
        forgotten_in_window=8,
    )
    yield OrderCase(
        "brake-at-least-ten",
        "ten may always go",
        hundred,
        over_total(50, brake_share=0.01),
    )
    yield OrderCase("brake-off", "no brake below a hundred", hundred[:99], over_total(50))
    strong = [weak("weak", days=100), *(StoredMemory(f"s{n}", importance=1.0) for n in range(4))]
    yield OrderCase("shortfall", "never starts on stronger ones", strong, over_total(2))
    yield OrderCase("strict", "goes on up the score order", strong, over_total(2), mode="strict")


def _space_cases() -> Iterator[OrderCase]:
    four = [weak(f"m{n}", days=200 - n, tier="cold", bytes=1_000) for n in range(4)]
    yield OrderCase("disk-at", "exactly full is not over", four, _disk(4_000))
    yield OrderCase("disk-over", "one byte over: one goes", four, _disk(3_999))
    hot = [weak(f"h{n}", days=200 - n) for n in range(4)]
    yield OrderCase(
        "disk-after-spill",
        "what spilling saves is counted before forgetting begins",
        hot,
        StoreSettings(threshold_count=1, threshold_disk_bytes=2_200, low_watermark=1.0),
    )
    shared = [
        weak("first", days=200, tier="cold", media_ref="both.png", media_bytes=9_000),
        weak("plain", days=150, tier="cold"),
        weak("second", days=100, tier="cold", media_ref="both.png", media_bytes=9_000),
        weak("last", days=90, tier="cold"),
    ]
    yield OrderCase("shared-media", "a file is freed with its last owner", shared, _disk(5_000))


def _disk(threshold_bytes: int) -> StoreSettings:
    return StoreSettings(threshold_disk_bytes=threshold_bytes, low_watermark=1.0)
