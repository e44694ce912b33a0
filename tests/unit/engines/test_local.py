"""Work in other processes: in order, bounded, and errors come back."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing import active_children
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest

from sfumato.core.errors import MalformedRecord, StorageFailed
from sfumato.engines.local import in_order


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
    results.close()


def test_a_worker_that_dies_is_reported() -> None:
    with pytest.raises(StorageFailed, match="a worker process died"):
        list(in_order(die, None, range(3), 2))


def stubborn(folder: Path, item: int) -> int:
    """Notes that it was asked to stop, and does not."""
    if item == 0:
        signal.signal(signal.SIGTERM, lambda *_: (folder / f"asked-{os.getpid()}").touch())
        return os.getpid()
    while True:
        signal.pause()


@pytest.mark.parametrize("sabotaged", [False, True])
def test_the_first_interrupt_asks_and_the_second_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sabotaged: bool
) -> None:
    """The twin forgets to end the workers, and the check must see that they are still there."""
    kill = SpawnProcess.kill
    if sabotaged:
        monkeypatch.setattr(SpawnProcess, "kill", lambda _: None)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    results = in_order(stubborn, tmp_path, [0, 0, 1, 1], 2)
    try:
        stubborn_ones = {next(results), next(results)}
        interrupt_again = threading.Thread(target=_interrupt_when_asked, args=(tmp_path,))
        interrupt_again.start()
        with pytest.raises(KeyboardInterrupt):
            results.close()  # this is what the first interrupt comes to
        interrupt_again.join()
        children = [one for one in active_children() if one.pid in stubborn_ones]
        if not sabotaged:
            for one in children:
                one.join()
            assert not [one for one in active_children() if one.pid in stubborn_ones]
        else:
            assert children
            for one in children:
                kill(one)
                one.join()
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt_when_asked(folder: Path) -> None:
    while not list(folder.glob("asked-*")):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def end_of_file(_: None, item: int) -> int:
    raise EOFError


def broken_setting() -> None:
    raise MalformedRecord("it cannot be unpacked")


class Unpackable:
    def __reduce__(self) -> tuple[object, tuple[()]]:
        return broken_setting, ()


class Talkative(Exception):
    """An error that cannot travel, and that has private text in it."""

    def __init__(self, text: str, more: object) -> None:
        super().__init__(text, more)


def talk(_: None, item: int) -> int:
    raise Talkative("Zyxquorthane", lambda: None)


def test_errors_on_the_way_are_not_taken_for_a_death() -> None:
    with pytest.raises(EOFError):
        list(in_order(end_of_file, None, range(3), 2))
    with pytest.raises(MalformedRecord, match="unpacked"):
        list(in_order(scaled, Unpackable(), range(3), 2))
    with pytest.raises(RuntimeError, match=r"^Talkative$") as caught:
        list(in_order(talk, None, range(3), 2))
    assert "Zyxquorthane" not in str(caught.value)
