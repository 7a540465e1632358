"""Which files make up a store of mem0ai/oss: they are told by their tables, not by their names."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sidecar.importers.source import SourceRefused, check_regular
from sidecar.importers.sqlite_file import tables_of

VECTORS: Final = "vectors"
HISTORY: Final = "memory_history"
ENTITIES_ENDING: Final = "_entities"
FILE_ENDINGS: Final = (".db", ".sqlite", ".sqlite3")


@dataclass(frozen=True, slots=True)
class Mem0Files:
    """The files of one store. `history` is None where there is none."""

    vectors: Path
    history: Path | None


def find_store(path: Path) -> Mem0Files:
    """The files that a path means: a vector file, or the folder of one. Raises SourceRefused."""
    if path.is_dir():
        tables = _tables_below(path)
        found = [
            one
            for one, names in tables.items()
            if VECTORS in names and not one.stem.endswith(ENTITIES_ENDING)
        ]
        if len(found) != 1:
            raise SourceRefused(
                f"{path} must hold one file with mem0's vectors; it holds {_listed(found)}",
                "name the file itself",
            )
        path = found[0]
    else:
        check_regular(str(path))
        own = tables_of(path)
        if VECTORS not in own:
            raise SourceRefused(
                f"{path} has no table `{VECTORS}`: it is no vector file of mem0ai/oss",
                "name that file, or its folder",
            )
        tables = {**_tables_below(path.parent), path: own}
    histories = [one for one, names in tables.items() if HISTORY in names]
    if path in histories:
        histories = [path]
    if len(histories) > 1:
        raise SourceRefused(
            f"more than one history lies beside {path.name}: {_listed(histories)}",
            "copy the vector file and its own history into a folder of their own",
        )
    return Mem0Files(path, histories[0] if histories else None)


def _tables_below(folder: Path) -> dict[Path, set[str]]:
    try:
        files = sorted(one for one in folder.iterdir() if one.suffix in FILE_ENDINGS)
    except OSError as error:
        raise SourceRefused(
            f"the folder {folder} cannot be read: {error.strerror}",
            "allow it",
            permission=isinstance(error, PermissionError),
        ) from None
    return {one: tables_of(one) for one in files if one.is_file()}


def _listed(files: list[Path]) -> str:
    return ", ".join(one.name for one in files) or "none"
