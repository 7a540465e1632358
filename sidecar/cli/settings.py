"""The options that every command takes, before or after its name."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from sidecar.client import Client, Params, Unreachable
from sidecar.locations import (
    SOCKET_VARIABLE,
    STATE_VARIABLE,
    admin_socket_path,
    config_path,
    socket_path,
    state_directory,
)

DEFAULT_NAMESPACE: Final = "default"


@dataclass
class Settings:
    """What the global options say. None where an option was not given."""

    socket: str | None = None
    state_dir: str | None = None
    namespace: str | None = None
    json: bool = False
    argument: str | None = None  # the namespace, where an argument names it

    def client(self) -> Client:
        """A client of the daemon that the options, the environment or the file name."""
        state = self.state_dir or os.environ.get(STATE_VARIABLE) or _written("state_dir")
        given = self.socket or os.environ.get(SOCKET_VARIABLE) or _written("socket")
        return Client(socket_path(given, state))

    def state_directory(self) -> Path:
        """The absolute path of the state directory that they name."""
        given = self.state_dir or os.environ.get(STATE_VARIABLE) or _written("state_dir")
        return state_directory(given)

    def call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of a method in the namespace that these options name.

        Parameters that are None are left out. Raises as Client.call.
        """
        given = {name: value for name, value in (params or {}).items() if value is not None}
        return self.client().call(method, {"namespace": self.namespace_name(), **given})

    def call_daemon(self, method: str, params: Params | None = None) -> Any:
        """The result of a method, with exactly these parameters. Raises as Client.call."""
        return self.client().call(method, params)

    def call_admin(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The same on the admin socket; where there is none, the main one may serve it too."""
        client = self.client()
        given = {name: value for name, value in (params or {}).items() if value is not None}
        named = {"namespace": self.namespace_name(), **given}
        try:
            return Client(admin_socket_path(client.socket)).call(method, named)
        except Unreachable as unreachable:
            if unreachable.reason not in ("no_socket", "path_too_long"):
                raise
            return client.call(method, named)

    def namespace_name(self) -> str:
        """The namespace to use."""
        return DEFAULT_NAMESPACE if self.namespace is None else self.namespace

    def use_namespace(self, name: str) -> None:
        """Take the namespace that an argument names. Raises UsageError where an option differs."""
        if self.namespace not in (None, name):
            raise click.UsageError(
                f"--namespace says {self.namespace}, the argument {name}: give one of them"
            )
        self.namespace = self.argument = name

    def hint(self, arguments: str, namespace: str | None = None) -> str:
        """A command line for the user to type, which reaches the same daemon.

        It is about `namespace`, or about the one that these options name.
        """
        shown = self.namespace_name() if namespace is None else namespace
        words = ["forgetd"]
        for option, value in (
            ("--socket", self.socket),
            ("--state-dir", self.state_dir),
            ("--namespace", None if shown == DEFAULT_NAMESPACE else shown),
        ):
            if value is not None:
                words += [option, shlex.quote(value)]
        return " ".join([*words, arguments])


def settings() -> Settings:
    """The settings of the command that runs."""
    return click.get_current_context().ensure_object(Settings)


class Command(click.Command):
    """A command that takes the global options too."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params += _global_options()


class Group(click.Group):
    """A command with commands of its own; it and they take the global options too."""

    command_class = Command

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params += _global_options()


def _global_options() -> list[click.Parameter]:
    def option(name: str, explanation: str, **attributes: Any) -> click.Option:
        return click.Option(
            [name], help=explanation, expose_value=False, callback=_remember, **attributes
        )

    return [
        option("--socket", "The daemon's socket (default: $FORGETD_SOCKET).", metavar="PATH"),
        option("--state-dir", "The daemon's state directory.", metavar="DIRECTORY"),
        option("--namespace", f"Default: {DEFAULT_NAMESPACE}.", metavar="NAME"),
        option("--json", "Print the daemon's answer as JSON.", is_flag=True),
    ]


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    # Not given after the name: what was given before it stays.
    options = context.ensure_object(Settings)
    if option.name == "namespace" and value is not None and options.argument is not None:
        options.use_namespace(value)
    elif value is not None and value is not False and option.name:
        setattr(options, option.name, value)


def _written(key: str) -> str | None:
    """A key of the [daemon] section of forgetd.toml; what is wrong there `serve` tells."""
    path = config_path()
    if not path.is_file():
        return None
    import tomllib

    try:
        section: Any = tomllib.loads(path.read_text()).get("daemon", {})
        value = section.get(key)
    except (OSError, ValueError, AttributeError):
        return None
    return value if isinstance(value, str) else None
