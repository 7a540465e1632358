"""`forgetd lifecycle` and lifecycle.* against a real daemon."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.client import Client, RpcFailure
from sidecar.locations import admin_socket_path
from tests.running import RunningDaemon, running_daemon, until
from tests.wire import short_directory

DAY_MS = 86_400_000
ALLOWED = "[lifecycle]\nforget_enabled = true\n"


@pytest.fixture(scope="module")
def allowed() -> Iterator[RunningDaemon]:
    """A daemon whose config file lets active forgetting archive."""
    with short_directory() as folder:
        config = folder / "forgetd.toml"
        config.write_text(ALLOWED)
        with running_daemon(folder, "--config", str(config)) as started:
            yield started


def filled(daemon: RunningDaemon, namespace: str) -> None:
    """Two that did harm long ago, a pinned one like them, and one of use."""
    old = daemon.call("system.clock")["now"] - 200 * DAY_MS
    said = {"worse": (2, -6.0), "bad": (1, -1.0), "pinned": (1, -1.0), "useful": (1, 1.0)}
    daemon.call(
        "memory.putMany",
        namespace=namespace,
        memories=[
            {
                "id": name,
                "content": f"what {name} says ☕",
                "createdAt": old,
                "useCount": uses,
                "usefulnessScore": score,
                "pinned": name == "pinned",
            }
            for name, (uses, score) in said.items()
        ],
    )


def status_of(daemon: RunningDaemon, namespace: str, memory_id: str) -> str:
    status: str = daemon.call("memory.get", namespace=namespace, id=memory_id)["status"]
    return status


def step_of(said: str, beginning: str) -> list[str]:
    """The arguments of the next command that a talk names, without the program's name."""
    (line,) = [line for line in said.splitlines() if line.startswith(beginning)]
    return line.removeprefix(beginning).split()[1:]


@pytest.mark.gate("LIFE-80")
def test_the_command_previews_applies_exactly_that_and_undoes_it(
    allowed: RunningDaemon, namespace: str
) -> None:
    filled(allowed, namespace)
    planned = allowed.forgetd("lifecycle", "forget", "--namespace", namespace)
    assert planned.returncode == 0, planned.stderr
    for text in ("dry run", "candidates 3 of 4", "2 to archive, 1 kept", "1 pinned", "90 days"):
        assert text in planned.stdout, text
    rows = [line.split() for line in planned.stdout.splitlines() if " semantic " in line]
    assert [row[-1] for row in rows] == ["worse", "bad", "pinned"]
    assert "kept: pinned" in planned.stdout
    assert status_of(allowed, namespace, "worse") == "active"
    apply = step_of(planned.stdout, "apply exactly this: ")
    assert "--force" not in apply
    done = allowed.forgetd(*apply)
    assert done.returncode == 0, done.stderr
    assert "2 archived, 1 kept, 0 failed" in done.stdout
    assert status_of(allowed, namespace, "worse") == status_of(allowed, namespace, "bad")
    assert status_of(allowed, namespace, "bad") == "archived"
    again = allowed.forgetd(*apply)
    assert again.returncode != 0
    assert "applied already" in again.stderr
    undone = allowed.forgetd(*step_of(done.stdout, "take it back: "))
    assert undone.returncode == 0, undone.stderr
    assert status_of(allowed, namespace, "bad") == "active"
    nothing = allowed.forgetd("lifecycle", "forget", "--run", "--namespace", namespace)
    assert (nothing.returncode, nothing.stdout.count("kept: restored")) == (0, 2)
    assert "nothing to archive" in nothing.stdout


