"""The breakages: each a line of the daemon, what to put in its place, and the test that sees it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Sabotage:
    """One way to break a promise. `old` stands exactly once in `file`; `test` is a node id."""

    promise: str
    what: str
    file: str
    old: str
    new: str
    test: str


SEGMENTS = "tests/unit/test_segments.py"
STRENGTH = "tests/unit/test_strength.py"
PROTECTION = "tests/unit/test_cascade_protection.py"
THRESHOLDS = "tests/unit/test_cascade_thresholds.py"
PLANS = "tests/integration/test_namespace_plans.py"
BRAKE = "tests/integration/test_namespace_brake.py"
MOVES = "tests/integration/test_namespace_moves.py"
KEYED = "tests/crash/test_keyed_writes.py"
RESTORE = "tests/integration/test_namespace_restore.py"
DETECTOR = "tests/integration/test_namespace_detector.py"
REGISTRY = "tests/integration/test_namespace_registry.py"
GC = "tests/integration/test_gc.py"
ERASURE = "tests/integration/test_erasure.py"
POWER = "tests/crash/test_power_loss.py"
MEDIA = "tests/integration/test_namespace_media.py"
MEDIA_FILES = "tests/unit/test_media_files.py"

CYCLE = "tests/unit/test_cycle_reasons.py"

SABOTAGES: Final = (
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
        "if method.admin and not serves_admin():",
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
        "scored = (columns.importance >= 0.0) & (columns.importance <= 1.0)",
        "scored = ~((columns.importance < 0.0) | (columns.importance > 1.0))",
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
        "P6",
        "commits are not synced",
        "sidecar/store/sqlite/connection.py",
        "PRAGMA synchronous = {Durability.synchronous}",
        "PRAGMA synchronous = NORMAL",
        f"{POWER}::test_power_loss_takes_nothing_that_was_answered",
    ),
    Sabotage(
        "P6",
        "a segment is published before its bytes are on disk",
        "sidecar/store/segment_writer.py",
        "        os.fsync(self._descriptor)\n",
        "",
        f"{POWER}::test_power_loss_takes_nothing_that_was_answered",
    ),
    Sabotage(
        "P6",
        "a segment's name is not made durable",
        "sidecar/store/segments.py",
        "    fsync_directory(final.parent)\n",
        "",
        f"{POWER}::test_power_loss_takes_nothing_that_was_answered",
    ),
    Sabotage(
        "P6",
        "a start does not finish the run that a kill cut short",
        "sidecar/namespace.py",
        "self.runner.finish_interrupted()",
        "self.runner.stopping.is_set()",
        "tests/crash/test_interrupted_run.py"
        "::test_a_run_cut_at_a_seam_is_finished_at_the_next_start",
    ),
    Sabotage(
        "P6",
        "the key of a run is not kept with its beginning",
        "sidecar/apply/runner.py",
        "                replies.claim(tx, key, now, header.run_id)\n",
        "                pass\n",
        f"{KEYED}::test_a_run_cut_at_a_seam_answers_its_key_with_the_whole_report",
    ),
    Sabotage(
        "P6",
        "the reply of a keyed write is not kept",
        "sidecar/store/replies.py",
        "    _put(tx, key, now, None, reply.decode())\n",
        "    pass\n",
        f"{KEYED}::test_killed_before_any_step_each_call_sent_again_is_done_once",
    ),
    Sabotage(
        "P7",
        "a touch leaves no event",
        "sidecar/store/records.py",
        '        events.append(tx.connection, now, "memory.touched", row.id, payload)\n',
        "",
        f"{DETECTOR}::test_while_forgetting_is_off_nothing_moves_whatever_is_crossed",
    ),
    Sabotage(
        "P7",
        "a move's event does not say when the memory was forgotten",
        "sidecar/apply/moves.py",
        'times = f\', "forgotten_at": {now}\' if tier == FORGOTTEN else ""',
        'times = ""',
        f"{MOVES}::test_no_memory_is_lost_or_doubled_over_many_runs",
    ),
    Sabotage(
        "P7",
        "folding drops what the log said of destroyed memories",
        "sidecar/store/event_log.py",
        '" FROM events WHERE seq <= ? AND kind = ? ORDER BY seq"',
        '" FROM events WHERE seq <= ? AND kind = ? AND 0"',
        f"{ERASURE}::test_the_log_replays_to_the_same_state_also_when_it_was_folded",
    ),
    Sabotage(
        "P8",
        "the command's recall touches",
        "sidecar/cli/recall.py",
        '"touch": "none"',
        '"touch": "top"',
        "tests/unit/test_cli_commands.py::test_recall_never_touches",
    ),
    Sabotage(
        "P8",
        "a dry run writes the touches that wait",
        "sidecar/sweeping.py",
        "        started = time.monotonic()\n        plan, settings = self._plan(request)\n"
        "        shelved =",
        "        started = time.monotonic()\n        self._fold()\n"
        "        plan, settings = self._plan(request)\n        shelved =",
        f"{PLANS}::test_a_dry_run_leaves_every_file_as_it_was",
    ),
    Sabotage(
        "P9",
        "a shared file is freed with its first owner",
        "sidecar/plan/space.py",
        "whole = np.flatnonzero((leaving == self.owners) & (self.owners > 0))",
        "whole = np.flatnonzero(leaving > 0)",
        f"{THRESHOLDS}::test_a_file_with_an_owner_that_stays_is_not_freed",
    ),
    Sabotage(
        "P9",
        "a run without progress waits no longer the next time",
        "sidecar/automatic.py",
        "max(BACKOFF_FIRST_MS, self.wait_ms * 2)",
        "BACKOFF_FIRST_MS",
        f"{DETECTOR}::test_a_sweep_that_cannot_reach_its_watermark_backs_off_and_says_so",
    ),
    Sabotage(
        "P10",
        "a name may lead out of the folder of namespaces",
        "sidecar/registry.py",
        "    if not NAMESPACE_NAME.fullmatch(name):\n",
        "    if not name:\n",
        f"{REGISTRY}::test_a_bad_name_is_refused_and_leaves_nothing_behind",
    ),
    Sabotage(
        "P10",
        "names that differ in letter case only are two namespaces",
        "sidecar/registry.py",
        "if other.casefold() == name.casefold():",
        "if other == name:",
        f"{REGISTRY}::test_names_that_differ_by_letter_case_only_are_one_too_many",
    ),
    Sabotage(
        "P10",
        "all namespaces keep their plans on one shelf",
        "sidecar/plan_shelf.py",
        "    def __init__(self) -> None:\n"
        "        self._plans: OrderedDict[str, ShelvedPlan] = OrderedDict()\n",
        "    def __init__(self, plans: OrderedDict[str, ShelvedPlan] = OrderedDict()) -> None:\n"
        "        self._plans = plans\n",
        f"{REGISTRY}::test_nothing_of_one_namespace_is_seen_from_another",
    ),
    Sabotage(
        "P11",
        "getMany answers what was forgotten",
        "sidecar/namespace_reads.py",
        "                if row is None or row.tier == FORGOTTEN\n",
        "                if row is None\n",
        f"{MOVES}::test_what_is_forgotten_and_restored_comes_back_byte_for_byte",
    ),
    Sabotage(
        "P11",
        "a put without ifExists takes a forgotten id as new",
        "sidecar/store/records.py",
        '        if if_exists == "error":\n',
        '        if if_exists == "error" and existing.tier != FORGOTTEN:\n',
        f"{RESTORE}::test_a_forgotten_id_still_exists_and_a_replacement_brings_it_back",
    ),
    Sabotage(
        "P11",
        "a destroyed id is taken as new",
        "sidecar/store/records.py",
        "            if not revive and memory.id is not None:\n",
        "            if not revive and memory.id is None:\n",
        f"{ERASURE}::test_a_destroyed_id_is_written_again_only_by_reviving",
    ),
    Sabotage(
        "P11",
        "a file from yesterday brings a destroyed memory back",
        "sidecar/store/adopt.py",
        "if row is None and tombstones.stands(self._connection, found.memory_id):",
        "if row is None and not found.memory_id:",
        f"{ERASURE}::test_a_file_from_yesterday_does_not_bring_a_destroyed_memory_back",
    ),
    Sabotage(
        "P11",
        "the text index keeps the words of erased memories",
        "sidecar/apply/destroy.py",
        "search_upkeep.merge(self._store.writer, self._stopping)",
        "self._stopping.is_set()",
        f"{ERASURE}::test_an_erased_memory_is_found_nowhere_whatever_its_tier",
    ),
    Sabotage(
        "P11",
        "earlier wordings in archive files are not looked for",
        "sidecar/apply/rewrite.py",
        "for name in [*suspects, *unknown]:",
        "for name in unknown:",
        f"{ERASURE}::test_earlier_wordings_in_archive_files_go_too",
    ),
    Sabotage(
        "P12",
        "every user of the machine may call",
        "sidecar/rpc/peer.py",
        "    if uid == own_uid:\n",
        "    if uid >= 0:\n",
        "tests/contract/test_http.py::test_a_process_of_another_user_is_refused_on_every_path",
    ),
    Sabotage(
        "P12",
        "web pages may call",
        "sidecar/rpc/http.py",
        'if "Origin" in request.headers:',
        'if "X-Origin" in request.headers:',
        "tests/contract/test_http.py::test_requests_of_web_pages_are_refused",
    ),
    Sabotage(
        "P12",
        "a file is reached through a linked folder",
        "sidecar/store/media_files.py",
        "os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC",
        "os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC",
        f"{MEDIA_FILES}::test_only_a_plain_file_with_one_name_moves",
    ),
    Sabotage(
        "P12",
        "an internal error tells what went wrong",
        "sidecar/rpc/dispatch.py",
        "return InternalError(correlationId=correlation_id)",
        "return InternalError(str(cause), correlationId=correlation_id)",
        "tests/contract/test_errors.py"
        "::test_an_unforeseen_failure_tells_a_correlation_id_and_nothing_else",
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
)
