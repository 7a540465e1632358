"""The threads that blocking work runs in: runs apart from reads, so that neither starves."""

from concurrent.futures import ThreadPoolExecutor

READ_THREADS = 8
RUN_THREADS = 4  # runs of different namespaces side by side; each waits mostly for its writer


class Threads:
    """The two pools of a daemon."""

    def __init__(self) -> None:
        self.reads = ThreadPoolExecutor(READ_THREADS, "forgetd-read")
        self.runs = ThreadPoolExecutor(RUN_THREADS, "forgetd-run")

    def close(self) -> None:
        """Wait for the work under way and end the threads."""
        self.runs.shutdown()
        self.reads.shutdown()
