"""A changed forgetd.toml is read again: as a whole and only if all of it is right."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, cast

import structlog

from sidecar.config import DAEMON_KEYS, Config
from sidecar.daemon import log
from sidecar.daemon.schedule import effective_schedule
from sidecar.errors import ConfigError

WATCH_DEBOUNCE_MS: Final = 200

_log: Final = structlog.get_logger("sidecar.daemon")


class Reloader:
    """Holds the config in force and swaps it. `apply` carries a new one to the namespaces."""

    def __init__(
        self,
        config: Config,
        load: Callable[[], Config],
        apply: Callable[[Config], Awaitable[None]],
    ) -> None:
        self.config = config
        self._load = load
        self._apply = apply
        self._swapping = asyncio.Lock()

    async def reload(self) -> bool:
        """Read the file again; whether something changed. A bad file changes nothing."""
        async with self._swapping:
            try:
                new = self._load()
            except ConfigError as error:
                _log.error(
                    "config refused, the old one stays",
                    problem=error.message,
                    remedy=error.remedy,
                )
                return False
            old, self.config = self.config, new
            if new == old:
                return False
            log.set_level(new.daemon.log_level)
            await self._apply(new)
            _log.info(
                "config changed",
                needsRestart=_needing_restart(old, new),
                schedule=effective_schedule(new),
            )
            return True

    async def watch(self) -> None:
        """Reload whenever the file changes, for ever. Ends at once where its folder is missing."""
        path = self.config.path
        if path is None or not path.parent.is_dir():
            return
        import watchfiles

        seen: object = object()

        # A file that editors replace by renaming is lost to a watch on itself, not on its folder.
        def is_ours(_: object, changed: str) -> bool:
            return Path(changed).name == path.name

        changes = cast(Any, watchfiles).awatch(
            path.parent,
            watch_filter=is_ours,
            debounce=WATCH_DEBOUNCE_MS,
            recursive=False,
            # A look every few seconds finds also what happened before the watch was set up, and
            # a file that is a link to another folder.
            yield_on_timeout=True,
        )
        async for _ in changes:
            found = _signature(path)
            if found != seen:
                seen = found
                await self.reload()


def _signature(path: Path) -> object:
    """Something that differs when the file does."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _needing_restart(old: Config, new: Config) -> list[str]:
    changed = [key for key in DAEMON_KEYS if getattr(old.daemon, key) != getattr(new.daemon, key)]
    return [f"daemon.{key}" for key in changed if key != "log_level"]
