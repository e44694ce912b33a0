"""What many tests share: a space small enough to reason about, and the folder of real resources."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Tests run side by side, one on each core: threads of one only keep the other waiting.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from few_words import few_words
from low_costs import FIRST_BATCHES, leave_rows_uncompared, lower_costs
from sfumato.core import progress
from sfumato.vectors.space import Space

# Speed is measured in benchmarks, never asserted in a test: no example has a deadline.
settings.register_profile("sfumato", deadline=None, max_examples=60)
settings.load_profile("sfumato")
lower_costs()
# A line of progress after twenty seconds would make what a test reads depend on the machine's load.
progress.PATIENCE = float("inf")


# Files whose tests take long on their own: they go first, so that at the end no worker is left with
# one of them while the others have nothing to do.
LONG = ("system/test_docs.py", "system/test_studies.py", "system/test_train.py",
        "system/test_verify.py", "system/test_audit.py", "browser/", "unit/reports/",
        "unit/studies/", "statistical/", "system/")  # fmt: skip


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Examples stand in the package; nobody looks for any in the tests themselves."""
    found = yield
    return [one for one in found if type(one) is pytest.Module]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first; each file, and its fixtures, stay together."""
    here = Path(__file__).parent

    def rank(item: pytest.Item) -> int:
        name = item.path.relative_to(here).as_posix() if item.path.is_relative_to(here) else ""
        return next((n for n, part in enumerate(LONG) if name.startswith(part)), len(LONG))

    items.sort(key=rank)


# Flower has an environment of its own, because its limits on other packages differ from ours.
FLOWER = find_spec("flwr") is not None
collect_ignore_glob = [] if FLOWER else ["federated/test_*.py"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what is not tested here."""
    if not FLOWER:
        said = "NOT RUN: tests/federated needs flwr; make test-federated installs it and runs them"
        terminalreporter.write_line(said, yellow=True)


def pytest_collection_finish() -> None:
    """What was imported stays; looking through all of it takes the collector half a second.

    It also looks less often: one part in thirty of the time went by with that.
    """
    leave_rows_uncompared()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 40)


# Seven near-duplicates, one of them shut in by the six others; two pairs; one word far from all.
SMALL_SPACE = {
    "paris": (1.0, 1.0, 1.0),
    "rome": (1.125, 1.0, 1.0),
    "berlin": (0.875, 1.0, 1.0),
    "madrid": (1.0, 1.125, 1.0),
    "vienna": (1.0, 0.875, 1.0),
    "lisbon": (1.0, 1.0, 1.125),
    "athens": (1.0, 1.0, 0.875),
    "cat": (-0.5, 0.5, 0.0),
    "dog": (-0.5, 0.75, 0.0),
    "12": (0.0, -1.0, 0.5),
    "7": (0.0, -1.0, 1.0),
    "quark": (-2.5, -2.0, -2.5),
}


@pytest.fixture(scope="session")
def small_space() -> Space:
    """Twelve words in three dimensions; every coordinate is exact in float32."""
    vectors = np.array(list(SMALL_SPACE.values()), dtype=np.float32)
    return Space("small", list(SMALL_SPACE), vectors)


@pytest.fixture(scope="module")
def small_vectors() -> Iterator[None]:
    """The embedded space holds its frequent words only: for what is not about that space."""
    with few_words():
        yield


@pytest.fixture
def compared_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are compared when a training begins, as in the package: for what is about that."""
    from sfumato.training.clipping import row_checks

    monkeypatch.setattr(row_checks, "FIRST", FIRST_BATCHES)


@pytest.fixture
def studies_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies compute in this process: one of its own loads for seconds what is loaded here.

    That processes find the same is shown by ``system/test_studies.py``.
    """
    from sfumato.studies import runner, study

    def compute_here(*given: Any, workers: int = 1, **settings: Any) -> runner.StudyOutcome:
        del workers
        return runner.run_study(*given, workers=0, **settings)

    monkeypatch.setattr(study, "run_study", compute_here)


@pytest.fixture(scope="session")
def resources() -> Path:
    """The folder of real vectors, models and data; without it the test is skipped, and says so."""
    default = Path(__file__).parents[1].parent / "shared"
    folder = Path(os.environ.get("SFUMATO_RESOURCES", default))
    if not folder.is_dir():
        pytest.skip(
            f"SKIPPED WITHOUT RESOURCES: {folder} is not a folder, so nothing was checked against "
            "real vectors, models or data; set SFUMATO_RESOURCES to the folder that holds them"
        )
    return folder


@pytest.fixture(scope="session")
def random_space() -> Space:
    """200 words in 6 dimensions, of which some share a place and some are near-duplicates."""
    vectors = np.random.default_rng(17).normal(size=(200, 6)).astype(np.float32)
    vectors[190:195] = vectors[:5]
    vectors[195:200] = vectors[:5] * np.float32(1 + 1e-6)
    return Space("random", [f"w{number}" for number in range(200)], vectors)
