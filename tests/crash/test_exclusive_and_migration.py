"""One opener at a time; and a schema of another version is refused, or backed up first."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.clock import Clock
from sidecar.errors import NamespaceLocked, SchemaTooNew
from sidecar.registry import Registry
from sidecar.store import doctor
from sidecar.store.sqlite import migrate
from sidecar.store.sqlite.connection import open_reader, open_writer
from tests.crash.namespaces import (
    directory_of,
    faults,
    image_of,
    kept,
    memories,
    opened,
    plain_config,
    registry_on,
)
from tests.running import running_daemon
from tests.wire import short_directory

HOLDER = """
import sys
from pathlib import Path
from sidecar.store.store import lock_directory
lock_directory(Path(sys.argv[1]))
sys.stdout.write("held\\n")
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.mark.gate("CRASH-19")
async def test_a_namespace_that_is_open_is_refused_to_everyone_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(3), if_exists="error", partial=False)
        other = Registry(tmp_path, Clock(injectable=True), plain_config())
        with pytest.raises(NamespaceLocked) as refused:
            await other.open("default", create=False)
        assert refused.value.exit_code == 75
        await other.close_all()
        for step in (doctor.examine, doctor.accept, doctor.reclaim):
            with pytest.raises(NamespaceLocked):
                step(directory_of(tmp_path))
        assert len(kept(directory_of(tmp_path))) == 3
    assert faults(directory_of(tmp_path)) == {}


def holding(directory: Path) -> "subprocess.Popen[bytes]":
    """A process that has the namespace's lock once it has said so."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


@pytest.mark.gate("CRASH-19")
async def test_the_lock_of_a_killed_process_holds_nobody_up(tmp_path: Path) -> None:
    async with opened(tmp_path):
        pass
    with holding(directory_of(tmp_path)) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(NamespaceLocked):
            doctor.examine(directory_of(tmp_path))
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        async with opened(tmp_path):
            pass


def set_schema(directory: Path, number: int) -> None:
    connection = open_writer(directory / "hot.db")
    connection.execute(f"PRAGMA user_version = {number}")
    connection.close()


@pytest.mark.gate("CRASH-20")
async def test_a_newer_schema_is_refused_and_not_touched(tmp_path: Path) -> None:
    directory = directory_of(tmp_path)
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(3), if_exists="error", partial=False)
    set_schema(directory, 99)
    before = (directory / "hot.db").read_bytes()
    with pytest.raises(SchemaTooNew) as refused:
        async with opened(tmp_path):
            pass
    assert refused.value.exit_code == 78
    assert "newer version" in refused.value.data["remedy"]
    assert (directory / "hot.db").read_bytes() == before
    assert not (directory / "backups").exists()


@pytest.mark.gate("CRASH-20")
def test_a_newer_schema_of_one_namespace_leaves_the_others_served() -> None:
    with short_directory() as folder:
        with running_daemon(folder) as daemon:
            for name in ("newer", "present"):
                daemon.call("memory.put", namespace=name, id="a", content="this is a")
        set_schema(directory_of(folder / "state", "newer"), 99)
        with running_daemon(folder) as daemon:
            refused = daemon.forgetd("--namespace", "newer", "get", "a")
            assert refused.returncode == 78
            assert "newer version" in refused.stderr
            assert daemon.forgetd("--namespace", "present", "get", "a").returncode == 0


def overwrite(database: Path) -> None:
    database.write_bytes(b"no database at all" * 1000)


def without_tables(database: Path) -> None:
    connection = open_writer(database)
    connection.execute("DROP TABLE meta")
    connection.close()


@pytest.mark.gate("CRASH-20")
@pytest.mark.parametrize("spoil", [overwrite, without_tables])
async def test_a_namespace_that_cannot_be_opened_keeps_no_other_from_being_served(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    for name in ("bad", "good"):
        async with opened(tmp_path, name=name) as namespace:
            await namespace.put_many(memories=memories(2), if_exists="error", partial=False)
    spoil(directory_of(tmp_path, "bad") / "hot.db")
    (directory_of(tmp_path, "bad") / "hot.db-wal").write_bytes(b"so that the start looks at it")
    async with registry_on(tmp_path) as registry:
        good = await registry.open("good", create=False)
        assert await good.get(id="m1", include_embedding=False) is not None
        with pytest.raises(Exception, match=r"hash|no such table"):
            await registry.open("bad", create=False)


NEXT = (2, "ALTER TABLE media ADD COLUMN seen INTEGER;")


def with_next(monkeypatch: pytest.MonkeyPatch, following: tuple[int, str] = NEXT) -> None:
    """This version knows one migration more."""
    present = migrate.available()
    following = (present[-1][0] + 1, following[1])
    monkeypatch.setattr(migrate, "available", lambda: [*present, following])


@pytest.mark.gate("CRASH-21")
async def test_before_a_migration_a_whole_copy_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = directory_of(tmp_path)
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(5), if_exists="error", partial=False)
    whole = kept(directory)
    number = migrate.available()[-1][0]
    (directory / "backups").mkdir(exist_ok=True)
    half = directory / "backups" / f".tmp-schema-{number}-00ff"
    half.write_bytes(b"a copy that a kill cut short")
    with_next(monkeypatch)
    async with opened(tmp_path):
        assert kept(directory) == whole
    (backup,) = (directory / "backups").iterdir()
    assert backup.name == f"schema-{number}.db"
    copy = open_reader(backup)
    assert copy.execute("PRAGMA user_version").fetchall() == [(number,)]
    assert copy.execute("SELECT count(*) FROM memories").fetchall() == [(5,)]
    assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    copy.close()


@pytest.mark.gate("CRASH-21")
async def test_a_copy_that_was_cut_short_never_counts_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = directory_of(tmp_path / "whole")
    async with opened(tmp_path / "whole") as namespace:
        await namespace.put_many(memories=memories(5), if_exists="error", partial=False)
    with_next(monkeypatch)
    publish = migrate.publish

    def killed_before(*paths: Path) -> None:
        image_of(tmp_path / "whole", tmp_path / "image")
        publish(*paths)

    monkeypatch.setattr(migrate, "publish", killed_before)
    async with opened(tmp_path / "whole"):
        pass
    monkeypatch.setattr(migrate, "publish", publish)
    assert not list((directory_of(tmp_path / "image") / "backups").glob("schema-*"))
    async with opened(tmp_path / "image"):
        assert kept(directory_of(tmp_path / "image")) == kept(directory)
    assert len(list((directory_of(tmp_path / "image") / "backups").iterdir())) == 1


@pytest.mark.gate("CRASH-21")
async def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = directory_of(tmp_path)
    async with opened(tmp_path) as namespace:
        await namespace.put_many(memories=memories(5), if_exists="error", partial=False)
    whole = kept(directory)
    with_next(monkeypatch, (2, "ALTER TABLE media ADD COLUMN seen INTEGER; INSERT INTO nowhere;"))
    with pytest.raises(Exception, match="syntax error"):
        async with opened(tmp_path):
            pass
    monkeypatch.undo()
    async with opened(tmp_path):
        assert kept(directory) == whole
    assert faults(directory) == {}
