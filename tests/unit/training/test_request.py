"""A whole run from a request: what the folder holds, and that it goes on as it began."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sfumato.core.errors import (
    BadInput,
    CannotResume,
    InvalidArgument,
    MissingModel,
    OutputExists,
    UndefinedGradient,
)
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.models.bpe import train_bpe
from sfumato.models.load import load_model
from sfumato.text.document import Document
from sfumato.training import execution
from sfumato.training.checkpoints import Checkpoint
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.loop import Progress
from sfumato.training.plan import PrivacyCaution
from sfumato.training.request import Request
from sfumato.training.settings import Course, Privacy
from unit.training.runs import (
    SETTINGS,
    Killed,
    charged_in,
    same,
    some_documents,
    tokenizer,
    weights,
)

PRIVACY = Privacy(epsilon=8.0, epochs=4, batch_sizes=(3,), accountant="rdp")
REQUEST = Request(
    model="lstm",
    privacy=PRIVACY,
    course=Course(checkpoint_every=3),
    tokenizer=tokenizer(),
    settings=SETTINGS["lstm"],
    corpus={"format": "jsonl", "input": 17},
)
DOCUMENTS = some_documents()


def killing(step: int) -> Callable[..., Callable[[Progress], None]]:
    def watch(now: Progress) -> None:
        if now.step == step:
            raise Killed

    return lambda *_: watch


# --- the folder --------------------------------------------------------------------------------


def test_a_run_leaves_model_guarantee_settings_ledger_and_results(tmp_path: Path) -> None:
    announced: list[tuple[int, int]] = []
    result = train_model(
        REQUEST,
        DOCUMENTS,
        RunFolder(tmp_path / "run"),
        announce=lambda plan, one: announced.append((plan.steps, len(one.records))),
    )
    folder = result.files
    assert announced == [(8, 6)]
    assert {one.name for one in folder.path.iterdir()} == {
        "config.json", "guarantee.json", "ledger.jsonl", "model", "results.jsonl",
    }  # fmt: skip
    assert (folder.model / "model.safetensors").is_file()
    again = load_model(str(folder.model), randomness=Randomness.secure())
    assert same(weights(result.model), weights(again))
    assert charged_in(folder) == result.plan.steps == 8
    assert result.guarantee.epsilon <= 8.0
    assert result.guarantee.for_release
    written = json.loads(folder.guarantee.read_bytes())
    assert Guarantee.from_dict(written["guarantee"]) == result.guarantee
    assert written["epsilon_planned"] == 8.0
    rows = {row["metric"]: row["value"] for row in folder.measured()}
    assert rows == {"steps": 8, "epsilon": result.guarantee.epsilon, "delta": result.plan.delta}
    settings = folder.settings()
    assert settings["model_settings"] == {"hidden": "4", "embedding": "4", "context": "12"}
    assert settings["plan"] == result.plan.as_dict()
    assert settings["seed"] is None


def test_the_folder_holds_neither_text_nor_author(tmp_path: Path) -> None:
    canary, author = "Zyxquorthane", "Abernathygale"
    documents = [*DOCUMENTS[:5], Document(f"{canary} is text", author=author)]
    train_model(REQUEST, documents, RunFolder(tmp_path / "run"))
    for path in (tmp_path / "run").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for secret in (canary, author):
            assert secret.encode() not in content, path


@pytest.mark.parametrize(("first", "second"), [(5, 6), (5, None), (None, 5)])
def test_a_run_does_not_go_on_with_another_seed(
    tmp_path: Path, first: int | None, second: int | None
) -> None:
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(Killed):
        train_model(replace(REQUEST, seed=first), DOCUMENTS, folder, announce=killing(5))
    kept = {path: path.read_bytes() for path in folder.path.iterdir()}
    with pytest.raises(CannotResume, match="another seed"):
        train_model(replace(REQUEST, seed=second), DOCUMENTS, folder, resume=True)
    assert {path: path.read_bytes() for path in folder.path.iterdir()} == kept
    # What was begun with a seed stays stamped.
    done = train_model(replace(REQUEST, seed=first), DOCUMENTS, folder, resume=True)
    assert done.guarantee.for_release == (first is None)


def test_without_privacy_nothing_is_promised(tmp_path: Path) -> None:
    request = replace(REQUEST, privacy=replace(PRIVACY, epsilon=math.inf))
    result = train_model(request, DOCUMENTS, RunFolder(tmp_path / "run"))
    assert result.guarantee.notion is Notion.NONE
    written = json.loads(result.files.guarantee.read_bytes())
    assert written["guarantee"]["epsilon"] == written["epsilon_planned"] == "inf"
    assert written["for_release"] is False
    rows = {row["metric"]: row["value"] for row in result.files.measured()}
    assert rows == {"steps": 8, "epsilon": "inf"}


# --- going on ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [None, 5])
def test_a_killed_run_goes_on_to_the_same_guarantee(tmp_path: Path, seed: int | None) -> None:
    request, folder = replace(REQUEST, seed=seed), RunFolder(tmp_path / "run")
    with pytest.raises(Killed):
        train_model(request, DOCUMENTS, folder, announce=killing(5))
    assert not folder.finished
    with pytest.raises(OutputExists, match="`resume=True` goes on"):
        train_model(request, DOCUMENTS, folder)
    resumed = train_model(request, DOCUMENTS, folder, resume=True)
    whole = train_model(request, DOCUMENTS, RunFolder(tmp_path / "whole"))
    assert resumed.guarantee == whole.guarantee
    assert charged_in(folder) == resumed.plan.steps
    assert not folder.checkpoint.exists()
    assert same(weights(resumed.model), weights(whole.model)) == (seed is not None)


def test_a_run_killed_while_it_is_put_away_is_put_away_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    before: Any = None
    for step in ("save_model", "RunFolder.add_results", "RunFolder.write_guarantee"):
        owner, _, name = step.rpartition(".")
        with monkeypatch.context() as armed:
            armed.setattr(getattr(execution, owner) if owner else execution, name, _killed)
            with pytest.raises(Killed):
                train_model(REQUEST, DOCUMENTS, folder, resume=True)
        kept = Checkpoint.load(folder.checkpoint).weights
        assert before is None or all(torch.equal(before[name], kept[name]) for name in kept)
        before = kept
        assert not folder.finished
    result = train_model(REQUEST, DOCUMENTS, folder, resume=True)
    assert folder.finished
    assert not result.already_finished
    again = weights(load_model(str(folder.model), randomness=Randomness.secure()))
    assert all(torch.equal(one, before[name]) for name, one in again.items())
    assert charged_in(folder) == result.plan.steps


def _killed(*_: Any, **__: Any) -> None:
    raise Killed


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    first = train_model(REQUEST, DOCUMENTS, folder)
    before = {one: one.read_bytes() for one in folder.path.rglob("*") if one.is_file()}
    again = train_model(REQUEST, DOCUMENTS, folder, resume=True)
    assert again.already_finished
    assert again.guarantee == first.guarantee
    # The model that comes back is the trained one, not a fresh one of the same shape.
    assert same(weights(first.model), weights(again.model))
    assert {one: one.read_bytes() for one in folder.path.rglob("*") if one.is_file()} == before


def test_factors_beside_a_fresh_base_go_on_beside_that_base(tmp_path: Path) -> None:
    request = replace(REQUEST, model="gpt-small", settings=SETTINGS["gpt-small"], lora_rank=2)
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(Killed):
        train_model(request, DOCUMENTS, folder, announce=killing(3))
    begun = Checkpoint.load(folder.checkpoint).weights
    result = train_model(request, DOCUMENTS, folder, resume=True)
    frozen = {
        name: one for name, one in result.model.network.named_parameters() if not one.requires_grad
    }
    trained = dict(result.model.network.named_parameters()).keys() - frozen.keys()
    assert all("lora_" in name for name in trained)
    assert frozen
    assert all(torch.equal(one, begun[name]) for name, one in frozen.items())
    assert all(
        not torch.equal(dict(result.model.network.named_parameters())[name], begun[name])
        for name in trained
    )


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"model": "gpt-small", "settings": SETTINGS["gpt-small"]}, "model"),
        ({"settings": SETTINGS["lstm"] | {"hidden": 5}}, "model_settings"),
        ({"privacy": replace(PRIVACY, epsilon=7.0)}, "epsilon, plan"),
        ({"privacy": replace(PRIVACY, batch_sizes=(2,))}, "plan"),
        ({"course": Course(learning_rate=0.5, checkpoint_every=3)}, "course"),
        ({"corpus": {"format": "jsonl", "input": 18}}, "corpus"),
        ({"seed": 3}, "seed"),
        ({"long": "truncate"}, "long"),
        ({"tokenizer": train_bpe(["quite another text"] * 2, public=True, size=270)}, "vocabulary"),
    ],
)
def test_another_request_does_not_go_on(tmp_path: Path, change: dict[str, Any], what: str) -> None:
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(Killed):
        train_model(REQUEST, DOCUMENTS, folder, announce=killing(4))
    before = {one: one.read_bytes() for one in folder.path.rglob("*") if one.is_file()}
    with pytest.raises(CannotResume, match=f"another {what}"):
        train_model(replace(REQUEST, **change), DOCUMENTS, folder, resume=True)
    assert {one: one.read_bytes() for one in folder.path.rglob("*") if one.is_file()} == before


# --- what is asked for -------------------------------------------------------------------------


def test_growing_batches_and_batches_larger_than_the_corpus() -> None:
    plan = replace(PRIVACY, batch_sizes=(2, 4, 100), epochs=2).plan(6)
    assert [stage.batch_size for stage in plan.stages] == [2, 4, 6]
    assert plan.steps == 3
    assert plan.epsilon() <= 8.0
    assert replace(PRIVACY, batch_sizes=(100,)).plan(6).stages[0].batch_size == 6


def test_delta_of_one_in_n_warns_once_and_more_is_refused() -> None:
    with pytest.warns(PrivacyCaution) as said:
        replace(PRIVACY, delta="1/n").plan(50)
    assert len(said) == 1
    with pytest.raises(InvalidArgument, match="more than 1/n"):
        replace(PRIVACY, delta=0.03).plan(50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert replace(PRIVACY, delta=0.019).plan(50).delta == 0.019


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"epsilon": 0.0}, "epsilon=0.0 must be greater than 0"),
        ({"epsilon": -2.0}, "epsilon=-2.0 must be greater than 0"),
        ({"epsilon": math.nan}, "epsilon=nan must be a finite number"),
        ({"delta": "often"}, "delta='often' must be a number"),
        ({"unit": "word"}, "unit 'word'"),
        ({"sampling": "poison"}, "did you mean 'poisson'"),
        ({"accountant": "pdl"}, "did you mean 'pld'"),
        ({"batch_sizes": ()}, "at least one batch size"),
        ({"batch_sizes": (0,)}, "batch_size=0 must be at least 1"),
        ({"epochs": 0.0}, "epochs=0.0 must be greater than 0"),
    ],
)
def test_privacy_that_cannot_be_asked_for(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        replace(PRIVACY, **change)


@pytest.mark.parametrize(
    ("change", "documents", "error", "complaint"),
    [
        ({}, [], BadInput, "the corpus holds no documents"),
        ({}, [Document(""), Document("")], BadInput, "none of the 2 documents"),
        ({}, DOCUMENTS[:1], InvalidArgument, "units=1 must be at least 2"),
        ({"privacy": replace(PRIVACY, delta=0.5)}, DOCUMENTS, InvalidArgument, "more than 1/n"),
        ({"model": "no/such/model"}, DOCUMENTS, MissingModel, "no/such/model"),
        ({"tokenizer": "no/such"}, DOCUMENTS, MissingModel, "there is no folder no/such"),
        ({"lora_rank": 2}, DOCUMENTS, InvalidArgument, "LoRA"),
        (
            {"privacy": replace(PRIVACY, unit="author")},
            [*DOCUMENTS, Document("whose?")],
            BadInput,
            "document 7 has no author",
        ),
    ],
)
def test_what_cannot_be_trained_leaves_no_folder(
    tmp_path: Path,
    change: dict[str, Any],
    documents: list[Document],
    error: type[Exception],
    complaint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    settings = {} if "model" in change else REQUEST.settings
    given = {} if "model" in change else {"tokenizer": REQUEST.tokenizer}
    request = replace(REQUEST, **({"settings": settings, "tokenizer": None} | given | change))
    with pytest.raises(error, match=complaint):
        train_model(request, documents, RunFolder(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_run_that_diverges_keeps_what_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = torch.optim.Adam.step
    taken = 0

    def overflowing(self: torch.optim.Adam, closure: None = None) -> None:
        nonlocal taken
        honest(self, closure)
        taken += 1
        if taken == 5:
            self.param_groups[0]["params"][0].data.fill_(math.nan)

    monkeypatch.setattr(torch.optim.Adam, "step", overflowing)
    folder = RunFolder(tmp_path / "run")
    privacy = replace(PRIVACY, batch_sizes=(6,), epochs=8)
    with pytest.raises(UndefinedGradient, match="diverged"):
        train_model(replace(REQUEST, privacy=privacy), DOCUMENTS, folder)
    assert Checkpoint.load(folder.checkpoint).steps == 3
    assert not folder.finished


# --- authors and classes -----------------------------------------------------------------------


def test_authors_are_the_units(tmp_path: Path) -> None:
    privacy = replace(PRIVACY, unit="author", batch_sizes=(2,))
    request = replace(REQUEST, privacy=privacy)
    result = train_model(request, some_documents(9), RunFolder(tmp_path / "run"))
    assert result.plan.units == 3
    assert result.guarantee.unit == "author"
    assert "author" in result.guarantee.sentence()


def test_a_classifier_is_trained_and_cuts_long_documents(tmp_path: Path) -> None:
    documents = [
        Document("all is text " * (1 + number), labels=("good" if number % 2 else "bad",))
        for number in range(6)
    ]
    request = replace(
        REQUEST,
        model="gpt-small",
        settings=SETTINGS["gpt-small"],
        kind="classifier",
        classes=("bad", "good"),
        privacy=replace(PRIVACY, clipping=Clipping(norm=0.1)),
    )
    seen: list[str] = []
    result = train_model(
        request,
        documents,
        RunFolder(tmp_path / "run"),
        announce=lambda _, one: seen.append(one.records.counts.summary()),
    )
    assert "cut off" in seen[0]
    assert result.files.settings()["long"] == "truncate"
    again = load_model(str(result.files.model), randomness=Randomness.secure(), kind="classifier")
    assert again.classes == ("bad", "good")
