"""A destruction, in a process that dies in it at a step of one's choice.

`python -m tests.crash.gc_steps TEMPLATE FOLDER FIRST STRIDE` copies the state directory TEMPLATE to
FOLDER/N for N = FIRST, FIRST + STRIDE, … and dies before step N of the destruction there, until N
is past its end. What a step is, `tests.crash.steps` says.
"""

import asyncio
import itertools
import os
import shutil
import sys
import traceback
from pathlib import Path

from sidecar.gc_reports import GcRequest
from sidecar.model import MemoryInput
from sidecar.namespace import Namespace
from tests.crash.faulty_disk import under_sqlite
from tests.crash.namespaces import memories, opened
from tests.crash.steps import Steps

MEMORIES = 40
# Of each tier, with and without others in the same file, with a file of their own and a shared one.
DOOMED = ("m1", "m2", "m3", "m10", "m11", "m30", "m31", "m39")
WORDS = "words of a memory that an operator wants to be gone, number "


async def prepare(state_dir: Path) -> None:
    """Memories in all tiers, some with media, some that were worded otherwise before."""
    async with opened(state_dir) as namespace:
        media = namespace.store.directory / "media"
        (media / "own.png").write_bytes(b"own")
        (media / "shared.png").write_bytes(b"shared")
        given = memories(MEMORIES)
        for at, memory in enumerate(given):
            memory.content = f"{WORDS}{at} {memory.content}"
        given[1].media_ref = "own.png"
        given[2].media_ref = given[4].media_ref = "shared.png"
        await namespace.put_many(memories=given, if_exists="error", partial=False)
        await namespace.cold_spill(dry_run=False, target=8)
        patch = MemoryInput(content=f"{WORDS}10 once more")
        await namespace.update(id="m10", patch=patch, if_revision=None)
        await namespace.forget(ids=[f"m{at}" for at in range(5)], reason="called")
        await namespace.forget(ids=["m30", "m31"], reason="called")


async def destroy(namespace: Namespace) -> None:
    """All of the doomed at once."""
    request = GcRequest(ids=DOOMED, older_than_days=0)
    _, plan = await namespace.plan_destruction(request=request)
    await namespace.destroy(plan=plan)


async def work(state_dir: Path, fatal: int) -> None:
    """Destroy, and die at a step of that."""
    steps = Steps(0)
    steps.watch_files()
    with under_sqlite(steps):
        async with opened(state_dir) as namespace:
            steps.begin(fatal)
            await destroy(namespace)
            steps.begin(0)


def in_a_process_of_its_own(state_dir: Path, fatal: int) -> int:
    """The wait status of a process that does the work and dies at a step."""
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1]
    try:
        asyncio.run(work(state_dir, fatal))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
        raise
    os._exit(0)


def main() -> int:
    """See the head of this file."""
    template, folder = Path(sys.argv[1]), Path(sys.argv[2])
    for fatal in itertools.count(int(sys.argv[3]), int(sys.argv[4])):
        shutil.copytree(template, folder / str(fatal))
        status = in_a_process_of_its_own(folder / str(fatal), fatal)
        if not os.WIFSIGNALED(status):
            shutil.rmtree(folder / str(fatal))
            return os.waitstatus_to_exitcode(status)
    return 0


if __name__ == "__main__":
    sys.exit(main())
