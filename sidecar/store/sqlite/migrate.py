"""Numbered migrations, each applied once, in its own transaction, after a backup."""

import os
import re
from importlib import resources
from pathlib import Path
from typing import Final

from sidecar.errors import SchemaTooNew
from sidecar.store.segments import new_temporary_name, publish, remove_temporaries
from sidecar.store.sqlite.typed import Connection

_NAME: Final = re.compile(r"(\d{4})_\w+\.sql")


def available() -> list[tuple[int, str]]:
    """Every migration as (number, SQL), in order."""
    found: list[tuple[int, str]] = []
    for entry in resources.files("sidecar.store.migrations").iterdir():
        if match := _NAME.fullmatch(entry.name):
            found.append((int(match[1]), entry.read_text(encoding="utf-8")))
    return sorted(found)


def migrate(connection: Connection, backups: Path) -> int:
    """Bring the schema up to date and return its number.

    Before the first change of a database that has data a copy is written into `backups`.
    Raises SchemaTooNew.
    """
    current: int = connection.execute("PRAGMA user_version").fetchall()[0][0]
    migrations = available()
    newest = migrations[-1][0]
    if current > newest:
        raise SchemaTooNew(
            f"The namespace has schema {current}, this version knows {newest}",
            remedy="install the newer version of forgetd again",
        )
    if 0 < current < newest:
        backups.mkdir(mode=0o700, exist_ok=True)
        _back_up(connection, backups, f"schema-{current}")
    for number, sql in migrations:
        if number > current:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(sql)
                connection.execute(f"PRAGMA user_version = {number}")
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
    return newest


def _back_up(connection: Connection, backups: Path, name: str) -> None:
    """Write a whole copy, durably. A copy that a kill cut short never gets the final name."""
    target = backups / f"{name}.db"
    if target.exists():
        return
    remove_temporaries(backups)
    copy = backups / new_temporary_name(name)
    connection.execute("VACUUM INTO ?", (str(copy),))
    descriptor = os.open(copy, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    publish(copy, target)
