"""The breakages: each a line of the daemon, what to put in its place, and the test that sees it."""

from typing import Final

from tests.sabotage_case import Sabotage
from tests.sabotage_forgetting import FORGETTING
from tests.sabotage_keeping import KEEPING

SABOTAGES: Final[tuple[Sabotage, ...]] = (*FORGETTING, *KEEPING)
