"""The documents say what is there: commands, methods, options, errors, keys, limits."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

from sidecar import config, errors, limits, thresholds
from tests.sources import ROOT, name_of, repository_files, text_of, tree_of

PAGES = ("methods", "errors", "limits", "configuration", "operations")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
INLINE_COMMAND = re.compile(r"`((?:forgetd|make) [^`]+)`")
# What a reader's shell has anyway.
FOREIGN_COMMANDS = {"curl", "export", "npm", "node", "cd", "git", "pip"}


def documents() -> list[Path]:
    """Every Markdown file that a user may read."""
    return [p for p in repository_files() if p.suffix == ".md" and "node_modules" not in p.parts]


def page(name: str) -> str:
    """The text of docs/`name`.md."""
    return text_of(ROOT / "docs" / f"{name}.md")


def table_rows(text: str) -> Iterator[list[str]]:
    """The cells of every table row, backticks kept."""
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith("|--"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.gate("DOC-01")
@pytest.mark.parametrize(
    "name", ["README.md", "testing.md", "CHANGELOG.md", "LICENSE", *(f"docs/{p}.md" for p in PAGES)]
)
def test_the_document_is_there(name: str) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8")) > 500


@pytest.mark.gate("DOC-01")
def test_no_link_is_dead() -> None:
    dead = [
        f"{name_of(path)}: {target}"
        for path in documents()
        for target in LINK.findall(text_of(path))
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert dead == []


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line that a document shows in a block or in running text, split in words."""
    for path in documents():
        text = text_of(path)
        lines = [
            line
            for language, block in FENCE.findall(text)
            if language in {"sh", "bash", "console"}
            for line in block.replace("\\\n", " ").splitlines()
        ]
        lines += INLINE_COMMAND.findall(text)
        for line in lines:
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words:
                yield name_of(path), words


@pytest.mark.gate("DOC-02")
def test_every_command_shown_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    for document, words in shown_commands():
        where = f"{document}: {shlex.join(words)}"
        if words[0] == "make":
            assert words[1] in targets, where
        elif words[0] == "forgetd":
            assert_forgetd_has(words[1:], where)
        elif document == "README.md":
            assert words[0] in FOREIGN_COMMANDS, where


def assert_forgetd_has(words: list[str], where: str) -> None:
    """The command is one of forgetd's, and its help knows every flag that is shown with it."""
    words = [word for word in words if word != "&"]
    known = help_of(words[0])
    assert known, f"{where}: there is no such command"
    if len(words) > 1 and re.search(rf"^  {words[1]} ", known, re.MULTILINE):
        known += help_of(*words[:2]) or ""
    for flag in (word.partition("=")[0] for word in words if word.startswith("--")):
        assert re.search(rf"{flag}\b", known + (help_of("--help") or "")), f"{where}: no {flag}"


@cache
def help_of(*command: str) -> str | None:
    """What `forgetd COMMAND --help` prints, or None where there is no such command."""
    program = "import sys; from sidecar.cli.main import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, *command, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode == 0 else None


@pytest.mark.gate("DOC-03")
def test_every_method_is_listed_and_no_other() -> None:
    from sidecar.rpc import methods

    listed = [
        match[1]
        for cells in table_rows(page("methods"))
        if len(cells) == 3
        and (match := re.fullmatch(r"`(\w+\.\w+|forgetSweep|coldSpill|simulate)`", cells[0]))
    ]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(methods.METHODS)


@pytest.mark.gate("DOC-03")
def test_every_parameter_of_a_method_is_listed() -> None:
    from sidecar.rpc import methods

    rows = {cells[0].strip("`"): cells[1] for cells in table_rows(page("methods"))}
    for name, method in methods.METHODS.items():
        shown = page("methods") if name == "memory.put" else rows[name]
        for parameter in (field.encode_name for field in msgspec.structs.fields(method.params)):
            assert parameter == "namespace" or f"`{parameter}`" in shown, f"{name}: {parameter}"


@pytest.mark.gate("DOC-04")
@pytest.mark.parametrize("option", thresholds.WIRE_NAMES)
def test_every_threshold_is_documented_with_its_default(option: str) -> None:
    default = wire_number(thresholds.DEFAULTS[option])
    readme = {cells[0]: cells[1] for cells in table_rows(text_of(ROOT / "README.md"))}
    assert readme.get(f"`{option}`") == default
    keys = {cells[1]: (cells[0], cells[2]) for cells in table_rows(page("configuration"))}
    assert keys.get(f"`{option}`") == (f"`{thresholds.SNAKE_BY_WIRE[option]}`", default)
    assert f"`{option}`" in page("operations") + text_of(ROOT / "README.md")


def wire_number(value: object) -> str:
    """A value as the documents write it: true, 2, 0.05."""
    return str(value).lower() if isinstance(value, bool) else f"{value:.12g}"


@pytest.mark.gate("DOC-05")
def test_every_error_is_documented() -> None:
    documented = {
        cells[1].strip("`"): cells for cells in table_rows(page("errors")) if len(cells) == 6
    }
    documented.pop("symbol")
    for kind in errors.walk():
        cells = documented.pop(kind.symbol, None)
        assert cells, f"docs/errors.md lacks {kind.symbol}"
        retry = "yes" if kind.retryable else "no"
        assert cells[0] == str(kind.code), kind.symbol
        assert cells[2:4] == [retry, str(kind.exit_code)], kind.symbol
        assert all(len(cell) > 10 for cell in cells[4:]), kind.symbol
    assert not documented, "docs/errors.md has errors that the daemon has not"


@pytest.mark.gate("DOC-06")
def test_every_configuration_key_is_documented() -> None:
    text = page("configuration")
    for section in config.SECTIONS:
        assert f"[{section}" in text, section
    documented = {cells[0].strip("`") for cells in table_rows(text)} - {"key"}
    assert documented == {
        *config.DAEMON_KEYS,
        *config.GC_KEYS,
        *thresholds.WIRE_BY_SNAKE,
        *(key for table in config.OPTION_TABLES.values() for key in table.keys),
    }


@pytest.mark.gate("DOC-07")
def test_every_limit_is_documented_with_its_value() -> None:
    tree = tree_of(ROOT / "sidecar" / "limits.py")
    names = [
        n.target.id
        for n in tree.body
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    ]
    rows = {cells[0].strip("`"): cells[1] for cells in table_rows(page("limits"))}
    rows.pop("name")
    assert rows == {name: str(getattr(limits, name)) for name in names}


@pytest.mark.gate("DOC-07")
@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("| content of one memory | 1 MiB |", limits.CONTENT_BYTES_MAX == 2**20),
        ("| id | 256 bytes |", limits.ID_BYTES_MAX == 256),
        ("| metadata | 64 KiB |", limits.METADATA_BYTES_MAX == 2**16),
        ("| embedding | 4096 numbers |", limits.EMBEDDING_DIMENSIONS_MAX == 4096),
        ("| memories in one `putMany` | 10000 |", limits.PUT_MANY_MEMORIES_MAX == 10_000),
        ("32 MiB, 100 calls a batch", limits.BODY_BYTES_MAX == 2**25),
        ("32 MiB, 100 calls a batch", limits.BATCH_CALLS_MAX == 100),
        ("| path of the socket | 107 bytes |", limits.SOCKET_PATH_BYTES_MAX == 107),
    ],
)
def test_the_readme_shows_the_limits_in_force(shown: str, value: bool) -> None:
    assert shown in text_of(ROOT / "README.md")
    assert value
