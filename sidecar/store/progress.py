"""How far the RAM columns have followed the database."""

import threading
from typing import Final

FOLLOWED_AFTER_SECONDS_MAX: Final = 1.0


class Progress:
    """Up to which commit the columns are. What changes it holds the columns' lock."""

    def __init__(self, lock: threading.Lock) -> None:
        self.commits = 0
        # Rises whenever a cold memory comes, goes or changes.
        self.cold_changes = 0
        self._lock = lock
        self._reached = threading.Condition(lock)

    def reach(self, commits: int) -> None:
        """Record that the columns have a commit (caller holds the lock)."""
        self.commits = commits
        self._reached.notify_all()

    def follow(self, commits: int) -> tuple[int, int]:
        """Wait until the columns have a commit that a reader has seen: moments, or a second
        where they never get there. Answers up to which commit they are, and `cold_changes`.
        """
        with self._lock:
            self._reached.wait_for(lambda: self.commits >= commits, FOLLOWED_AFTER_SECONDS_MAX)
            return self.commits, self.cold_changes
