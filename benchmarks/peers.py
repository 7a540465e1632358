"""Other packages that forget, on the same texts: what comes closest to a plan and to a run.

They are installed into a throw-away environment and driven by `peer_runs.py` with their own
functions. None of them has all that is measured of forgetd (durable, restorable, with text
index and log), so the figures say where forgetd stands, not who is better.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.context import Context
from benchmarks.daemons import environment
from benchmarks.figures import Figure, grouped

SCRIPT: Final = Path(__file__).with_name("peer_runs.py")


@dataclass(frozen=True, slots=True)
class Peer:
    """A package at one version, and what it does not name itself."""

    name: str
    requirements: tuple[str, ...]


PEERS: Final = (
    Peer("fademem", ("fademem==0.1.2",)),
    Peer("cortexgraph", ("cortexgraph==1.2.1", "mcp<2")),
    Peer("forgetforge", ("cluxion-agentplugin-autoclearmemory==0.3.24",)),
)


def measure(context: Context) -> list[Figure]:
    """Each peer that can be installed and run here; a note for each that cannot."""
    source = context.scratch / "memories.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for batch in context.corpus.batches(context.memories, 0):
            file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in batch)
    figures: list[Figure] = []
    for peer in PEERS:
        context.tell(f"installing and running {peer.name}")
        try:
            figures += _figures(peer.name, context, _run(peer, context, source))
        except subprocess.CalledProcessError as error:
            last = (error.stderr or "").strip().splitlines()[-1:]
            context.tell(f"{peer.name} cannot be measured here: {' '.join(last)}")
    return figures


def _run(peer: Peer, context: Context, source: Path) -> dict[str, Any]:
    place = context.scratch / f"peer-{peer.name}"
    folder = place / "store"
    folder.mkdir(parents=True)
    python = place / "venv" / "bin" / "python"
    _checked(sys.executable, "-m", "venv", place / "venv")
    _checked(python, "-m", "pip", "install", "--quiet", *peer.requirements)
    return json.loads(_checked(python, SCRIPT, peer.name, source, folder).splitlines()[-1])


def _checked(*command: str | Path) -> str:
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment()
    ).stdout


def _figures(name: str, context: Context, found: dict[str, Any]) -> list[Figure]:
    count, forgotten = context.memories, found["forgotten"]
    sizes = f"{found['before'] / 1e6:.0f} → {found['after'] / 1e6:.0f} MB"
    figures: list[Figure] = []
    if found["plan"] is not None:
        figures.append(
            Figure("peers", f"{name}: plan over {grouped(count)} texts", found["plan"], "s")
        )
    figures.append(
        Figure(
            "peers",
            f"{name}: forget {grouped(forgotten)} texts",
            found["forget"],
            "s",
            note=f"{sizes}; {found['note']}",
        )
    )
    return figures
