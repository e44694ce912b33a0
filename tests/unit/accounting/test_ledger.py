"""What is saved was charged before; a ledger survives any crash and forgives nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from sfumato.accounting import ledger as ledgers
from sfumato.accounting.ledger import Ledger
from sfumato.core.errors import (
    BudgetExceeded,
    CannotResume,
    MalformedRecord,
    OutputExists,
    StorageFailed,
)

RECORD = {"units": 100, "stages": ({"steps": 9},)}  # a tuple comes back from JSON as a list


def opened(path: Path, **changes: object) -> AbstractContextManager[Ledger]:
    settings = {"allowed": 9, "record": RECORD, "saved": {"order": 7}, **changes}
    return Ledger.opened(path, **settings)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def test_steps_are_counted_and_the_plan_is_the_limit(path: Path) -> None:
    with opened(path) as ledger:
        assert (ledger.charged, ledger.left) == (0, 9)
        assert ledger.charge() == 1
        assert ledger.charge(8) == 9
        with pytest.raises(BudgetExceeded, match="allows 9 steps and 9 are charged; 1 more"):
            ledger.charge()
        assert ledger.left == 0


def test_a_charge_too_large_is_refused_whole(path: Path) -> None:
    with opened(path) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.charge(10)
        assert ledger.charged == 0
    with opened(path, resume=True) as ledger:
        assert ledger.charged == 0


def test_a_ledger_with_more_steps_than_its_plan_is_refused(path: Path) -> None:
    with opened(path) as ledger:
        ledger.charge(5)
    with path.open("a") as stream:
        stream.write(json.dumps({"steps": 5, "charged": 10}) + "\n")
    with (
        pytest.raises(MalformedRecord, match="line 7 of the ledger exceeds the 9 steps"),
        opened(path, resume=True),
    ):
        pass


def test_a_ledger_of_an_older_version_is_gone_on_with(path: Path) -> None:
    with opened(path, record=RECORD | {"neighbours": "zero-out"}) as ledger:
        ledger.charge(2)
    with opened(path, record=RECORD | {"neighbors": "zero-out"}, resume=True) as ledger:
        assert ledger.charged == 2


@pytest.mark.parametrize(("seed", "what"), [(3, "seed"), (None, "plan")])
def test_what_differs_is_named(path: Path, seed: int | None, what: str) -> None:
    with opened(path, record=RECORD | {"seed": None}):
        pass
    other = RECORD | {"seed": seed} | ({} if seed else {"units": 50})
    with (
        pytest.raises(CannotResume, match=f"another {what};"),
        opened(path, record=other, resume=True),
    ):
        pass


def test_a_run_goes_on_after_what_was_charged_with_what_was_saved(path: Path) -> None:
    with opened(path) as ledger:
        ledger.charge(3)
        ledger.charge()
    with opened(path, resume=True, saved={"order": 8}) as ledger:
        assert ledger.charged == 4
        assert ledger.saved == {"order": 7}
        assert ledger.charge(5) == 9


def test_a_charge_is_on_the_disk_when_it_returns(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bytes] = []
    real = os.fsync

    def watched(handle: int) -> None:
        real(handle)
        synced.append(path.read_bytes())

    monkeypatch.setattr(os, "fsync", watched)
    with opened(path) as ledger:
        ledger.charge(2)
    *_, first, second = map(json.loads, synced[-1].splitlines())
    assert (first, second) == ({"steps": 1, "charged": 1}, {"steps": 1, "charged": 2})


def in_one_line(self: Ledger, steps: int = 1) -> int:
    """The twin: what was charged together stands together."""
    self._append({"steps": steps, "charged": self.charged + steps})
    self.charged += steps
    return self.charged


@pytest.mark.parametrize("honest", [True, False])
def test_nothing_shows_which_steps_were_charged_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, honest: bool
) -> None:
    # They may have been those of a few minutes, and how many fit into these is private.
    if not honest:
        monkeypatch.setattr(Ledger, "charge", in_one_line)
    contents = set()
    for number, charges in enumerate([(9,), (2, 7), (1, 3, 1, 4)]):
        with opened(tmp_path / f"ledger-{number}") as ledger:
            for steps in charges:
                ledger.charge(steps)
        contents.add((tmp_path / f"ledger-{number}").read_bytes())
    assert (len(contents) == 1) == honest


def test_if_it_cannot_be_written_nothing_is_charged_any_more(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with opened(path) as ledger:
        ledger.charge()
        with monkeypatch.context() as broken:
            broken.setattr(os, "fsync", full)
            with pytest.raises(StorageFailed, match="No space left"):
                ledger.charge()
        assert ledger.charged == 1
        with pytest.raises(BudgetExceeded, match="closed"):
            ledger.charge()


def test_a_closed_ledger_charges_nothing(path: Path) -> None:
    with opened(path) as ledger:
        pass
    with pytest.raises(BudgetExceeded, match="closed"):
        ledger.charge()


def test_cut_off_anywhere_it_counts_whole_lines_and_goes_on(path: Path) -> None:
    with opened(path) as ledger:
        ledger.charge(2)
        ledger.charge(3)
    whole = path.read_bytes()
    for length in (*range(1, len(whole), 3), len(whole)):
        path.write_bytes(whole[:length])
        complete = whole[:length].count(b"\n")
        with opened(path, resume=True) as ledger:
            assert ledger.charged == max(0, complete - 1)
            ledger.charge()
        with opened(path, resume=True) as ledger:
            assert ledger.charged == max(0, complete - 1) + 1


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b'{"steps": 1, "charged": 9}', b'{"steps": -1, "charged": 1}', b'{"steps": "2"}'],
)
def test_a_line_that_does_not_add_up_stops_everything(path: Path, line: bytes) -> None:
    with opened(path) as ledger:
        ledger.charge(2)
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(MalformedRecord, match="line 4 of the ledger"), opened(path, resume=True):
        pass


@pytest.mark.parametrize(
    ("found", "put"),
    [
        (b'{"order": 7}', b'{"order": 6}'),  # others in the batches of an epoch that was begun
        (b'{"order": 7}', b'{"order": "7"}'),
        (b'{"order": 7}', b'{"order": -7}'),
        (b'{"order": 7}', b"[7]"),
        (b'"check"', b'"chuck"'),
        (b'"schema"', b"[" * 100_000),
    ],
)
def test_a_damaged_beginning_stops_everything(path: Path, found: bytes, put: bytes) -> None:
    with opened(path) as ledger:
        ledger.charge(2)
    whole = path.read_bytes()
    assert found in whole
    path.write_bytes(whole.replace(found, put))
    with (
        pytest.raises(MalformedRecord, match=r"ledger (is damaged|is not|that)|not a ledger"),
        opened(path, resume=True),
    ):
        pass


def test_without_its_check_another_order_would_be_taken(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "_check", lambda _: "")
    with opened(path):
        pass
    path.write_bytes(path.read_bytes().replace(b'{"order": 7}', b'{"order": 6}'))
    with opened(path, resume=True) as ledger:
        assert ledger.saved == {"order": 6}


def test_a_line_taken_out_does_not_go_unnoticed(path: Path) -> None:
    with opened(path) as ledger:
        ledger.charge()
        ledger.charge()
    head, _, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + last)
    with pytest.raises(MalformedRecord), opened(path, resume=True):
        pass


def test_another_plan_does_not_inherit(path: Path) -> None:
    with opened(path):
        pass
    with (
        pytest.raises(CannotResume, match="another plan"),
        opened(path, resume=True, record={"units": 101}),
    ):
        pass


def test_somebody_elses_file_is_not_taken(path: Path) -> None:
    path.write_text('{"schema": 99}\n')
    with pytest.raises(MalformedRecord, match="not a ledger"), opened(path, resume=True):
        pass
    with pytest.raises(OutputExists), opened(path):
        pass
    assert path.read_text() == '{"schema": 99}\n'


def test_without_a_ledger_a_run_does_not_go_on_as_if_it_were_new(path: Path) -> None:
    with pytest.raises(CannotResume, match="what was spent is unknown"), opened(path, resume=True):
        pass
    assert not path.exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="cannot write"), opened(tmp_path / "no" / "ledger"):
        pass


def test_two_runs_do_not_share_a_ledger(path: Path) -> None:
    with opened(path), pytest.raises(CannotResume, match="in use"), opened(path, resume=True):
        pass


CHARGE_THEN_SAVE = """
        ledger.charge()
        results.write(b"x"); results.flush()
