"""What a person sees while a model is trained, and what a log file gets instead."""

from __future__ import annotations

import io
import re
import sys
import warnings

import pytest

from sfumato.cli.train import interval, note_warnings, training_bar
from sfumato.core import progress
from sfumato.results.measured import Measured
from sfumato.training.loop import Progress, fit
from sfumato.training.methods.base import TokenMaterial
from unit.training.runs import small_model, small_plan, some_records


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, noise: float = 1.0) -> str:
    """All that is written to stderr in a run of seven steps."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    plan, records = small_plan(batch_size=6, noise=noise), some_records()
    with training_bar() as announce:
        watch = announce(plan, TokenMaterial(records))
        fit(small_model(), records, plan, watch=watch)
    return stream.getvalue()


def test_a_person_sees_loss_speed_and_level_which_ends_at_the_plan_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = watched(monkeypatch, Terminal())
    assert "6 documents, 6 records" in seen
    assert re.search(r"loss \d\.\d{3} +[\d,]+ tokens/s +ε \d", seen)
    assert f"ε {small_plan(batch_size=6).epsilon():.3g}" in seen
    assert "7/7" in seen


def test_without_privacy_the_level_is_infinite(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watched(monkeypatch, Terminal(), noise=0.0)
    assert "ε inf" in seen
    assert "nothing will be guaranteed" in seen


def test_a_log_gets_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watched(monkeypatch, io.StringIO())
    assert seen.splitlines() == [
        some_records().counts.summary(),
        "7 steps with noise multiplier 1",
    ]


def test_a_log_gets_steps_and_the_time_left_and_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the run took long: a line whenever one is due."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "LONGEST", 0.0)
    seen = watched(monkeypatch, io.StringIO()).splitlines()[2:]
    assert seen[0].startswith("training: 1 of 7 steps (14 %), ")
    assert re.fullmatch(r"training: 6 of 7 steps \(85 %\), about \d+ \w+ left", seen[-1])
    assert not any("loss" in line or "tokens" in line for line in seen)


def test_a_bar_that_meets_an_instant_does_not_divide_by_zero() -> None:
    from sfumato.cli.train import describe_run

    assert "tokens/s" in describe_run(Progress(1, 2.0, 10, 0.0), 1.0)


def test_warnings_are_notes_of_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with note_warnings():
        warnings.warn("something\nto know", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: something to know\n"
    with pytest.warns(match="as ever"):
        warnings.warn("as ever", UserWarning, stacklevel=1)


def test_a_figure_without_an_interval_shows_none() -> None:
    assert interval(Measured("accuracy", 0.5, None, None, 3)) == ""
    assert interval(Measured("accuracy", 0.5, 0.25, 0.75, 3)) == " (0.25–0.75)"
