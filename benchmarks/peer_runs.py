"""One peer, driven by its own public functions, in an environment of its own.

    python peer_runs.py fademem|cortexgraph|forgetforge MEMORIES.jsonl FOLDER

Prints as JSON: seconds to plan, seconds to forget, how many it forgot, bytes before and after.
Filling its store is not timed. Imports nothing of forgetd.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

SHARE = 0.1


def fademem(memories: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Scan a JSONL store, then move the weakest tenth into an archive file."""
    from fademem.jsonl import archive_power_law_jsonl, scan_power_law_jsonl

    store = folder / "memories.jsonl"
    with store.open("w", encoding="utf-8") as file:
        for one in memories:
            record = {"last_accessed_ms": one["createdAt"], **one}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    now = max(one["createdAt"] for one in memories) + 86_400_000
    model = {"now": now, "scale_millis": 30 * 86_400_000, "exponent": 1.0}
    scores = sorted(one.score for one in scan_power_law_jsonl(store, threshold=0.0, **model))
    model["threshold"] = scores[int(len(scores) * SHARE)]
    before = size_of(folder)
    plan, _ = timed(lambda: scan_power_law_jsonl(store, **model))
    forget, decided = timed(
        lambda: archive_power_law_jsonl(store, folder / "archive.jsonl", **model)
    )
    return {
        "plan": plan,
        "forget": forget,
        "forgotten": sum(one.prune for one in decided),
        "before": before,
        "after": size_of(folder),
        "note": "one JSONL file, rewritten and fsynced; no index",
    }


def cortexgraph(memories: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Its gc tool over its JSONL storage: dry run, then deletion of the weakest tenth."""
    os.environ["CORTEXGRAPH_STORAGE_PATH"] = str(folder)
    os.environ["CORTEXGRAPH_ENABLE_EMBEDDINGS"] = "false"
    from cortexgraph.context import db
    from cortexgraph.storage.models import Memory
    from cortexgraph.tools.gc import gc

    db.connect()
    for one in memories:
        seconds = one["createdAt"] // 1000
        db.save_memory(
            Memory(
                id=one["id"],
                content=one["content"],
                created_at=seconds,
                last_used=seconds,
                use_count=1,
                strength=one["importance"],
            )
        )
    before = size_of(folder)
    plan, _ = timed(lambda: gc(dry_run=True))
    wanted = min(10_000, int(len(memories) * SHARE))
    forget, report = timed(lambda: gc(dry_run=False, limit=wanted))
    return {
        "plan": plan,
        "forget": forget,
        "forgotten": report["removed_count"],
        "before": before,
        "after": size_of(folder),
        "note": "deletion records appended to JSONL, all memories in RAM; deleted for good",
    }


def forgetforge(memories: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Its pruner, which looks at the 10 000 memories that changed last."""
    os.environ["FORGETFORGE_HOME"] = str(folder)
    from datetime import UTC, datetime

    from forgetforge import db
    from forgetforge.config import load_config
    from forgetforge.pruner import run_pruner

    config = load_config()
    connection = db.connect(config.db_path)
    rows = [
        (one["id"], one["content"], one["importance"], at, at, at)
        for one in memories
        for at in [datetime.fromtimestamp(one["createdAt"] / 1000, UTC).isoformat()]
    ]
    connection.executemany(
        "INSERT INTO memories (id, content, importance, created_at, updated_at, last_recall_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        rows,
    )
    connection.executemany(
        "INSERT INTO memories_fts (memory_id, content) VALUES (?, ?)", [row[:2] for row in rows]
    )
    connection.commit()
    before = size_of(folder)
    forget, report = timed(lambda: run_pruner(connection, config))
    return {
        "plan": None,
        "forget": forget,
        "forgotten": len(report["demoted_to_cold"]),
        "before": before,
        "after": size_of(folder),
        "note": "looks at 10 000 memories a run; the demoted stay in its database as well",
    }


def timed(work: Any) -> tuple[float, Any]:
    """Seconds, and what `work` answers."""
    started = time.perf_counter()
    answer = work()
    return time.perf_counter() - started, answer


def size_of(folder: Path) -> int:
    """All files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main(peer: str, source: str, folder: str) -> None:
    """Run one peer and print what was measured."""
    lines = Path(source).read_text(encoding="utf-8").splitlines()
    memories = [json.loads(line) for line in lines]
    run = {"fademem": fademem, "cortexgraph": cortexgraph, "forgetforge": forgetforge}[peer]
    print(json.dumps(run(memories, Path(folder))))


if __name__ == "__main__":
    main(*sys.argv[1:])
