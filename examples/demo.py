"""The whole of forgetd in half a minute: import, plan, apply, recall, undo, cycle, destroy.

    make demo                                # everything in a temporary directory, then gone
    .venv/bin/python examples/demo.py --keep     # the directory stays, to look around in

A daemon of its own runs with an injected clock, so that 300 days pass at once. The parts in
TypeScript are in examples/demo. Every line with a tick was checked; the first that is not as
told ends the demo with exit code 1.
"""

import argparse
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from demo_story import NotAsTold, claim, say, scene

from sidecar.client import Client, RpcFailure, Unreachable
from sidecar.limits import MILLISECONDS_PER_DAY, SOCKET_PATH_BYTES_MAX

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "ts-client" / "build" / "examples" / "demo"
MEMORY_FILE = Path("examples", "data", "mcp-memory.jsonl")
FORGETD = (sys.executable, "-m", "sidecar.cli.main")

NAMESPACE = "demo"
IMPORTED = 154
HOT_AFTER_SPILL = 108  # nine tenths of the threshold of 120
DAYS = 300
CYCLE_DAYS = 14
# What two weeks make of memories: (id, what it says, importance, what the cycle does with it).
CYCLE_FACTS = (
    ("home-old", "Mina lives in Busan", 0.9, "superseded"),
    ("home", "Mina lives in Seoul", 0.9, None),
    ("nuts", "Mina is allergic to nuts", 0.9, None),
    ("nuts-again", "Mina is allergic to nuts!", 0.6, "likely_duplicate"),
    ("nuts-not", "Mina is not allergic to nuts", 0.6, None),
    ("row-one", "Parked the car in row one", 0.1, "time_decay"),
    ("row-two", "Parked the car in row two", 0.3, "time_decay"),
)
WAIT_SECONDS_MAX = 30.0
COMMAND_SECONDS_MAX = 60.0
NODE_MIN = 20


class Stage:
    """Where the demo plays: a directory, and the daemon that keeps its memories there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "s"
        self.state = folder / "state"
        self.log = folder / "log"
        # Settings of whoever runs the demo must not reach its daemon.
        own = {name: text for name, text in os.environ.items() if not name.startswith("FORGETD_")}
        config = folder / "forgetd.toml"
        config.touch()
        self.environment = own | {
            "FORGETD_SOCKET": str(self.socket),
            "FORGETD_STATE_DIR": str(self.state),
            "FORGETD_CONFIG": str(config),
        }
        self.client = Client(self.socket, timeout_seconds=COMMAND_SECONDS_MAX)

    @property
    def memories(self) -> Path:
        """The directory of the demo's namespace."""
        return self.state / "namespaces" / NAMESPACE

    def call(self, method: str, **params: Any) -> Any:
        """The result of one method."""
        return self.client.call(method, params)

    def counts(self) -> dict[str, int]:
        """How many memories are in which tier, and their live bytes."""
        return self.call("system.status", namespace=NAMESPACE)["namespaces"][0]["counts"]

    def every_memory(self) -> dict[str, dict[str, Any]]:
        """All hot and cold memories with their vectors, by id."""
        ids: list[str] = []
        cursor: str | None = None
        while True:
            page = self.call("memory.list", namespace=NAMESPACE, limit=1000, cursor=cursor)
            ids += [memory["id"] for memory in page["memories"]]
            if (cursor := page["cursor"]) is None:
                break
        found = self.call("memory.getMany", namespace=NAMESPACE, ids=ids, includeEmbedding=True)
        return {memory["id"]: memory for memory in found}

    def forgetd(self, *words: str) -> str:
        """What one run of the command says."""
        done = subprocess.run(
            [*FORGETD, *words],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )
        if done.returncode != 0:
            raise NotAsTold(
                f"forgetd {' '.join(words)} ended with {done.returncode}\n{done.stderr}"
            )
        return (done.stdout + done.stderr).strip()

    def node(self, program: str, *words: str) -> None:
        """Run one of the demo's TypeScript programs; it speaks for itself."""
        done = subprocess.run(
            ["node", PROGRAMS / f"{program}.js", *words],
            env=self.environment,
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )
        if done.returncode != 0:
            raise NotAsTold(f"examples/demo/{program}.ts, which says why above")

    @contextmanager
    def daemon(self) -> Iterator[None]:
        """A daemon that lets its clock be set; stopped at the end, whatever happens."""
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                [*FORGETD, "serve", "--allow-injected-clock"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C ends the demo, and the demo ends its daemon
            )
        try:
            wait_for(lambda: process.poll() is not None or self._is_ready(), bool)
            if process.returncode is not None:
                raise NotAsTold(f"the daemon did not start\n{self.log.read_text('utf-8')}")
            yield
            self.forgetd("stop")
            code = process.wait(WAIT_SECONDS_MAX)
            if code != 0:
                raise NotAsTold(f"the daemon ended with {code}")
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(WAIT_SECONDS_MAX)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def _is_ready(self) -> bool:
        try:
            return self.client.is_ready()
        except Unreachable:
            return False


