"""The house rules that no linter knows: sizes, names, docstrings, one-way doors, removal."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import gates, layers
from tests.sources import (
    ROOT,
    calls,
    dotted,
    functions,
    imports,
    name_of,
    python_files,
    repository_files,
    text_files,
    text_of,
    tree_of,
)

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

# Spelled in halves: this file is searched too.
LEFT_UNDONE = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|simplified for" r" now")
MACHINE_PATHS = re.compile(r"(?<![\w.@-])/(work|roo" r"t|tmp/f" r"g|home/[a-z]\w*)(/|\b(?![\w.-]))")
REGISTRY_HOSTS = re.compile(
    r"pypi\.or"
    r"g|pythonhosted\.or"
    r"g|npmjs\.(or"
    r"g|com)|yarnpkg\.co"
    r"m|deb\.debian\.or"
    r"g"
)

EMPTY_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}

LIMIT_UNITS = {
    "ANNOUNCEMENTS", "EXAMPLES", "PRUNES",
    "BYTES", "CALLS", "CHARACTERS", "CONNECTIONS", "COUNT", "DAYS", "DECISIONS", "DEPTH",
    "DIMENSIONS", "EVENTS", "HOURS", "IDS", "INTEGER", "JOBS", "KEYS", "LIMIT", "MEMORIES",
    "MILLISECONDS", "MINUTES", "MOVES", "MS", "NAMED",
    "NAMESPACES", "PLANS", "READS", "RUN", "RUNS", "SECONDS", "SEGMENTS", "SHARE", "STREAMS",
    "THAWS", "TOP", "TOUCHED", "TOUCHES",
}  # fmt: skip

# Every file of the daemon that may take a file away or put another in its place, and why.
REMOVERS: dict[str, str] = {
    "sidecar/apply/rebuild.py": "rebuilt.db, which it made itself",
    "sidecar/cli/backup.py": "a backup's own temporary directory, and its name at the end",
    "sidecar/cli/new_file.py": "an export: its temporary name, and the file that --force names",
    "sidecar/daemon/socket.py": "the socket file: ours, or one behind which nobody listens",
    "sidecar/store/backup.py": "of the copy: segments that were merged away meanwhile",
    "sidecar/store/encode.py": "temporary segments of a run that failed",
    "sidecar/store/cold_tables.py": "the index of cold memories: a cache, built anew from rows",
    "sidecar/store/doctor.py": "the commit counter, when an operator accepts a loss",
    "sidecar/store/media_files.py": "media: renamed to the trash and back, never over another",
    "sidecar/removal.py": "a whole namespace, set aside under another name first",
    "sidecar/store/backups.py": "copies of a migration that hold destroyed memories",
    "sidecar/store/media_removal.py": "files that destroyed memories alone named",
    "sidecar/store/segment_writer.py": "a temporary segment that was not finished",
    "sidecar/store/segments.py": "temporary names: after the link, and left by a dead process",
    "sidecar/store/store.py": "temporary names, and segments of a committed unlink intent",
}

# Every file that may ask the system for the time of day, and why.
WALL_CLOCKS = {"time.time", "time.time_ns", "datetime.now", "datetime.datetime.now", "date.today"}
CLOCK_USERS = {
    "sidecar/clock.py": "is the clock",
    "sidecar/store/segments.py": "part of a file name that is never used again",
}


def sidecar_files() -> list[Path]:
    """The daemon's modules."""
    return list(python_files("sidecar"))


def handwritten() -> Iterator[Path]:
    """Source files that a person wrote: Python and TypeScript, generated ones left out."""
    for path in repository_files():
        if path.suffix in {".py", ".ts"} and "generated" not in path.parts:
            yield path


@pytest.mark.gate("TIDY-01")
def test_testing_md_and_the_tests_name_each_other() -> None:
    assert gates.offences(ROOT) == []


@pytest.mark.gate("TIDY-03")
def test_files_are_short() -> None:
    lengths = {name_of(path): len(text_of(path).splitlines()) for path in handwritten()}
    assert {name: n for name, n in lengths.items() if n >= FILE_LINES_MAX} == {}


@pytest.mark.gate("TIDY-03")
def test_functions_are_short() -> None:
    long = {
        f"{name_of(path)}:{node.lineno} {node.name}": length
        for path in python_files()
        for node in functions(tree_of(path))
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) >= FUNCTION_LINES_MAX
    }
    assert long == {}


