"""Another resolver of duplicates than the daemon's own, by its name in the configuration.

The name is `package.module:name`; `name` is a class that is made without arguments, a function
that is called without arguments, or a ready object. What comes of it has a method `resolve`
(sidecar.plan.duplicates.DuplicateResolver). It is code of the operator's: whoever may write the
configuration file may run it.
"""

import importlib
import re
from typing import Any, Final, cast

from sidecar.errors import ConfigError
from sidecar.plan.duplicates import DuplicateResolver, GuardedResolver

_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
KEY: Final = "cycle.duplicate_resolver"


def load_resolver(name: str | None) -> DuplicateResolver:
    """The resolver of this name; the daemon's own for None or an empty name.

    Raises ConfigError, which says what to mend, where the name has another form, the module
    cannot be imported, has nothing of this name, or what it has resolves nothing.
    """
    if not name:
        return GuardedResolver()
    if not _NAME.fullmatch(name):
        raise _wrong(name, "the name has another form", "write it as package.module:name")
    module_name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise _wrong(
            name,
            f"{module_name} cannot be imported ({type(error).__name__}: {error})",
            "install it into the environment that runs forgetd",
        ) from error
    made: Any = getattr(module, attribute, None)
    if made is None:
        raise _wrong(name, f"{module_name} has no {attribute}", "check the spelling")
    if callable(made) and (isinstance(made, type) or not hasattr(made, "resolve")):
        try:
            made = made()
        except Exception as error:
            raise _wrong(
                name,
                f"it cannot be made ({type(error).__name__}: {error})",
                "let it need no arguments",
            ) from error
    if not callable(getattr(made, "resolve", None)):
        raise _wrong(name, "it resolves nothing", "give it a method resolve(candidates)")
    return cast(DuplicateResolver, made)


def _wrong(name: str, message: str, remedy: str) -> ConfigError:
    return ConfigError(f"{KEY} = {name!r}: {message}", remedy)
