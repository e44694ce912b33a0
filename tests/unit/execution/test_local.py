"""Work in other processes: in order, bounded, and errors come back."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sfumato.core.errors import MalformedRecord, StorageFailed
from sfumato.execution.local import in_order


def scaled(factor: int, item: int) -> tuple[int, int]:
    return factor * item, os.getpid()


def refuse(_: None, item: int) -> int:
    if item == 3:
        raise MalformedRecord(f"line {item} is malformed")
    return item


def die(_: None, item: int) -> int:
    os._exit(9)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(workers: int) -> None:
    results = list(in_order(scaled, 10, range(12), workers))
    assert [value for value, _ in results] == [10 * item for item in range(12)]
    assert (os.getpid() in {process for _, process in results}) is (workers == 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_arrives_as_what_it_was(workers: int) -> None:
    with pytest.raises(MalformedRecord, match="line 3 is malformed"):
        list(in_order(refuse, None, range(20), workers))


def test_only_a_few_items_are_under_way() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(100):
            taken += 1
            yield item

    results = in_order(scaled, 1, items(), 2)
    next(results)
    assert taken <= 5
    results.close()  # type: ignore[attr-defined]


def test_a_worker_that_dies_is_reported() -> None:
    with pytest.raises(StorageFailed, match="a worker process died"):
        list(in_order(die, None, range(3), 2))
