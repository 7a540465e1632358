"""A real daemon for the tests: its own process, socket and state directory."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.running import RunningDaemon, running_daemon
from tests.wire import short_directory


@pytest.fixture(scope="module")
def daemon() -> Iterator[RunningDaemon]:
    """One daemon for all tests of a module: each test uses a namespace of its own."""
    with short_directory() as folder, running_daemon(folder) as started:
        yield started


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> str:
    """A namespace name that no other test of the module uses."""
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    return name[:64]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private folder for a daemon that a test starts itself."""
    with short_directory() as made:
        yield made


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., RunningDaemon]]:
    """A function that starts a daemon with options, in `folder`; all are stopped at the end."""
    with ExitStack() as stack:
        yield lambda *options, **variables: stack.enter_context(
            running_daemon(folder, *options, **variables)
        )