@pytest.mark.gate("TIDY-04")
def test_nothing_is_left_undone() -> None:
    assert found(LEFT_UNDONE) == []


@pytest.mark.gate("TIDY-05")
def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert found(MACHINE_PATHS) == []


@pytest.mark.gate("TIDY-05")
def test_no_file_names_the_host_of_a_registry() -> None:
    assert found(REGISTRY_HOSTS) == []


def found(pattern: re.Pattern[str]) -> list[str]:
    """Every line of the repository that the pattern matches, as file:line: text."""
    return [
        f"{name_of(path)}:{number}: {line.strip()[:80]}"
        for path in text_files()
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.mark.gate("TIDY-06")
def test_no_module_has_an_empty_name() -> None:
    for path in handwritten():
        words = {part.partition(".")[0].lower() for part in path.relative_to(ROOT).parts}
        assert not words & EMPTY_NAMES, name_of(path)


@pytest.mark.gate("TIDY-07")
def test_everything_public_says_what_it_promises() -> None:
    silent = [
        f"{name_of(path)}: {name}"
        for path in sidecar_files()
        for node, name in public_definitions(tree_of(path))
        if not ast.get_docstring(node)
    ]
    assert silent == []


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def public_definitions(tree: ast.Module) -> Iterator[tuple[Definition | ast.Module, str]]:
    """A module, its public classes and functions, and their public methods.

    Left out is what says it elsewhere: an error with a wire symbol (docs/errors.md), a handler
    with a summary and the struct of its parameters (docs/methods.md), and the members of a
    protocol, for which the class speaks.
    """
    yield tree, "the module"
    for node in tree.body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            if not said_elsewhere(node):
                yield node, node.name
            if isinstance(node, ast.ClassDef) and "Protocol" not in bases(node):
                for child in node.body:
                    if isinstance(child, Definition) and not child.name.startswith("_"):
                        yield child, f"{node.name}.{child.name}"


def said_elsewhere(node: Definition) -> bool:
    """Whether another document, or a decorator's summary, says what this promises."""
    if isinstance(node, ast.ClassDef):
        assigned = {
            n.id for part in node.body if isinstance(part, ast.Assign) for n in names_in(part)
        }
        return "symbol" in assigned or node.name.endswith("Params")
    decorators = (d for d in node.decorator_list if isinstance(d, ast.Call))
    return any(keyword.arg == "summary" for d in decorators for keyword in d.keywords)


def names_in(node: ast.AST) -> Iterator[ast.Name]:
    """Every plain name in the node."""
    return (inner for inner in ast.walk(node) if isinstance(inner, ast.Name))


def bases(node: ast.ClassDef) -> set[str]:
    """The names of a class's bases, without their type parameters."""
    return {name.id for base in node.bases for name in names_in(base)}


@pytest.mark.gate("TIDY-08")
def test_the_daemon_speaks_through_its_log_and_the_command() -> None:
    for path in sidecar_files():
        if "cli" not in path.parts:
            assert "print" not in {name for name, _ in calls(tree_of(path))}, name_of(path)


@pytest.mark.gate("TIDY-09")
def test_every_limit_is_enforced_and_named_with_its_unit() -> None:
    limits = ROOT / "sidecar" / "limits.py"
    names = {n.target.id for n in tree_of(limits).body if isinstance(n, ast.AnnAssign)}  # type: ignore[union-attr]
    assert {name for name in names if not set(name.split("_")) & LIMIT_UNITS} == set()
    everywhere = "\n".join(text_of(path) for path in sidecar_files() if path != limits)
    inside = text_of(limits)
    unused = {
        name
        for name in names
        if not re.search(rf"\b{name}\b", everywhere)
        and len(re.findall(rf"\b{name}\b", inside)) == 1
    }
    assert unused == set()


@pytest.mark.gate("TIDY-10")
def test_modules_import_only_through_the_one_way_doors() -> None:
    wrong: list[str] = []
    for path in sidecar_files():
        layer = layers.layer_of(module_of(path))
        if layer is None or name_of(path) in layers.SERVER_COMMANDS:
            continue
        allowed = {layer} | layers.LAYERS[layer][1]
        for line, imported in imports(path):
            target = layers.layer_of(imported)
            if target and target not in allowed:
                wrong.append(f"{name_of(path)}:{line} {layer} imports {imported} of {target}")
    assert wrong == []


def module_of(path: Path) -> str:
    """The dotted name by which the file is imported."""
    return name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@pytest.mark.gate("TIDY-10")
def test_the_planner_cannot_reach_the_world() -> None:
    for path in [*python_files("sidecar/plan"), ROOT / "sidecar" / "strength.py"]:
        for line, imported in imports(path):
            head, _, rest = imported.partition(".")
            pure = (
                rest.partition(".")[0] in layers.PLAN_MODULES | {""}
                if head == "sidecar"
                else head in layers.PLAN_LIBRARIES
            )
            assert pure, f"{name_of(path)}:{line} imports {imported}"
        used = {name.rpartition(".")[2] for name, _ in calls(tree_of(path))}
        assert not used & {"open", "__import__", "exec", "eval", "compile", "input"}, name_of(path)


@pytest.mark.gate("TIDY-10")
def test_a_library_is_known_in_its_own_layers_only() -> None:
    wrong = [
        f"{name_of(path)}:{line} imports {imported}"
        for path in sidecar_files()
        for line, imported in imports(path)
        if (allowed := layers.LIBRARY_LAYERS.get(imported.partition(".")[0])) is not None
        and layers.layer_of(module_of(path)) not in allowed
    ]
    assert wrong == []


@pytest.mark.gate("TIDY-10")
def test_jsonrpcserver_stays_behind_one_module() -> None:
    knowing = {
        name_of(path)
        for path in python_files()
        for _, imported in imports(path)
        if imported.partition(".")[0] == "jsonrpcserver"
    }
    assert knowing == {layers.JSONRPCSERVER_HOME}


@pytest.mark.gate("TIDY-11")
def test_only_listed_commands_know_the_server() -> None:
    allowed = {"cli"} | layers.LAYERS["cli"][1]
    for path in python_files("sidecar/cli"):
        for line, imported in imports(path, top_level_only=True):
            target = layers.layer_of(imported)
            assert target is None or target in allowed, f"{name_of(path)}:{line} {imported}"


@pytest.mark.gate("TIDY-11")
def test_starting_the_command_loads_no_server() -> None:
    heavy = ("aiohttp", "apsw", "jsonrpcserver", "numpy", "watchfiles", "zstandard", "structlog")
    program = f"import sys, sidecar.cli.main\nprint([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.gate("TIDY-12")
def test_only_listed_files_take_files_away() -> None:
    found_in = {
        name_of(path)
        for path in sidecar_files()
        for name, call in calls(tree_of(path))
        if removes_a_file(name, call)
    }
    assert found_in == set(REMOVERS)


def removes_a_file(name: str, call: ast.Call) -> bool:
    """Whether the call deletes a file or folder, or puts a file in the place of another."""
    head, _, last = name.rpartition(".")
    if head == "os":
        return last in {"unlink", "remove", "rmdir", "removedirs", "rename", "renames", "replace"}
    if head == "shutil":
        return last in {"rmtree", "move"}
    # A path's own methods. `replace` of a text has two arguments, that of a struct has names.
    replaces = last == "replace" and len(call.args) == 1 and not call.keywords
    return last in {"unlink", "rmdir", "rename"} or replaces


@pytest.mark.gate("TIDY-13")
def test_sockets_are_bound_by_us_and_handed_over() -> None:
    for path in sidecar_files():
        for name, call in calls(tree_of(path)):
            last = name.rpartition(".")[2]
            where = f"{name_of(path)}:{call.lineno}"
            assert last not in {"UnixSite", "run_app"}, where
            if last in {"create_unix_server", "start_unix_server"}:
                keywords = {keyword.arg for keyword in call.keywords}
                assert "sock" in keywords, where
                assert "path" not in keywords, where
                assert len(call.args) < 2, where  # the second would be the path


@pytest.mark.gate("TIDY-14")
def test_time_comes_from_the_clock() -> None:
    asked = [
        f"{name_of(path)}:{call.lineno} {name}"
        for path in sidecar_files()
        if name_of(path) not in CLOCK_USERS
        for name, call in calls(tree_of(path))
        if name in WALL_CLOCKS
    ]
    assert asked == []


@pytest.mark.gate("TIDY-15")
def test_no_error_is_swallowed_whole() -> None:
    for path in python_files():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ExceptHandler):
                where = f"{name_of(path)}:{node.lineno}"
                assert node.type is not None, where
                if dotted(node.type) == "BaseException":
                    raised = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
                    handed = any(n.endswith(".set_exception") for n, _ in calls(node))
                    assert raised or handed, f"{where} must raise again or hand it to a future"
