"""The entry of the server: from options to a running daemon, and from its end to an exit code."""

import asyncio
import os
import resource
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from sidecar.clock import Clock
from sidecar.config import Config, load_config
from sidecar.daemon import log
from sidecar.daemon.directories import (
    outside_of_the_package,
    private_directory,
    temporary_directory,
)
from sidecar.daemon.lifecycle import (
    ConfiguredRegistry,
    Daemon,
    EventSink,
    RegistryFactory,
    Surroundings,
)
from sidecar.daemon.lock import lock_socket, lock_state
from sidecar.daemon.socket import BoundSocket, bind, check_path
from sidecar.errors import StartError
from sidecar.limits import SOCKET_PATH_BYTES_MAX
from sidecar.locations import admin_socket_path

OPEN_FILES_WANTED: Final = 8_192
PRIVATE_UMASK: Final = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The flags of `forgetd serve`; None is not given.

    `idle_exit_seconds`: end when for so long nobody was connected and no call or run was under
    way, for a client that starts a daemon of its own.
    """

    socket: str | None = None
    state_dir: str | None = None
    config: str | None = None
    log_level: str | None = None
    allow_injected_clock: bool = False
    idle_exit_seconds: float | None = None


def make_registry(
    *, state_dir: Path, clock: Clock, config: Config, on_event: EventSink
) -> ConfiguredRegistry:
    """The registry of the namespaces below `state_dir`."""
    # Here, because SQLite must find its directory for temporary files in the environment.
    from sidecar.registry import Registry

    return Registry(state_dir, clock, config, on_event)


def serve(options: ServeOptions, registry_factory: RegistryFactory = make_registry) -> int:
    """Run a daemon until it is told to stop; the exit code.

    What keeps it from starting is told on standard error, with what to do about it.
    """
    try:
        load = partial(
            load_config,
            path=options.config,
            flags={
                "daemon.socket": options.socket,
                "daemon.state_dir": options.state_dir,
                "daemon.log_level": options.log_level,
            },
        )
        config = load()
        log.configure(config.daemon.log_level)
        os.umask(PRIVATE_UMASK)
        _allow_many_files()
        with _place(config) as (bound, admin):
            around = Surroundings(
                bound=bound,
                admin=admin,
                config=config,
                load_config=load,
                registry_factory=registry_factory,
                allow_injected_clock=options.allow_injected_clock,
                idle_exit_seconds=options.idle_exit_seconds,
            )
            return asyncio.run(_run(around))
    except StartError as error:
        return _refuse(error)
    except OSError as error:
        return _refuse(
            StartError(
                f"the system refused what the daemon needs ({error})",
                "look at the disk, its free space and the permissions of the state directory",
            )
        )


def _refuse(error: StartError) -> int:
    sys.stderr.write(f"forgetd: {error.message}\n  next: {error.remedy}\n")
    return error.exit_code


async def _run(around: Surroundings) -> int:
    return await Daemon(around).run()


@contextmanager
def _place(config: Config) -> Generator[tuple[BoundSocket, BoundSocket | None], None, None]:
    """The directories checked, both locks held, the sockets bound, for as long as it lasts.

    The second one is the admin socket; None where its path is longer than the system allows.
    """
    state_dir, socket = config.daemon.state_dir, config.daemon.socket
    check_path(socket)
    outside_of_the_package(state_dir)
    with ExitStack() as held:
        private_directory(state_dir, "state directory")
        private_directory(socket.parent, "socket directory")
        held.callback(lock_socket(socket).release)
        held.callback(lock_state(state_dir).release)
        os.environ["SQLITE_TMPDIR"] = str(temporary_directory(state_dir))
        bound = bind(socket)
        held.callback(bound.close)
        admin = None
        if len(os.fsencode(admin_socket_path(socket))) <= SOCKET_PATH_BYTES_MAX:
            admin = bind(admin_socket_path(socket))
            held.callback(admin.close)
        yield bound, admin


def _allow_many_files() -> None:
    """A soft limit of 1,024 files is less than the connections and databases that are allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_WANTED if hard == resource.RLIM_INFINITY else min(OPEN_FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