"""
SAVE_THEN_CHARGE = """
        results.write(b"x"); results.flush()
        ready()
        ledger.charge()
"""
RUN = """
import os, sys
from pathlib import Path
from sfumato.accounting.ledger import Ledger

def ready():
    if results.tell() >= 5:
        print("ready", flush=True)
        sys.stdin.read()

with open(sys.argv[2], "wb") as results, Ledger.opened(
    Path(sys.argv[1]), allowed=10**6, record={}, saved={}
) as ledger:
    while True:
        LOOP
        ready()
"""


@contextmanager
def killed(loop: str, folder: Path) -> Iterator[tuple[int, int]]:
    """A run killed in the middle: how many results there are, and how many steps are charged."""
    ledger, results = folder / "ledger", folder / "results"
    program = RUN.replace("        LOOP", loop)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(ledger), str(results)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    with Ledger.opened(ledger, allowed=10**6, record={}, saved={}, resume=True) as found:
        yield results.stat().st_size, found.charged


def test_after_a_kill_no_result_is_uncharged(tmp_path: Path) -> None:
    with killed(CHARGE_THEN_SAVE, tmp_path) as (results, charged):
        assert results == 5
        assert results <= charged


def test_the_twin_that_charges_afterwards_is_caught(tmp_path: Path) -> None:
    with killed(SAVE_THEN_CHARGE, tmp_path) as (results, charged):
        assert results > charged
