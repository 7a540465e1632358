"""The one-way doors: which module of the daemon may import which.

A module belongs to the layer that names it or its package, else to the layer of the namespace. It
may import its own layer and those listed for it, nothing else of ours.
"""

BASE = {
    "clock", "config_text", "cycle_reports", "errors", "estimate", "estimate_words",
    "explain_reports", "gc_reports", "idempotency", "lifecycle_reports", "limits", "locations",
    "media_reports", "model", "proposal_reports", "reasons", "reports", "review_reports",
    "simulation_reports", "suggest",
}  # fmt: skip
VALUES = {"base", "strength", "plan", "settings"}

# layer -> (the modules of it, the layers it may import besides itself)
LAYERS: dict[str, tuple[set[str], set[str]]] = {
    "base": (BASE, set()),
    "strength": ({"strength"}, {"base"}),
    "plan": ({"plan"}, {"base", "strength"}),
    "settings": (
        {
            "cycle_config",
            "exchange",
            "lifecycle_config",
            "option_table",
            "thresholds",
            "validation",
        },
        {"base", "plan"},
    ),
    "config": ({"config"}, {"base", "settings"}),
    "store": ({"store"}, VALUES),
    "apply": ({"apply"}, VALUES | {"store"}),
    "namespace": (set(), VALUES | {"config", "store", "apply"}),
    "rpc": ({"rpc"}, {"base", "plan", "settings", "config", "namespace"}),
    "daemon": ({"daemon"}, {"base", "settings", "config", "namespace", "rpc"}),
    "importers": ({"importers"}, {"base", "settings"}),
    "client": ({"client", "event_client"}, {"base"}),
    "cli": ({"cli"}, {"base", "settings", "config", "client", "importers"}),
}

# The commands that run server code, in the function that does it: serve, and what reads files.
SERVER_COMMANDS = {
    f"sidecar/cli/{name}.py"
    for name in ("backup", "check", "doctor", "rebuild", "serve", "state_files")
}

# plan/ is pure: numpy, our values, and of the standard library what cannot reach the world.
PLAN_MODULES = {"strength", "limits", "model", "errors", "plan"}
PLAN_LIBRARIES = {
    "__future__", "bisect", "collections", "dataclasses", "enum", "functools", "heapq",
    "itertools", "math", "numpy", "operator", "re", "typing", "unicodedata",
}  # fmt: skip

# A library and the layers that may know it.
LIBRARY_LAYERS: dict[str, set[str]] = {
    "aiohttp": {"rpc", "daemon"},
    "apsw": {"store", "apply", "namespace"},
    "click": {"cli"},
    "jsonrpcserver": {"rpc"},
    "numpy": {"plan", "strength", "store", "apply", "namespace"},
    "rich": {"cli"},
    "sqlite3": {"importers"},
    "structlog": {"namespace", "rpc", "daemon"},
    "watchfiles": {"daemon"},
    "zstandard": {"store"},
}
JSONRPCSERVER_HOME = "sidecar/rpc/dispatch.py"


def layer_of(module: str) -> str | None:
    """The layer of `sidecar.a.b`; None for what is not a module of ours."""
    parts = module.split(".")
    if (
        parts[0] != "sidecar"
        or len(parts) == 1
        or not parts[1].islower()
        or parts[1].startswith("__")
    ):
        return None
    named = (layer for layer, (modules, _) in LAYERS.items() if parts[1] in modules)
    return next(named, "namespace")
