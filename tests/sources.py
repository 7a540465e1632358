"""The repository's own files, read and parsed once, for the tests that look at them."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY_SUFFIXES = {".db", ".gz", ".png", ".sqlite", ".zst"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def repository_files() -> tuple[Path, ...]:
    """Every file that is tracked, or would be by `git add .`; sorted."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (ROOT / name for name in listing.split("\0") if name)
    return tuple(sorted(path for path in paths if path.is_file()))


def text_files() -> Iterator[Path]:
    """The repository's files that hold text."""
    return (path for path in repository_files() if path.suffix not in BINARY_SUFFIXES)


def python_files(folder: str = "") -> Iterator[Path]:
    """The repository's Python files at or below `folder`."""
    below = ROOT / folder
    return (p for p in repository_files() if p.suffix == ".py" and p.is_relative_to(below))


@cache
def text_of(path: Path) -> str:
    """The file's text. A byte that is not UTF-8 is an error: none of ours has one."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """The parsed module."""
    return ast.parse(text_of(path), filename=str(path))


def name_of(path: Path) -> str:
    """The path as a reader writes it: from the repository's root, with slashes."""
    return path.relative_to(ROOT).as_posix()


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function and method, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Every call with the dotted name of what is called; `?` stands for an expression."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield dotted(node.func), node


def dotted(node: ast.expr) -> str:
    """`os.path.join` for the expression that says so; `?` where it starts with no name."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{dotted(value)}.{attribute}"
        case _:
            return "?"


def imports(path: Path, *, top_level_only: bool = False) -> Iterator[tuple[int, str]]:
    """Every module that a file imports, with the line: `from a import b` gives `a` and `a.b`.

    Imports for type checkers alone are left out with `top_level_only`, as are those in
    functions: what remains runs when the module is imported.
    """
    tree = tree_of(path)
    nodes = _import_time(tree.body) if top_level_only else ast.walk(tree)
    package = name_of(path).removesuffix(".py").split("/")[:-1]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def _import_time(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in dotted(node.test):
            yield from _import_time(node.orelse)
        elif not isinstance(node, Function):
            yield node
            for field in ("body", "orelse", "finalbody"):
                yield from _import_time(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from _import_time(handler.body)