def play(stage: Stage) -> None:
    """The story. Raises NotAsTold at the first claim that does not hold."""
    today = time.time_ns() // 1_000_000
    import_old_memories(stage, today - DAYS * MILLISECONDS_PER_DAY)
    let_days_pass(stage, today)

    scene(3, "TypeScript asks what a sweep would do: memory.forgetSweep({ dryRun: true })")
    before, counts_before = stage.every_memory(), stage.counts()
    stage.node("sweep", str(stage.memories))
    swept = stage.counts()
    run = newest_run(stage)
    assert run is not None, "the sweep is in the ledger"

    scene(5, "What was spilled is still found, and what was forgotten comes back")
    stage.node("bring_back", run["runId"])
    claim_all_is_back(stage, before, counts_before, swept)
    run_a_cycle(stage, today - CYCLE_DAYS * MILLISECONDS_PER_DAY)
    show_what_could_be_destroyed(stage)


def import_old_memories(stage: Stage, long_ago: int) -> None:
    """Scene 1: a file of another memory system crosses the first threshold."""
    scene(1, f"An old memory file comes in; the daemon's clock stands {DAYS} days back")
    stage.call("system.clock", now=long_ago)
    stage.node("open")
    said = stage.forgetd(
        "import", "--namespace", NAMESPACE, "--from", "mcp-memory", str(MEMORY_FILE)
    )
    imported = time.monotonic()
    say(f"$ forgetd import --from mcp-memory {MEMORY_FILE}")
    claim(said, said.startswith(f"{IMPORTED} created"), said)
    run = wait_for(lambda: newest_run(stage), lambda run: run and run["state"] == "finished")
    counts = stage.counts()
    claim(
        f"{time.monotonic() - imported:.1f} seconds later the daemon has spilled by itself: "
        f"{counts['hot']} hot, {counts['cold']} cold, none lost.",
        run["trigger"] == "automatic"
        and counts["hot"] == HOT_AFTER_SPILL
        and counts["total"] == IMPORTED,
        counts,
    )


def let_days_pass(stage: Stage, today: int) -> None:
    """Scene 2: an agent notes more than the thresholds allow, and nothing moves."""
    scene(2, f"{DAYS} days pass, and an agent in TypeScript adds to it")
    say("It opens with forgetEnabled: false, which pauses what the daemon does by itself:")
    say("this time the plan is to be read first.")
    stage.call("system.clock", now=today)
    stage.node("fill", NAMESPACE)
    counts = stage.counts()
    claim(
        f"{counts['hot']} hot, {counts['total']} in total: both thresholds are crossed.",
        counts["hot"] > 120 and counts["total"] > 300,
        counts,
    )


def run_a_cycle(stage: Stage, long_ago: int) -> None:
    """Scene 7: what is stale fades or goes, though the store is far from full."""
    scene(7, f"A cycle over {len(CYCLE_FACTS)} facts that are {CYCLE_DAYS} days old: forgetd cycle")
    memories = [
        {"id": one, "content": text, "importance": worth, "createdAt": long_ago}
        for one, text, worth, _ in CYCLE_FACTS
    ]
    stage.call("memory.putMany", namespace="facts", memories=memories)
    stage.call("memory.supersede", namespace="facts", id="home-old", by="home")
    plan = stage.call("forgetting.runCycle", namespace="facts", dryRun=True)
    found = {one["recordId"]: one for one in plan["decisions"]}
    for one, text, _, _ in CYCLE_FACTS:
        decision = found[one]
        why = f" ({decision['reason']})" if decision["reason"] else ""
        say(f"{decision['action']:>5}  {text}{why}")
    told = {one: decision["reason"] for one, decision in found.items()}
    claim(
        "What says it is not so is no duplicate of what says it is.",
        told == {one: reason for one, _, _, reason in CYCLE_FACTS},
        told,
    )
    run = stage.call("forgetting.runCycle", namespace="facts", planId=plan["planId"])
    shown = stage.call("memory.get", namespace="facts", id="row-two")["importance"]
    claim(
        f"That plan is applied: {run['pruned']} pruned, and {run['faded']} shows an importance "
        f"of {shown} instead of 0.3.",
        (run["pruned"], run["faded"], shown) == (3, 1, 0.15),
        run,
    )
    undone = stage.call("runs.undo", namespace="facts", runId=run["runId"])["counts"]
    claim("A cycle is undone like any run.", sum(undone.values()) == 4, undone)