@pytest.mark.gate("LIFE-80")
def test_the_command_answers_programs_in_json(allowed: RunningDaemon, namespace: str) -> None:
    filled(allowed, namespace)
    flags = ("--namespace", namespace, "--json")
    options = ("--usefulness-floor", "-2", "--harmful-floor", "-3", "--min-age-days", "10")
    done = allowed.forgetd(*flags, "lifecycle", "forget", "--run", *options, "--candidates", "5")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (report["archived"], report["candidateCount"], report["minAgeDays"]) == (1, 1, 10.0)
    assert (report["usefulnessFloor"], report["harmfulFloor"]) == (-2.0, -3.0)
    reasons = json.loads(allowed.forgetd(*flags, "lifecycle", "reasons").stdout)
    assert (reasons["total"], reasons["reasons"]["forgotten"]) == (1, 1)
    listed = json.loads(allowed.forgetd(*flags, "lifecycle", "archived").stdout)
    assert [(one["id"], one["runId"]) for one in listed["memories"]] == [("worse", report["runId"])]
    assert listed["cursor"] is None


@pytest.mark.gate("LIFE-80")
def test_reasons_and_the_archived_are_shown_as_tables_page_by_page(
    allowed: RunningDaemon, namespace: str
) -> None:
    flags = ("--namespace", namespace)
    for name, said in (("reasons", "every memory is believed"), ("archived", "archived nothing")):
        for _ in range(2):
            empty = allowed.forgetd("lifecycle", name, *flags)
            assert (empty.returncode, empty.stderr) == (0, "")
            assert said in empty.stdout
        allowed.call("namespaces.open", namespace=namespace)
    filled(allowed, namespace)
    allowed.call("memory.invalidate", namespace=namespace, id="useful", reason="obsolete")
    allowed.call("lifecycle.forget", namespace=namespace, dryRun=False)
    shown = allowed.forgetd("lifecycle", "reasons", *flags)
    told = [line.split() for line in shown.stdout.splitlines()]
    assert told[-2:] == [["obsolete", "1"], ["forgotten", "2"]]
    first = allowed.forgetd("lifecycle", "archived", "--limit", "1", *flags)
    assert "bad" in first.stdout
    assert "worse" not in first.stdout
    second = allowed.forgetd(*step_of(first.stderr, "more: "))
    assert second.returncode == 0, second.stderr
    assert "worse" in second.stdout


@pytest.mark.gate("LIFE-81")
def test_where_the_file_does_not_allow_it_the_operator_forces_by_command_alone(
    daemon: RunningDaemon, namespace: str
) -> None:
    filled(daemon, namespace)
    refused = daemon.forgetd("lifecycle", "forget", "--run", "--namespace", namespace)
    assert refused.returncode != 0
    assert "[lifecycle]" in refused.stderr
    assert "--force" in refused.stderr
    with pytest.raises(RpcFailure) as failure:
        daemon.call("lifecycle.forget", namespace=namespace, dryRun=False, force=True)
    assert (failure.value.code, failure.value.symbol) == (-32007, "permission_denied")
    assert failure.value.data["field"] == "$.force"
    planned = daemon.forgetd("lifecycle", "forget", "--namespace", namespace)
    apply = step_of(planned.stdout, "apply exactly this: ")
    assert apply[-1] == "--force"
    assert status_of(daemon, namespace, "bad") == "active"
    done = daemon.forgetd(*apply)
    assert done.returncode == 0, done.stderr
    assert "forced: forget_enabled is off" in done.stdout
    assert status_of(daemon, namespace, "bad") == "archived"
    run = daemon.call("runs.list", namespace=namespace)["runs"][0]
    assert run["kind"] == "lifecycle"
    assert daemon.call("runs.get", namespace=namespace, runId=run["runId"])["report"]["forced"]


@pytest.mark.gate("LIFE-81")
def test_the_admin_socket_takes_a_force_of_any_client(
    daemon: RunningDaemon, namespace: str
) -> None:
    filled(daemon, namespace)
    admin = Client(admin_socket_path(daemon.socket), timeout_seconds=60.0)
    call: dict[str, Any] = {"namespace": namespace, "dryRun": False}
    with pytest.raises(RpcFailure) as failure:
        admin.call("lifecycle.forget", call)
    assert failure.value.symbol == "forgetting_disabled"
    report = admin.call("lifecycle.forget", {**call, "force": True})
    assert (report["archived"], report["forced"]) == (2, True)


