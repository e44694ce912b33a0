"""Budgets in both databases."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres_server
from sfumato.accounting.budget import Budget


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    if reason := postgres_server.missing():
        pytest.skip(reason)
    with postgres_server.server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new budget can be made."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    import psycopg

    url: str = request.getfixturevalue("postgres")
    name = f"budget_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return url.replace("/postgres?", f"/{name}?")


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "budget.key"
    path.write_text(secrets.token_hex(32))
    return path


@pytest.fixture
def budget(place: str, key_file: Path) -> Iterator[Budget]:
    with Budget.at(place, key_file, new=True) as made:
        yield made
