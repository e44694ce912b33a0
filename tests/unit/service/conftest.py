"""Services that tests ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from running_service import Running, new_budget, running
from sfumato.service.settings import ServiceSettings

LIMITS = {"author_u-17": 1e6, "text_t": 1e6, "text_small": 7.0, "text_keys": 1e6, "text_given": 1e6}


@pytest.fixture(scope="module")
def charged(tmp_path_factory: pytest.TempPathFactory, small_vectors: None) -> Iterator[Running]:
    """A service with a budget."""
    place, key = new_budget(tmp_path_factory.mktemp("budget"), **LIMITS)
    with running(ServiceSettings(budget=place, budget_key=key)) as made:
        yield made


@pytest.fixture(scope="module")
def free(small_vectors: None) -> Iterator[Running]:
    """A service without a budget."""
    with running(ServiceSettings()) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