@pytest.mark.gate("LIFE-82")
def test_a_changed_file_counts_at_once_for_all_or_for_one_namespace(folder: Path) -> None:
    config = folder / "forgetd.toml"
    config.write_text("")
    with running_daemon(folder, "--config", str(config)) as daemon:
        for name in ("me", "other"):
            filled(daemon, name)

        def change(text: str) -> None:
            fresh = config.with_name("fresh")
            fresh.write_text(text)
            fresh.replace(config)

        def shown(namespace: str) -> tuple[bool, float]:
            report = daemon.call("lifecycle.forget", namespace=namespace)
            return report["forgetEnabled"], report["minAgeDays"]

        assert shown("me") == (False, 90.0)
        own = "[namespaces.ME.lifecycle]\nforget_enabled = true\nmin_age_days = 20\n"
        change(f"[lifecycle]\nmin_age_days = 30\n{own}")
        until(lambda: shown("me") == (True, 20.0))
        assert shown("other") == (False, 30.0)
        change("[lifecycle]\nforget_enabled = true\nmin_age_days = -1\n")
        until(lambda: "config refused, the old one stays" in daemon.events())
        assert shown("other") == (False, 30.0)
        with pytest.raises(RpcFailure) as failure:
            daemon.call("lifecycle.forget", namespace="other", dryRun=False)
        assert failure.value.symbol == "forgetting_disabled"
        assert daemon.call("lifecycle.forget", namespace="me", dryRun=False)["archived"] == 2
        change(ALLOWED)
        until(lambda: shown("other") == (True, 90.0))
        assert daemon.call("lifecycle.forget", namespace="other", dryRun=False)["archived"] == 2


@pytest.mark.gate("LIFE-83")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--now", "1780000000000", "--run"), "--now is for looking"),
        (("--now", "1780000000000", "--plan", "plan-1"), "--now is for looking"),
        (("--force",), "--force is for --run or --plan"),
        (("--min-age-days", "-1"), "--min-age-days"),
        (("--protect-use-count", "0"), "--protect-use-count"),
        (("--candidates", "-1"), "--candidates"),
        (("--usefulness-floor", "low"), "--usefulness-floor"),
        (("extra",), "extra"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(
    daemon: RunningDaemon, arguments: tuple[str, ...], told: str
) -> None:
    done = daemon.forgetd("lifecycle", "forget", *arguments)
    assert (done.returncode, done.stdout) == (64, "")
    assert told in done.stderr


@pytest.mark.gate("LIFE-83")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("forget", "--usefulness-floor", "nan"), "NaN"),
        (("forget", "--usefulness-floor", "1001"), "usefulnessFloor"),
        (("forget", "--harmful-floor", "0"), "harmfulFloor"),
        (("forget", "--plan", "plan-nobody"), "lifecycle forget"),
        (("archived", "--cursor", "x"), "cursor"),
    ],
)
def test_what_the_daemon_refuses_is_told_with_what_to_do(
    allowed: RunningDaemon, namespace: str, arguments: tuple[str, ...], told: str
) -> None:
    allowed.call("namespaces.open", namespace=namespace)
    done = allowed.forgetd("lifecycle", *arguments, "--namespace", namespace)
    assert done.returncode in (1, 64, 65)
    assert done.stdout == ""
    assert "next: " in done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.gate("LIFE-83")
def test_a_plan_for_another_time_is_shown_and_says_that_it_cannot_be_applied(
    allowed: RunningDaemon, namespace: str
) -> None:
    filled(allowed, namespace)
    later = allowed.call("system.clock")["now"] + DAY_MS
    shown = allowed.forgetd("lifecycle", "forget", "--now", str(later), "--namespace", namespace)
    assert shown.returncode == 0, shown.stderr
    assert "201" in shown.stdout
    assert "this plan can be read, not applied" in shown.stdout
    assert "apply exactly this" not in shown.stdout
