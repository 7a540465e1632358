"""What every test stands on: a printed seed, and a machine state that is not the developer's."""

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.gates", "tests.contract_judge", "pytester"]

SEED_VARIABLE = "FORGETD_TEST_SEED"
SEED = int(os.environ.get(SEED_VARIABLE) or random.SystemRandom().randrange(2**32))

# "ci" is bounded so that the whole suite fits its ten minutes; "long" is for a patient evening:
# HYPOTHESIS_PROFILE=long. No deadline: a busy machine is no fault of the code.
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=60,
    stateful_step_count=30,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", settings.get_profile("ci"), max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """One seed for the tests' own generators and for hypothesis, in every process of the run."""
    os.environ.setdefault(SEED_VARIABLE, str(SEED))
    if config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = SEED


def pytest_report_header() -> str:
    """The seed, and how to run the same again."""
    return f"seed: {SEED} (again: {SEED_VARIABLE}={SEED})"


@pytest.fixture
def seed() -> int:
    """The number that the run's header shows."""
    return SEED


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """A generator of this test's own: the same for one seed, whatever else runs."""
    return random.Random(f"{SEED}:{request.node.nodeid}")


@pytest.fixture(scope="session", autouse=True)
def private_environment() -> Iterator[None]:
    """No test may meet the daemon, the configuration or the memories of whoever runs it."""
    kept = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("FORGETD_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="forgetd-test-") as folder:
        for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            path = Path(folder) / name.lower()
            path.mkdir(mode=0o700)
            os.environ[name] = str(path)
        yield
    os.environ.clear()
    os.environ.update(kept)