def show_what_could_be_destroyed(stage: Stage) -> None:
    """Scene 8: an operator's plan, which is shown and not carried out."""
    scene(8, "An operator looks at what could be destroyed for good: forgetd gc --dry-run")
    page = stage.call("memory.list", namespace=NAMESPACE, tier="cold", limit=3)
    ids = [memory["id"] for memory in page["memories"]]
    run_id = stage.call("memory.forget", namespace=NAMESPACE, ids=ids)["runId"]
    words = ("gc", "--namespace", NAMESPACE, "--older-than-days", "0", "--dry-run")
    plan = stage.forgetd(*words).splitlines()
    claim(plan[0], plan[0].startswith("3 memories (3 forgotten)"), plan)
    restored = stage.call("runs.undo", namespace=NAMESPACE, runId=run_id)["counts"]
    claim(
        "Nothing was destroyed: that takes the token of this plan. All 3 are back.",
        restored == {"restored": 3} and any("gc --token" in line for line in plan),
        {"restored": restored, "plan": plan},
    )


def newest_run(stage: Stage) -> dict[str, Any] | None:
    """The ledger's last run, if there is one."""
    return next(iter(stage.call("runs.list", namespace=NAMESPACE, limit=1)["runs"]), None)


def claim_all_is_back(
    stage: Stage,
    before: dict[str, dict[str, Any]],
    counts_before: dict[str, int],
    swept: dict[str, int],
) -> None:
    """After the undo: the counts and every memory are what they were before the sweep."""
    counts = stage.counts()
    tiers = ("hot", "cold", "forgotten", "total")
    claim(
        f"Hot {swept['hot']} → {counts['hot']}, cold {swept['cold']} → {counts['cold']}, "
        f"forgotten {swept['forgotten']} → {counts['forgotten']}: as before the sweep.",
        all(counts[tier] == counts_before[tier] for tier in tiers),
        {"before": counts_before, "now": counts},
    )
    now = stage.every_memory()
    ids = before.keys() | now.keys()
    changed = [one for one in ids if told(before.get(one)) != told(now.get(one))]
    claim(
        f"All {len(now)} memories have their tier, text, times, links, metadata and vector again.",
        not changed,
        changed,
    )


def told(memory: dict[str, Any] | None) -> dict[str, Any] | None:
    """What a memory says; that it was restored, and what its storage takes, is left out."""
    if memory is None:
        return None
    return {name: memory[name] for name in memory.keys() - {"restoredAt", "bytes"}}


def wait_for(look: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
    """What `look` answers as soon as it is good."""
    give_up_at = time.monotonic() + WAIT_SECONDS_MAX
    while not good(found := look()):
        if time.monotonic() > give_up_at:
            raise NotAsTold(f"after {WAIT_SECONDS_MAX:g} seconds still {found}")
        time.sleep(0.02)
    return found


@contextmanager
def directory(keep: bool) -> Iterator[Path]:
    """A private temporary directory with room for a socket's path; removed unless kept."""
    folder = Path(tempfile.mkdtemp(prefix="forgetd-demo-"))
    if len(os.fsencode(folder / "s")) > SOCKET_PATH_BYTES_MAX:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="forgetd-demo-", dir="/tmp"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder)


def require_setup() -> None:
    """End with what to do where the TypeScript part cannot run."""
    try:
        shown = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        give_up(f"needs Node {NODE_MIN} or newer, and found none")
    version = shown.stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < NODE_MIN:
        give_up(f"needs Node {NODE_MIN} or newer; this is {version}")
    if not (PROGRAMS / "sweep.js").exists():
        give_up("the part in TypeScript is not built\n  next: make setup")


def give_up(trouble: str) -> NoReturn:
    """Say what is wrong and end with 1."""
    sys.exit(f"demo: {trouble}")


def next_command(stage: Stage, keep: bool) -> str:
    """What to type next: a daemon of one's own, or one that serves what the demo left."""
    forgetd = Path(sys.executable).with_name("forgetd")
    shown = forgetd.relative_to(ROOT) if forgetd.is_relative_to(ROOT) else forgetd
    return f"{shown} serve" + (
        f" --socket {stage.socket} --state-dir {stage.state}" if keep else ""
    )


def main() -> None:
    """Play the story, and say what to try next."""
    parser = argparse.ArgumentParser(description="Shows what forgetd does, and checks it.")
    parser.add_argument("--keep", action="store_true", help="leave the directory for a look")
    keep = parser.parse_args().keep
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda *_: give_up("stopped from outside"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # the memories are in two scripts
    require_setup()
    started = time.monotonic()
    print("forgetd demo. Each line with a tick is checked as it is told.", flush=True)
    with directory(keep) as folder:
        stage = Stage(folder)
        try:
            with stage.daemon():
                play(stage)
        except (NotAsTold, RpcFailure, Unreachable, subprocess.TimeoutExpired) as error:
            look = f"look into {folder}" if keep else "run it with --keep and look at the log"
            give_up(f"not as told: {error}\n  next: {look}")
    print(f"\nAll was as told, in {time.monotonic() - started:.0f} seconds.", end=" ")
    if keep:
        print(f"The daemon is stopped, its directory stays: look at namespace {NAMESPACE} with")
    else:
        print("Daemon and directory are gone. Next, one of your own:")
    print(f"  {next_command(stage, keep)}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # whoever read along has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
