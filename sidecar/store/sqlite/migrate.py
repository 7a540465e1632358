"""Numbered migrations, each applied once, in its own transaction, after a backup."""

import re
from importlib import resources
from pathlib import Path
from typing import Final

from sidecar.errors import ForgetdError
from sidecar.store.sqlite.typed import Connection

_NAME: Final = re.compile(r"(\d{4})_\w+\.sql")


class SchemaTooNew(ForgetdError):
    """The database was written by a newer forgetd; this one must not touch it."""

    exit_code = 78
    default_message = "The database was written by a newer version of forgetd"


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
            f"The database has schema {current}, this version knows {newest}",
            remedy="install the newer version of forgetd again",
        )
    if 0 < current < newest:
        backups.mkdir(mode=0o700, exist_ok=True)
        target = backups / f"schema-{current}.db"
        if not target.exists():
            connection.execute("VACUUM INTO ?", (str(target),))
    for number, sql in migrations:
        if number > current:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(sql)
                connection.execute(f"PRAGMA user_version = {number}")
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
    return newest
