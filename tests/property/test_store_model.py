"""A store against a small model of it: whatever is called, in whatever order, nothing is lost."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from sidecar.errors import (
    MemoryExists,
    MemoryNotFound,
    RunNotUndoable,
    SupersessionConflict,
)
from sidecar.model import MemoryInput
from tests.namespaces import DAY, recall, restore, settle, stop_automatic_runs, sweep
from tests.store_model import IDS, THRESHOLDS, WORDS, Known, ModelledStore, Run

ids = st.sampled_from(IDS)
contents = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
metadata = st.sampled_from([{}, {"a": 1}, {"깊이": [1.5, None, {"b": "🙂"}]}])
importance = st.sampled_from([None, 0.0, 0.1, 0.3, 0.9, 1.0])
embeddings = st.sampled_from([None, [1.0, 0.0], [0.1, -0.3]])


class StoreModel(ModelledStore, RuleBasedStateMachine):
    """The rules: every call in every order, time, and restarts."""

    @initialize()
    def start(self) -> None:
        self.begin()

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.end()

    # --- writing -------------------------------------------------------------------------

    @rule(
        memory_id=ids,
        content=contents,
        fields=metadata,
        value=importance,
        vector=embeddings,
        days=st.integers(0, 400),
        if_exists=st.sampled_from(["error", "replace", "skip"]),
    )
    def put(
        self,
        memory_id: str,
        content: str,
        fields: dict[str, Any],
        value: float | None,
        vector: list[float] | None,
        days: int,
        if_exists: str,
    ) -> None:
        new = Known(content, fields, vector, self.now - days * DAY, value)
        memory = MemoryInput(
            id=memory_id,
            content=content,
            metadata=fields,
            importance=value,
            embedding=vector,
            created_at=new.created_at,
        )
        call = self.namespace.put(memory=memory, if_exists=if_exists)
        old = self.known.get(memory_id)
        if old is not None and if_exists == "error":
            with pytest.raises(MemoryExists):
                self.run(call)
            return
        self.run(call)
        if old is None:
            self.known[memory_id] = new
        elif if_exists == "replace":
            self.replaced(memory_id, old, new)

    @rule(first=st.integers(0, len(IDS) - 4), value=importance, days=st.integers(50, 400))
    def put_many(self, first: int, value: float | None, days: int) -> None:
        created_at = self.now - days * DAY
        chosen = IDS[first : first + 4]
        memories = [
            MemoryInput(id=one, content=f"tea {one}", importance=value, created_at=created_at)
            for one in chosen
        ]
        call = self.namespace.put_many(memories=memories, if_exists="skip", partial=False)
        report = self.run(call)
        for one, result in zip(chosen, report.results, strict=True):
            assert result.result == ("skipped" if one in self.known else "created")
            self.known.setdefault(one, Known(f"tea {one}", {}, None, created_at, value))

    @rule(memory_id=ids, content=contents, value=importance)
    def update(self, memory_id: str, content: str, value: float | None) -> None:
        patch = MemoryInput(content=content, importance=value)
        call = self.namespace.update(id=memory_id, patch=patch, if_revision=None)
        old = self.known.get(memory_id)
        if old is None or old.tier == "forgotten":
            with pytest.raises(MemoryNotFound):
                self.run(call)
            return
        self.run(call)
        new = replace(old, content=content, importance=value)
        if value is not None and old.importance is None and value == 0.5:
            new = replace(new, importance=None)
        if new.payload != old.payload and old.tier == "cold":
            new = replace(new, tier="hot")
            self.moved_otherwise(memory_id)
        self.known[memory_id] = new

    @rule(memory_id=ids, pinned=st.booleans(), days=st.sampled_from([None, -1, 5]))
    def protect(self, memory_id: str, pinned: bool, days: int | None) -> None:
        until = None if days is None else self.now + days * DAY
        old = self.known.get(memory_id)
        if old is None or old.tier == "forgotten":
            with pytest.raises(MemoryNotFound):
                self.run(self.namespace.pin(id=memory_id, pinned=pinned))
            return
        self.run(self.namespace.pin(id=memory_id, pinned=pinned))
        self.run(self.namespace.hold(id=memory_id, until=until))
        self.known[memory_id] = replace(old, pinned=pinned, held_until=until)

    @rule(older=ids, newer=ids)
    def supersede(self, older: str, newer: str) -> None:
        call = self.namespace.supersede(id=older, by=newer)
        for named in (older, newer):
            if named not in self.known or self.known[named].tier == "forgotten":
                with pytest.raises(MemoryNotFound):
                    self.run(call)
                return
        if older == newer or older in self.chain_above(newer):
            if self.known[older].superseded_by == newer:
                self.run(call)
                return
            with pytest.raises(SupersessionConflict):
                self.run(call)
            return
        self.run(call)
        self.known[older] = replace(self.known[older], superseded_by=newer)

    @rule(chosen=st.lists(ids, min_size=1, max_size=4))
    def touch(self, chosen: list[str]) -> None:
        self.run(self.namespace.touch(ids=chosen))
        for one in set(chosen):
            if one in self.known and self.known[one].tier != "forgotten":
                self.known[one] = replace(self.known[one], recalls=self.known[one].recalls + 1)

    # --- recalling -----------------------------------------------------------------------

    @rule(word=st.sampled_from(WORDS), touch=st.sampled_from(["top", "all", "none"]))
    def recall(self, word: str, touch: str) -> None:
        async def call() -> list[str]:
            report = await recall(self.namespace, word, depth="deep", touch=touch)
            await settle(self.namespace)
            return [one.memory.id for one in report.results]

        hot = sum(one.tier == "hot" for one in self.known.values())
        found = self.run(call())
        expected = {
            memory_id
            for memory_id, one in self.known.items()
            if one.tier != "forgotten" and one.superseded_by is None and word in one.content
        }
        assert set(found) >= expected
        assert all(self.known[one].tier != "forgotten" for one in found)
        used = {"top": found[:3], "all": found, "none": []}[touch]
        for one in used:
            self.pending[one] = self.pending.get(one, 0) + 1
        room = max(0, int(THRESHOLDS["forgetThresholdCount"]) - hot)
        thawed = [one for one in used if self.known[one].tier == "cold"][:3][:room]
        for one in thawed:
            self.known[one] = replace(self.known[one], tier="hot")
            self.moved_otherwise(one)

    # --- runs ----------------------------------------------------------------------------

    @rule(mode=st.sampled_from(["normal", "strict"]), planned=st.booleans())
    def sweep(self, mode: str, planned: bool) -> None:
        if planned:
            plan = self.run(sweep(self.namespace, dry_run=True, mode=mode))
            report = self.run(sweep(self.namespace, plan_id=plan.plan_id))
            assert [one.id for one in report.decisions] == [one.id for one in plan.decisions]
        else:
            report = self.run(sweep(self.namespace, mode=mode))
        self.fold()
        self.carried_out(report)
        again = self.run(sweep(self.namespace, mode=mode))
        assert again.decisions == []

    @rule(goal=st.integers(0, 6))
    def spill(self, goal: int) -> None:
        report = self.run(self.namespace.cold_spill(dry_run=False, target=goal))
        self.fold()
        self.carried_out(report)
        hot = sum(one.tier == "hot" for one in self.known.values())
        pinned = sum(one.tier == "hot" and one.pinned for one in self.known.values())
        assert hot <= max(goal, pinned)

    @rule(chosen=st.lists(ids, min_size=1, max_size=3, unique=True))
    def forget(self, chosen: list[str]) -> None:
        report = self.run(self.namespace.forget(ids=chosen, reason="asked"))
        self.fold()
        moved: dict[str, tuple[str, str]] = {}
        for result in report.results:
            known = self.known.get(result.id)
            if known is None:
                assert result.result == "unknown"
            elif known.tier == "forgotten":
                assert result.result == "already_forgotten"
            elif known.pinned or (known.held_until or 0) > self.now:
                assert result.result == "protected"
            else:
                assert result.result == "forgotten"
                moved[result.id] = (known.tier, "forgotten")
                self.moved_otherwise(result.id)
                self.known[result.id] = replace(known, tier="forgotten")
        assert (report.run_id is not None) == bool(moved)
        if report.run_id is not None:
            self.runs[report.run_id] = Run(moved)

    @rule(chosen=st.lists(ids, min_size=1, max_size=4, unique=True))
    def restore(self, chosen: list[str]) -> None:
        report = self.run(restore(self.namespace, *chosen))
        self.fold()
        for result in report.results:
            known = self.known.get(result.id)
            if known is None:
                assert result.result == "unknown"
            elif known.tier != "forgotten":
                assert result.result == "already_here"
            else:
                superseded = known.superseded_by is not None
                assert result.result == ("superseded" if superseded else "restored")
                self.known[result.id] = replace(known, tier="hot", restored_at=self.now)
                self.moved_otherwise(result.id)

    @precondition(lambda self: bool(self.runs))
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(sorted(self.runs)))
        run = self.runs[run_id]
        if run.undone:
            with pytest.raises(RunNotUndoable):
                self.run(self.namespace.undo(run_id=run_id))
            self.fold()
            return
        self.run(self.namespace.undo(run_id=run_id))
        self.fold()
        run.undone = True
        for memory_id, (source, target) in run.moved.items():
            if memory_id in run.touched_since:
                continue
            known = self.known[memory_id]
            restored_at = self.now if target == "forgotten" else known.restored_at
            self.known[memory_id] = replace(known, tier=source, restored_at=restored_at)
            self.moved_otherwise(memory_id)

    # --- time and restarts ---------------------------------------------------------------

    @rule(days=st.sampled_from([0.001, 1, 8, 40]))
    def pass_time(self, days: float) -> None:
        self.now += round(days * DAY)
        self.world.clock.hold(self.now)

    @rule()
    def restart(self) -> None:
        async def again() -> Any:
            await self.world.restart()
            namespace = await self.world.open()
            await stop_automatic_runs(namespace)
            return namespace

        self.fold()
        self.namespace = self.run(again())
        self.check_whole()

    # --- what must always hold -----------------------------------------------------------

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "namespace"):
            self.check_tiers()


@pytest.mark.gate("STORE-40")
def test_a_store_agrees_with_its_model() -> None:
    run_state_machine_as_test(
        StoreModel,
        settings=settings(max_examples=40, stateful_step_count=30, deadline=None),
    )
