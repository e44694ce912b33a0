"""Whole runs of interleaved training: what they leave behind, going on, and the command."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sfumato.cli.main import app
from sfumato.core.errors import CannotResume, InvalidArgument, UnknownName
from sfumato.guarantees.guarantee import Notion
from sfumato.policies.parsing import combine_policies
from sfumato.text.document import Document
from sfumato.training.checkpoints import Checkpoint, StepsLost
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import build_method
from sfumato.training.methods.interleaved import Interleaved
from sfumato.training.methods.interleaved_steps import InterleavedRun
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.methods.stretch_records import Step
from sfumato.training.request import Request
from sfumato.training.settings import Course, Privacy
from unit.training.runs import SETTINGS, Killed, charged_in, same, tokenizer, weights

TEXTS = ["Code 42 is mine", "Nothing here", "Ring 12345 or else 678 now", "A line", "Room 9"]


def request(state: str = "noise", **changes: Any) -> Request:
    policy = combine_policies(["digits"], [], {})
    settings: dict[str, Any] = {
        "model": "lstm",
        "settings": SETTINGS["lstm"],
        "tokenizer": tokenizer(),
        "privacy": Privacy(epsilon=8.0, delta=1e-2, epochs=3, batch_sizes=(2,)),
        "method": Interleaved(state=state),
        "protection": PolicyPromise(policy),
        "course": Course(checkpoint_every=2),
        "seed": 5,
    }
    return Request(**(settings | changes))


def documents() -> list[Document]:
    return [Document(text) for text in TEXTS]


@pytest.mark.parametrize("state", ["noise", "reset"])
def test_a_run_states_what_is_proven_and_the_paper_beside_it(tmp_path: Path, state: str) -> None:
    trained = train_model(request(state), documents(), RunFolder(tmp_path / "run"))
    guarantee = trained.guarantee
    assert guarantee.notion is Notion.SELECTIVE_DP
    assert 7.9 < guarantee.epsilon <= 8
    assert "digits" in guarantee.neighbors
    assert "3 epochs with at most 2 private stretches" in guarantee.scope
    assert ("state that left" in guarantee.scope) == (state == "noise")
    assert not guarantee.for_release
    stored = json.loads((tmp_path / "run" / "guarantee.json").read_bytes())
    paper = stored["as_in_the_paper"]
    assert paper["proven"] is False
    assert paper["epsilon"] != guarantee.epsilon
    assert "not proven" in paper["why"]
    assert stored["plan"]["stretches"] == 2
    settings = json.loads((tmp_path / "run" / "config.json").read_bytes())["settings"]
    assert settings["method"] == "interleaved"
    assert settings["interleaving"]["state"] == state
    assert charged_in(trained.files) == trained.plan.steps
    assert (tmp_path / "run" / "results.jsonl").is_file()
    assert not trained.files.checkpoint.exists()
    again = train_model(request(state), documents(), RunFolder(tmp_path / "run"), resume=True)
    assert again.already_finished
    assert again.guarantee.epsilon == guarantee.epsilon
    assert set(again.guarantee.leaks) == set(guarantee.leaks)


def killing(at: int) -> Any:
    def watch(now: Any) -> None:
        if now.step == at:
            raise Killed

    return lambda *_: watch


def test_a_killed_run_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    """Step 7 was not charged, so it left no trace and is taken again, with the states before it."""
    whole = train_model(request(), documents(), RunFolder(tmp_path / "whole"))
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(Killed):
        train_model(request(), documents(), folder, announce=killing(7))
    assert charged_in(folder) == 6
    kept = Checkpoint.load(folder.checkpoint)
    assert kept.between["waiting"]
    trained = train_model(request(), documents(), folder, resume=True)
    assert same(weights(trained.model), weights(whole.model))
    assert trained.guarantee == whole.guarantee
    assert charged_in(folder) == trained.plan.steps


def test_steps_that_were_charged_are_never_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    honest, save = InterleavedRun.take, Checkpoint.save

    def watched(self: InterleavedRun, step: Step) -> Any:
        taken.append(step.step)
        return honest(self, step)

    def failing(self: Checkpoint, path: Path) -> None:
        if self.steps == 6:
            raise Killed
        save(self, path)

    folder = RunFolder(tmp_path / "run")
    monkeypatch.setattr(InterleavedRun, "take", watched)
    monkeypatch.setattr(Checkpoint, "save", failing)
    with pytest.raises(Killed):
        train_model(request(), documents(), folder)
    assert (taken, charged_in(folder)) == ([0, 1, 2, 3, 4, 5], 6)
    monkeypatch.setattr(Checkpoint, "save", save)
    with pytest.warns(StepsLost):
        trained = train_model(request(), documents(), folder, resume=True)
    assert taken == list(range(trained.plan.steps))


def test_another_way_with_states_is_not_resumed(tmp_path: Path) -> None:
    train_model(request(), documents(), RunFolder(tmp_path / "run"))
    with pytest.raises(CannotResume, match="interleaving"):
        train_model(request("reset"), documents(), RunFolder(tmp_path / "run"), resume=True)


def test_without_a_level_nothing_is_promised(tmp_path: Path) -> None:
    privacy = Privacy(epsilon=math.inf, delta=1e-2, epochs=1, batch_sizes=(2,))
    trained = train_model(request(privacy=privacy), documents(), RunFolder(tmp_path / "run"))
    assert trained.guarantee.notion is Notion.NONE
    assert trained.plan.noise_multiplier == 0.0


def test_only_recurrent_models(tmp_path: Path) -> None:
    asked = request(model="gpt-small", settings=SETTINGS["gpt-small"])
    with pytest.raises(InvalidArgument, match="the method selective"):
        train_model(asked, documents(), RunFolder(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("changes", [{"lora_rank": 2}, {"long": "truncate"}])
def test_what_does_not_fit_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="whole documents"):
        request(**changes)


def test_half_a_method_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="needs a policy"):
        request(protection=None)
    with pytest.raises(UnknownName, match="setting of redacted 'state'"):
        build_method("redacted", {"state": "reset"})
    with pytest.raises(InvalidArgument, match="state"):
        Interleaved(state="kept")


# --- the command ---------------------------------------------------------------------------------


def command(folder: Path, *more: str) -> Any:
    corpus = folder / "notes.txt"
    corpus.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    given = ["train", str(corpus), "-o", str(folder / "run"), "--policy", "digits", "-e", "8"]
    sizes = ["--set", "hidden=4", "--set", "embedding=4", "--batch-size", "2", "--epochs", "2"]
    return CliRunner().invoke(
        app, [*given, "--delta", "0.01", "--model", "lstm", *sizes, "--seed", "1", *more]
    )


def test_the_command_prints_the_proven_level_first(tmp_path: Path) -> None:
    done = command(tmp_path, "--method", "interleaved", "--state", "noise")
    assert done.exit_code == 0, done.output
    proven, paper = done.stdout.index("exp(8)"), done.stdout.index("As in the paper: epsilon")
    assert proven < paper
    assert "not proven" in done.stdout[paper:]


@pytest.mark.parametrize(
    "more",
    [
        ["--method", "selective", "--state", "reset"],
        ["--method", "interleaved", "--lead", "0.5"],
        ["--method", "interleaved", "--state", "kept"],
    ],
)
def test_options_of_other_methods_are_refused(tmp_path: Path, more: list[str]) -> None:
    done = command(tmp_path, *more)
    assert isinstance(done.exception, InvalidArgument)
    assert not (tmp_path / "run").exists()
