"""Breakages of what is kept, told and refused: the promises P6 to P12."""

from typing import Final

from tests.sabotage_case import Sabotage

THRESHOLDS = "tests/unit/test_cascade_thresholds.py"
PLANS = "tests/integration/test_namespace_plans.py"
MOVES = "tests/integration/test_namespace_moves.py"
KEYED = "tests/crash/test_keyed_writes.py"
RESTORE = "tests/integration/test_namespace_restore.py"
DETECTOR = "tests/integration/test_namespace_detector.py"
REGISTRY = "tests/integration/test_namespace_registry.py"
ERASURE = "tests/integration/test_erasure.py"
POWER = "tests/crash/test_power_loss.py"
MEDIA_FILES = "tests/unit/test_media_files.py"

KEEPING: Final = (
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
        "sidecar/apply/sunk.py",
        "moved = f'{moved}, \"forgotten_at\": {now}'",
        "moved = f'{moved}'",
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
        "sidecar/plan/detector.py",
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
        "        self._plans: OrderedDict[str, ShelvedPlan[P]] = OrderedDict()\n",
        "        self._plans = self.__init__.__func__.__dict__.setdefault('p', OrderedDict())\n",
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
        "P12",
        "the main socket forces active forgetting",
        "sidecar/rpc/dispatch.py",
        "            if not is_admin:\n",
        "            if is_admin:\n",
        "tests/integration/test_lifecycle_calls.py"
        "::test_the_main_socket_takes_no_force_also_where_it_may_destroy",
    ),
)
