"""Breakages of what is chosen and carried out: the promises P1 to P5."""

from typing import Final

from tests.sabotage_case import Sabotage

SEGMENTS = "tests/unit/test_segments.py"
STRENGTH = "tests/unit/test_strength.py"
PROTECTION = "tests/unit/test_cascade_protection.py"
PLANS = "tests/integration/test_namespace_plans.py"
BRAKE = "tests/integration/test_namespace_brake.py"
MOVES = "tests/integration/test_namespace_moves.py"
RESTORE = "tests/integration/test_namespace_restore.py"
GC = "tests/integration/test_gc.py"
MEDIA = "tests/integration/test_namespace_media.py"
MEDIA_FILES = "tests/unit/test_media_files.py"
CYCLES = "tests/integration/test_cycle_runs.py"
CYCLE = "tests/unit/test_cycle_reasons.py"
LIFECYCLE = "tests/unit/test_lifecycle_plan.py"

FORGETTING: Final = (
    Sabotage(
        "P1",
        "a file that comes back replaces what lies in its place",
        "sidecar/store/media_files.py",
        "RENAME_NOREPLACE: Final = 1\n",
        "RENAME_NOREPLACE: Final = 0\n",
        f"{MEDIA_FILES}::test_nothing_is_replaced_on_the_way_back",
    ),
    Sabotage(
        "P1",
        "a shared file goes with the first of its owners",
        "sidecar/store/media_trash.py",
        "WHERE o.media_ref = m.media_ref AND o.tier < ?)",
        "WHERE o.media_ref = m.media_ref AND o.tier > ?)",
        f"{MEDIA}::test_a_shared_file_goes_with_the_last_of_its_owners",
    ),
    Sabotage(
        "P1",
        "a segment that is published replaces a file of its name",
        "sidecar/store/segments.py",
        "    os.link(temporary, final)\n",
        "    os.replace(temporary, final)\n    os.link(final, temporary)\n",
        f"{SEGMENTS}::test_publish_never_replaces_a_file",
    ),
    Sabotage(
        "P1",
        "start-up deletes every file of the archive folders",
        "sidecar/store/store.py",
        "if is_temporary(entry.name):",
        "if entry.name:",
        f"{MOVES}::test_what_is_spilled_and_thawed_comes_back_byte_for_byte",
    ),
    Sabotage(
        "P1",
        "an undo brings everything to hot, wherever it was",
        "sidecar/apply/restore.py",
        'row.tier, int(decision["from_tier"])))',
        "row.tier, HOT))",
        f"{RESTORE}::test_an_undo_brings_all_back_to_where_it_was_and_pauses",
    ),
    Sabotage(
        "P1",
        "the main socket destroys",
        "sidecar/rpc/dispatch.py",
        "if method.admin and not (is_admin or serves_admin()):",
        "if method.admin and serves_admin() is None:",
        "tests/integration/test_gc_daemon.py"
        "::test_the_main_socket_refuses_to_destroy_and_says_where_to_go",
    ),
    Sabotage(
        "P1",
        "a token can be used twice",
        "sidecar/gc_tokens.py",
        "        plan.used = True\n",
        "",
        "tests/unit/test_gc_tokens.py::test_a_token_is_used_once",
    ),
    Sabotage(
        "P1",
        "what changed since it was planned is destroyed all the same",
        "sidecar/apply/destroy.py",
        ' and mark_of(row) == decision["mark"]',
        "",
        f"{GC}::test_what_changed_since_the_plan_is_left_and_named",
    ),
    Sabotage(
        "P1",
        "held memories are destroyed",
        "sidecar/gc_choice.py",
        '    if (row.held_until or 0) > now:\n        return "held"\n',
        "",
        f"{GC}::test_held_memories_are_refused_by_name",
    ),
    Sabotage(
        "P1",
        "the standing order does not wait where automatic runs do",
        "sidecar/namespace_gc.py",
        "held_back = not self.book.values.forget_enabled or bool(self.book.paused)",
        "held_back = False",
        "tests/integration/test_gc_registry.py"
        "::test_the_standing_order_waits_where_automatic_runs_do",
    ),
    Sabotage(
        "P2",
        "a record that changed since the plan is moved all the same",
        "sidecar/apply/checks.py",
        'row.change_counter != decision["counter"] or ',
        "",
        f"{PLANS}::test_what_changed_since_the_plan_is_skipped_by_name",
    ),
    Sabotage(
        "P2",
        "a simulation forgets when a cycle faded a memory",
        "sidecar/plan/simulated_store.py",
        "        faded_at[faded] = plan.now\n",
        "",
        "tests/integration/test_namespace_simulate.py::test_cycles_of_the_timer_are_part_of_both",
    ),
    Sabotage(
        "P2",
        "applying a plan plans anew",
        "sidecar/sweeping.py",
        "return self._carry_out(shelved.plan, shelved.settings, shelved, request, started, key)",
        "return self._carry_out(*self._plan(request), shelved, request, started, key)",
        f"{BRAKE}::test_a_call_may_name_its_own_share_and_a_plan_keeps_the_one_it_was_made_with",
    ),
    Sabotage(
        "P2",
        "a plan can be used twice",
        "sidecar/plan_shelf.py",
        "        shelved.used = True\n",
        "",
        f"{PLANS}::test_a_plan_is_used_once",
    ),
    Sabotage(
        "P3",
        "computing a strength writes the value 0 back into the importance",
        "sidecar/strength.py",
        "value = columns.importance.copy()",
        "value = columns.importance",
        f"{STRENGTH}::test_superseded_counts_as_worth_nothing_and_keeps_its_importance",
    ),
    Sabotage(
        "P3",
        "a head whose last older version has just gone is taken by the next sweep",
        "sidecar/plan/guards.py",
        "(chains.has_predecessor | lately_alone)",
        "chains.has_predecessor",
        f"{PROTECTION}::test_a_head_stays_for_a_day_after_its_last_older_version_went",
    ),
    Sabotage(
        "P3",
        "a memory whose successor is gone is shown as worth nothing",
        "sidecar/store/links.py",
        "return row.status == SUPERSEDED and newer_stands(connection, row.id)",
        "return row.status == SUPERSEDED",
        "tests/integration/test_namespace_explain.py"
        "::test_one_strength_is_shown_explained_and_planned_with",
    ),
    Sabotage(
        "P4",
        "an unscored memory is not protected",
        "sidecar/plan/guards.py",
        '"unscored": ~scored,',
        '"unscored": scored & ~scored,',
        f"{PROTECTION}::test_a_protected_memory_is_never_forgotten",
    ),
    Sabotage(
        "P4",
        "NaN counts as a possible importance",
        "sidecar/strength.py",
        '"importance": (columns.importance >= 0.0) & (columns.importance <= 1.0),',
        '"importance": ~((columns.importance < 0.0) | (columns.importance > 1.0)),',
        f"{STRENGTH}::test_an_impossible_value_makes_a_memory_unscored",
    ),
    Sabotage(
        "P5",
        "a hold protects after its end instead of before it",
        "sidecar/plan/guards.py",
        '"held": snapshot.held_until > now,',
        '"held": snapshot.held_until < now,',
        f"{PROTECTION}::test_a_protected_memory_is_never_forgotten",
    ),
    Sabotage(
        "P5",
        "protection is not looked at again when a memory is moved",
        "sidecar/apply/checks.py",
        "return MOVED if kept is None else OUTCOME_CODE[kept]",
        "return MOVED",
        f"{MOVES}::test_what_protects_at_apply_protects_although_the_plan_said_otherwise",
    ),
    Sabotage(
        "P5",
        "each run has a brake of its own",
        "sidecar/plan/stages.py",
        "max(0, max(BRAKE_MEMORIES_MIN, share) - forgotten_in_window)",
        "max(BRAKE_MEMORIES_MIN, share)",
        f"{BRAKE}::test_ten_runs_in_a_day_forget_no_more_than_one_may",
    ),
    Sabotage(
        "P5",
        "the brake does not count what was destroyed",
        "sidecar/apply/brake.py",
        "taken.difference_update(rid for (rid,) in found.fetchall())",
        'found = connection.execute("SELECT rid FROM memories WHERE moved_run = ?", (run_id,))\n'
        "        taken.intersection_update(rid for (rid,) in found.fetchall())",
        f"{BRAKE}::test_what_was_destroyed_counts_for_the_rest_of_its_day",
    ),
    Sabotage(
        "P5",
        "a cycle prunes what is pinned",
        "sidecar/plan/cycle.py",
        "    draft.action[rows] = KEPT\n    draft.skipped[rows] = first",
        "    draft.skipped[rows] = first",
        f"{CYCLE}::test_protection_stops_every_reason_and_says_so",
    ),
    Sabotage(
        "P4",
        "a cycle says nothing of an unscored memory",
        "sidecar/plan/cycle.py",
        '    draft.keep(~view.scored, "unscored")\n',
        "",
        f"{CYCLE}::test_what_is_unscored_is_kept_and_said_so",
    ),
    Sabotage(
        "P2",
        "a duplicate goes though its survivor is not what it was compared with",
        "sidecar/apply/moves.py",
        "            if not survivor_stands(tx.connection, chunk.details[number]):\n",
        "            if row is None:\n",
        f"{CYCLES}::test_a_duplicate_stays_where_its_survivor_is_not_what_it_was",
    ),
    Sabotage(
        "P1",
        "undoing a cycle leaves its fades",
        "sidecar/apply/restore.py",
        '    if reason != "undone":\n        done &=',
        "    if reason:\n        done &=",
        f"{CYCLES}::test_an_undo_takes_fades_and_prunes_back_but_not_what_was_changed_since",
    ),
    Sabotage(
        "P3",
        "a fade lowers what it has lowered, again and again",
        "sidecar/plan/cycle.py",
        "    since = view.now - np.maximum(view.last_use, view.snapshot.faded_at)\n",
        "    since = view.now - view.last_use\n",
        f"{CYCLES}::test_a_cycle_does_what_its_dry_run_said_and_nothing_twice",
    ),
    Sabotage(
        "P5",
        "active forgetting archives what is pinned, held or restored",
        "sidecar/plan/lifecycle.py",
        "free = np.flatnonzero(bits == 0)",
        "spared[:], free = NOTHING, np.arange(len(rows))",
        f"{LIFECYCLE}::test_each_protection_keeps_a_candidate_and_names_itself",
    ),
    Sabotage(
        "P4",
        "active forgetting believes a usefulness that is no number",
        "sidecar/plan/lifecycle.py",
        "known=view.scored & _possible(usefulness, view.now),",
        "known=view.scored,",
        f"{LIFECYCLE}::test_what_cannot_be_is_kept_and_counted",
    ),
    Sabotage(
        "P1",
        "an undo believes again what somebody held wrong since",
        "sidecar/apply/lift.py",
        "    return row.status == ARCHIVED and reason is InvalidationReason.FORGOTTEN",
        "    return row.status > 0 or reason is InvalidationReason.FORGOTTEN",
        "tests/integration/test_lifecycle_restore.py"
        "::test_a_claim_that_is_held_wrong_is_reopened_by_nothing",
    ),
)
