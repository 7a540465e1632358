"""gc.* over the sockets of a real daemon, and `forgetd gc`."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.client import Client, RpcFailure, Unreachable
from sidecar.limits import SOCKET_PATH_BYTES_MAX
from sidecar.locations import admin_socket_path
from tests.running import RunningDaemon, running_daemon, until
from tests.wire import short_directory

ADMIN_METHODS = ("gc.plan", "gc.execute", "gc.verify")
SECRET = "the password of the northern lighthouse is quokka-marzipan"


@pytest.fixture(scope="module")
def daemon() -> Iterator[RunningDaemon]:
    with short_directory() as folder, running_daemon(folder) as started:
        yield started


def admin(daemon: RunningDaemon) -> Client:
    """A client of the admin socket."""
    return Client(admin_socket_path(daemon.socket), timeout_seconds=60.0)


def refusal(client: Client, method: str, **params: Any) -> RpcFailure:
    """The error of a call."""
    with pytest.raises(RpcFailure) as error:
        client.call(method, params)
    return error.value


def filled(daemon: RunningDaemon, namespace: str, *ids: str) -> None:
    """Memories that were forgotten just now."""
    for memory_id in ids:
        daemon.call(
            "memory.put", namespace=namespace, id=memory_id, content=f"{SECRET} {memory_id}"
        )
    daemon.call("memory.forget", namespace=namespace, ids=list(ids))


@pytest.mark.gate("GC-16")
@pytest.mark.parametrize("method", ADMIN_METHODS)
def test_the_main_socket_refuses_to_destroy_and_says_where_to_go(
    daemon: RunningDaemon, method: str
) -> None:
    error = refusal(daemon.client, method, token="x")
    assert (error.code, error.symbol) == (-32007, "permission_denied")
    assert "allow_rpc" in error.data["remedy"]
    assert "forgetd gc" in error.data["remedy"]


@pytest.mark.gate("GC-16")
def test_the_admin_socket_serves_everything_and_is_private(daemon: RunningDaemon) -> None:
    path = admin_socket_path(daemon.socket)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    names = {one["name"]: one for one in admin(daemon).call("rpc.discover")["methods"]}
    assert {name for name, one in names.items() if one["x-admin"]} == set(ADMIN_METHODS)
    assert admin(daemon).call("system.status", {})
    assert admin(daemon).is_ready()


@pytest.mark.gate("GC-16")
def test_the_config_file_can_open_the_main_socket_for_it_while_it_runs(folder: Path) -> None:
    config = folder / "forgetd.toml"
    config.write_text("[gc]\nallow_rpc = false\n")
    with running_daemon(folder, "--config", str(config)) as daemon:
        filled(daemon, "me", "a")
        assert refusal(daemon.client, "gc.plan", namespace="me").symbol == "permission_denied"
        config.write_text("[gc]\nallow_rpc = true\n")

        def served() -> bool:
            try:
                return daemon.call("gc.plan", namespace="me", olderThanDays=0)["memories"] == 1
            except RpcFailure:
                return False

        until(served, what="the main socket serves gc.plan")
        daemon.stop()
        assert not admin_socket_path(daemon.socket).exists()


@pytest.mark.gate("GC-16")
def test_a_path_too_long_for_the_admin_socket_leaves_the_daemon_without_it(folder: Path) -> None:
    inner = folder / (
        "x" * (SOCKET_PATH_BYTES_MAX - len(str(folder)) - len("/" + "/run/d.sock") - 1)
    )
    inner.mkdir(mode=0o700)
    with running_daemon(inner) as daemon:
        assert len(str(daemon.socket)) < SOCKET_PATH_BYTES_MAX
        daemon.call("memory.put", content="x")
        assert "no admin socket" in daemon.said()
        with pytest.raises(Unreachable):
            admin(daemon).call("gc.plan", {})
        done = daemon.forgetd("gc")
        assert done.returncode == 77
        assert "allow_rpc" in done.stderr


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"olderThanDays": -0.001}, "$.olderThanDays", "from 0 to 36500"),
    ({"olderThanDays": 36_501}, "$.olderThanDays", "from 0 to 36500"),
    ({"olderThanDays": 1e300}, "$.olderThanDays", "from 0 to 36500"),
    ({"olderThanDays": "14"}, "$.olderThanDays", "a number"),
    ({"ids": []}, "$.ids", "array"),
    ({"ids": [""]}, "$.ids[0]", "string"),
    ({"ids": ["a"], "runId": "r"}, "$.runId", "at most one"),
    ({"ids": ["a"], "all": True}, "$.all", "at most one"),
    ({"replacedBy": "a"}, "$.replacedBy", "only with ids"),
    ({"ids": ["a"], "replacedBy": 3}, "$.replacedBy", "object"),
    ({"older": 3}, "$.older", "known"),
]


@pytest.mark.gate("GC-17")
@pytest.mark.parametrize(("params", "field", "bound"), BAD)
def test_bad_input_is_refused_with_field_and_bound(
    daemon: RunningDaemon, params: dict[str, Any], field: str, bound: str
) -> None:
    daemon.call("namespaces.open", namespace="bad")
    error = refusal(admin(daemon), "gc.plan", namespace="bad", **params)
    assert (error.symbol, error.data["field"]) == ("invalid_params", field)
    assert bound in error.data["bound"]
    assert error.data["remedy"]


@pytest.mark.gate("GC-17")
def test_unknown_names_are_typed_errors_and_make_nothing(daemon: RunningDaemon) -> None:
    filled(daemon, "mine", "a")
    filled(daemon, "yours", "b")
    call = admin(daemon)
    assert refusal(call, "gc.plan", namespace="nobody").symbol == "namespace_not_found"
    found = refusal(call, "gc.plan", namespace="mine", ids=["b"], olderThanDays=0)
    assert (found.symbol, found.data["field"]) == ("memory_not_found", "$.ids[0]")
    assert refusal(call, "gc.plan", namespace="mine", runId="r").symbol == "run_unknown"
    assert refusal(call, "gc.verify", namespace="mine").symbol == "invalid_params"
    assert "nobody" not in [
        one["namespace"] for one in daemon.call("namespaces.list")["namespaces"]
    ]


@pytest.mark.gate("GC-18")
def test_a_token_that_is_used_foreign_or_invented_destroys_nothing(daemon: RunningDaemon) -> None:
    filled(daemon, "tokens", "a", "b")
    filled(daemon, "others", "a")
    call = admin(daemon)
    plan = call.call("gc.plan", {"namespace": "tokens", "ids": ["a"], "olderThanDays": 0})
    token = plan["token"]
    foreign = refusal(call, "gc.execute", namespace="others", token=token)
    assert (foreign.code, foreign.symbol) == (304, "gc_wrong_namespace")
    invented = refusal(call, "gc.execute", namespace="tokens", token=token + "x")
    assert (invented.code, invented.symbol) == (301, "gc_token_unknown")
    report = call.call("gc.execute", {"namespace": "tokens", "token": token})
    assert (report["destroyed"], report["verification"]["clean"]) == (1, True)
    used = refusal(call, "gc.execute", namespace="tokens", token=token)
    assert (used.code, used.symbol) == (303, "gc_token_used")
    restored = daemon.call("memory.restore", namespace="others", ids=["a"])
    assert restored["counts"] == {"restored": 1}
    restored = daemon.call("memory.restore", namespace="tokens", ids=["a", "b"])
    assert restored["counts"] == {"destroyed": 1, "restored": 1}


@pytest.mark.gate("GC-18")
def test_an_expired_token_and_one_from_before_a_restart_are_refused(folder: Path) -> None:
    with running_daemon(folder, "--allow-injected-clock") as daemon:
        daemon.call("system.clock", now=1_780_000_000_000)
        filled(daemon, "me", "a")
        plan = admin(daemon).call("gc.plan", {"namespace": "me", "olderThanDays": 0})
        assert plan["expiresAt"] == 1_780_000_900_000
        daemon.call("system.clock", now=1_780_000_900_001)
        late = refusal(admin(daemon), "gc.execute", namespace="me", token=plan["token"])
        assert (late.code, late.symbol) == (302, "gc_token_expired")
        plan = admin(daemon).call("gc.plan", {"namespace": "me", "olderThanDays": 0})
        daemon.stop()
    with running_daemon(folder) as daemon:
        gone = refusal(admin(daemon), "gc.execute", namespace="me", token=plan["token"])
        assert gone.symbol == "gc_token_unknown"
        assert daemon.call("memory.restore", namespace="me", ids=["a"])["counts"] == {"restored": 1}


@pytest.mark.gate("TOMB-06")
def test_a_destroyed_id_is_refused_on_the_wire_unless_it_is_revived(daemon: RunningDaemon) -> None:
    filled(daemon, "stones", "a")
    plan = admin(daemon).call("gc.plan", {"namespace": "stones", "olderThanDays": 0})
    admin(daemon).call("gc.execute", {"namespace": "stones", "token": plan["token"]})
    put: dict[str, Any] = {"namespace": "stones", "id": "a", "content": "again"}
    error = refusal(daemon.client, "memory.put", **put)
    assert (error.code, error.symbol, error.data["field"]) == (106, "memory_destroyed", "$.id")
    many: dict[str, Any] = {"namespace": "stones", "memories": [{"id": "a", "content": "again"}]}
    assert refusal(daemon.client, "memory.putMany", **many).data["field"] == "$.memories[0].id"
    partial = daemon.call("memory.putMany", **many, partial=True)
    assert partial["results"][0]["error"]["data"]["symbol"] == "memory_destroyed"
    assert refusal(daemon.client, "memory.import", **many).symbol == "memory_destroyed"
    assert daemon.call("memory.import", **many, revive=True)["created"] == 1
    assert daemon.call("memory.get", namespace="stones", id="a")["content"] == "again"


@pytest.mark.gate("GC-19")
def test_the_command_shows_a_plan_and_carries_it_out_only_by_its_token(
    daemon: RunningDaemon,
) -> None:
    filled(daemon, "command", "a", "b")
    given = ("--namespace", "command")
    shown = daemon.forgetd("gc", *given, "--older-than-days", "0", "--dry-run")
    assert shown.returncode == 0
    assert "2 memories (2 forgotten)" in shown.stdout
    assert SECRET not in shown.stdout
    assert daemon.forgetd("gc", *given).returncode == 1  # nothing is old enough
    unasked = daemon.forgetd("gc", *given, "--id", "a", "--older-than-days", "0", "--json")
    assert unasked.returncode == 1
    assert "nothing was destroyed" in unasked.stderr
    token = json.loads(unasked.stdout)["token"]
    done = daemon.forgetd("gc", *given, "--token", token)
    assert done.returncode == 0, done.stderr
    assert "destroyed 1 memory" in done.stdout
    assert "verified: nothing is left" in done.stdout
    runs = daemon.call("runs.list", namespace="command")["runs"]
    (run,) = [one for one in runs if one["kind"] == "gc"]
    shown = daemon.forgetd("runs", "show", *given, run["runId"])
    assert (shown.returncode, "destroyed 1 memory" in shown.stdout) == (0, True), shown.stderr
    assert daemon.forgetd("runs", "show", *given, runs[-1]["runId"]).returncode == 0
    again = daemon.forgetd("gc", *given, "--token", token)
    assert again.returncode == 65
    assert "used already" in again.stderr
    assert daemon.forgetd("gc", "verify", *given, "--id", "a").returncode == 0
    found = daemon.forgetd("gc", "verify", *given, "--id", "b", "--text", f"{SECRET} b")
    assert found.returncode == 1
    assert "memories" in found.stdout


@pytest.mark.gate("GC-19")
def test_the_command_deletes_a_namespace(daemon: RunningDaemon) -> None:
    filled(daemon, "whole", "a", "b")
    plan = daemon.forgetd("gc", "--namespace", "whole", "--all", "--json")
    done = daemon.forgetd("gc", "--namespace", "whole", "--token", json.loads(plan.stdout)["token"])
    assert done.returncode == 0, done.stderr
    assert "the namespace whole is no more" in done.stdout
    assert "whole" not in daemon.forgetd("namespaces").stdout
    assert not (daemon.state_dir / "namespaces" / "whole").exists()
