"""The threads that blocking work runs in: runs apart from reads, so that neither starves.

A simulation may take minutes and much memory: one at a time, apart from both.
"""

from concurrent.futures import ThreadPoolExecutor

READ_THREADS = 8
RUN_THREADS = 4  # runs of different namespaces side by side; each waits mostly for its writer


class Threads:
    """The pools of a daemon."""

    def __init__(self) -> None:
        self.reads = ThreadPoolExecutor(READ_THREADS, "forgetd-read")
        self.runs = ThreadPoolExecutor(RUN_THREADS, "forgetd-run")
        self.simulations = ThreadPoolExecutor(1, "forgetd-simulation")

    def close(self) -> None:
        """Wait for the work under way and end the threads."""
        self.simulations.shutdown()
        self.runs.shutdown()
        self.reads.shutdown()
