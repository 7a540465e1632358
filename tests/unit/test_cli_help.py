"""The help of every command is enough, and says nothing that is not there."""

import re
from collections.abc import Iterator

import click
import pytest

from sidecar import errors
from sidecar.cli import failures
from sidecar.cli.main import COMMANDS, command
from sidecar.suggest import closest
from tests.unit.cli_run import Run, runner


@pytest.fixture
def forgetd(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def walk(
    group: click.Group = command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that call it, subcommands too."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield (*path, name), found
        if isinstance(found, click.Group):
            yield from walk(found, (*path, name))


ALL = dict(walk())
GLOBAL = {option for parameter in command.params for option in parameter.opts}


@pytest.mark.gate("CLI-33")
def test_the_walk_sees_every_command() -> None:
    assert {path[0] for path in ALL} == set(COMMANDS)
    assert ("config", "show") in ALL


@pytest.mark.gate("CLI-33")
@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_option_and_argument_is_explained(
    forgetd: Run, path: tuple[str, ...]
) -> None:
    done = forgetd(*path, "--help")
    assert (done.code, done.err) == (0, "")
    assert len(ALL[path].help or "") > 10
    for parameter in ALL[path].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
        else:
            assert parameter.human_readable_name.upper() in done.out


@pytest.mark.gate("CLI-33")
@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_option_and_exit_code_that_a_help_names_exists(
    forgetd: Run, path: tuple[str, ...]
) -> None:
    own = {option for parameter in ALL[path].params for option in parameter.opts}
    text = forgetd(*path, "--help").out
    for shown in set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)):
        elsewhere = re.search(rf"forgetd [a-z ]+{shown}", text)
        assert shown in own | GLOBAL | {"--help"} or elsewhere, shown
    listed = exit_codes(forgetd)
    for sentence in re.findall(r"Exit\s+codes?\s[^.]*\.", text):
        for code in re.findall(r"(?:code|,|and)\s+(\d+) ", sentence):
            assert int(code) in listed, sentence


def exit_codes(forgetd: Run) -> set[int]:
    """The codes that `forgetd --help` lists."""
    _, _, codes = forgetd("--help").out.partition("Exit codes:")
    return {int(code) for code in re.findall(r"^\s+(\d+) +\w", codes, re.MULTILINE)}


@pytest.mark.gate("CLI-34")
def test_every_exit_code_in_use_is_listed_and_no_other(forgetd: Run) -> None:
    used = {0} | {value for value in vars(failures).values() if isinstance(value, int)}
    used |= {kind.exit_code for kind in errors.walk()}
    used |= {kind.exit_code for kind in (errors.StartError, *errors.StartError.__subclasses__())}
    assert exit_codes(forgetd) == used


@pytest.mark.gate("CLI-35")
def test_an_id_that_begins_with_a_dash_gets_a_hint(forgetd: Run) -> None:
    done = forgetd("get", "-v123")
    assert done.code == 64
    assert "stands after --: forgetd get -- " in done.err
    assert "after --:" not in forgetd("status", "-v123").err


@pytest.mark.gate("CLI-36")
@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("idempotencyKey", ("importance", "id", "metadata"), None),
        ("prune", ("run", "runs"), None),
        ("search", ("serve", "sweep"), None),
        ("x", ("xylophone",), None),
        ("stauts", ("status", "stop"), "status"),
        ("contnet", ("content", "metadata"), "content"),
        ("memory_type", ("memoryType",), "memoryType"),
        ("brake", ("brakeShare", "newbornDays"), "brakeShare"),
        ("forget", ("forgetThresholdCount", "forgetEnabled"), None),
        ("forget_treshold_count", ("forget_threshold_count",), "forget_threshold_count"),
    ],
)
def test_only_a_slip_of_the_fingers_is_guessed_at(
    name: str, known: tuple[str, ...], meant: str | None
) -> None:
    assert closest(name, known) == meant
