"""Selective training under odd corpora, odd tokenizers, odd plans, policies of the same name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from typer.testing import CliRunner

from sfumato.cli.main import app
from sfumato.core.errors import BadInput, CannotResume, InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.tokenizer import Tokenizer
from sfumato.policies.imperfect import Imperfect
from sfumato.policies.parsing import parse_policy
from sfumato.policies.patterns import Digits
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import (
    TokenMaterial,
    TrainingMethod,
    build_method,
    private_places,
)
from sfumato.training.methods.interleaved import Interleaved, InterleavedPlan
from sfumato.training.methods.interleaved_steps import fit_interleaved
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.methods.selective import PublicCourse, SelectiveTraining
from sfumato.training.methods.streams import selective_streams
from sfumato.training.methods.stretch_records import stretch_records
from sfumato.training.plan import Plan, PrivacyCaution
from sfumato.training.records import Cut
from sfumato.training.request import Request
from sfumato.training.settings import Course, Privacy, Training

TEXTS = ["Code 42 is mine", "Nothing here", "Ring 12345 or 678 now", "A plain line", "Room 9"]
TINY: dict[str, object] = {"embedding": 4, "hidden": 4, "context": 32}


def documents(texts: list[str] = TEXTS) -> list[Document]:
    return [Document(text) for text in texts]


def tiny() -> LoadedModel:
    return load_model("lstm", randomness=Randomness.reproducible(1), settings=dict(TINY))


def privacy(**changes: Any) -> Privacy:
    settings: dict[str, Any] = {"epsilon": 8.0, "delta": 1e-2, "epochs": 1, "batch_sizes": (2,)}
    return Privacy(**(settings | changes))


def method(name: str) -> TrainingMethod:
    lead = {"lead": 0.5} if name == "selective" else {}
    return build_method(name, {} if name == "interleaved" else {"public_epochs": 1.0, **lead})


def request(how: TrainingMethod, policy: Policy | None = None, **changes: Any) -> Request:
    return Request(
        model="lstm",
        settings=dict(TINY),
        privacy=privacy(**changes),
        method=how,
        protection=PolicyPromise(policy or Digits()),
        course=Course(checkpoint_every=1),
    )


def frameless() -> Tokenizer:
    """A tokenizer that knows no beginning and no end of a document."""
    words = ["?", "a", "b", "1", "2", "[", "]", "NUMBER"]
    backend = Backend(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="?"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return Tokenizer(PreTrainedTokenizerFast(tokenizer_object=backend), "words")


def test_flags_stay_beside_their_tokens_where_documents_have_no_frame() -> None:
    """A document of one token has no row then, and must have no flag."""
    given = documents(["a", "b 1 b", "1", "2 a"])
    streams = selective_streams(given, Digits(), frameless(), Cut(context=8))
    for records in (streams.public, streams.private):
        assert records.wanted is not None
        assert len(records.wanted) == len(records.tokens)
    assert streams.public.wanted is not None
    masks = {frameless().encode(word)[0] for word in ("[", "NUMBER", "]")}
    is_mask = np.isin(streams.public.tokens, list(masks))
    assert not streams.public.wanted[is_mask].any()
    assert streams.public.wanted[~is_mask].all()


@pytest.mark.parametrize("secret", ["1", "1 2", "1 2 1 2"])
def test_the_length_of_a_secret_never_decides_whether_its_document_counts(secret: str) -> None:
    policy = parse_policy("regex:[0-9](?: [0-9])*")
    records = stretch_records(documents([secret, "a 1 b"]), policy, frameless())
    assert len(records) == 2
    assert records.private.tolist() == [1, 1]


def killed_early(how: TrainingMethod, policy: Policy, folder: RunFolder) -> None:
    class Killed(Exception):
        """As if the process had gone."""

    def killing(*_: Any) -> Any:
        def watch(_: Any) -> None:
            raise Killed

        return watch

    with pytest.raises(Killed):
        train_model(request(how, policy), documents(), folder, announce=killing)


@pytest.mark.parametrize("name", ["selective", "interleaved"])
def test_another_policy_of_the_same_name_is_not_resumed(tmp_path: Path, name: str) -> None:
    """What was promised to be protected would be public text for the rest of the run."""
    folder = RunFolder(tmp_path / "run")
    first, other = parse_policy("regex:[0-9]+"), parse_policy("regex:Code|Ring|Room")
    killed_early(method(name), first, folder)
    with pytest.raises(CannotResume, match="private_places"):
        train_model(request(method(name), other), documents(), folder, resume=True)
    again = train_model(request(method(name), first), documents(), folder, resume=True)
    assert again.files.finished


def test_what_tells_policies_apart_says_nothing_about_secrets() -> None:
    changed = [text.replace("12345", "9").replace("42", "1234567") for text in TEXTS]
    model = tiny()

    def shown(texts: list[str]) -> list[dict[str, str]]:
        given = documents(texts)
        streams = selective_streams(given, Digits(), model.tokenizer, Cut(context=8))
        turns = stretch_records(given, Digits(), model.tokenizer)
        material = TokenMaterial(streams.private, streams.public, streams.selected)
        return [private_places(material), private_places(turns)]

    assert shown(TEXTS) == shown(changed)
    assert all(shown(TEXTS))
    assert shown(TEXTS) != shown([TEXTS[0].replace("mine", "7"), *TEXTS[1:]])


def test_a_plan_for_other_documents_is_refused() -> None:
    """One document with more private stretches than were planned for would cost more."""
    model = tiny()
    made = stretch_records(documents(), Digits(), model.tokenizer)
    more = [*TEXTS[:4], "Room 9 and then 10 and then 11 and so on"]
    others = stretch_records(documents(more), Digits(), model.tokenizer)
    plan = InterleavedPlan.of(made, privacy(), Interleaved())
    with pytest.raises(InvalidArgument, match="the records are others"):
        fit_interleaved(model, others, plan, randomness=Randomness.reproducible(1))


def test_a_large_delta_is_said_in_interleaved_training_too() -> None:
    records = stretch_records(documents(), Digits(), tiny().tokenizer)
    with pytest.warns(PrivacyCaution, match="1/n"):
        InterleavedPlan.of(records, privacy(delta="1/n"), Interleaved())


@pytest.mark.parametrize("name", ["selective", "twice", "interleaved"])
def test_one_document_with_something_private_is_too_few(tmp_path: Path, name: str) -> None:
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(BadInput, match="one example only"):
        train_model(request(method(name)), documents(["Code 42", "Nothing here"]), folder)
    assert not folder.path.exists()


def test_more_steps_than_can_be_taken_are_refused(tmp_path: Path) -> None:
    records = stretch_records(documents(), Digits(), tiny().tokenizer)
    for epochs in (1e9, 1e308):
        with pytest.raises(InvalidArgument, match="more than can be planned"):
            InterleavedPlan.of(records, privacy(epochs=epochs), Interleaved())
    endless = SelectiveTraining(public_epochs=1e300)
    with pytest.raises(InvalidArgument, match="more than can be planned"):
        train_model(request(endless), documents(), RunFolder(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("lead", [0.0, 0.5, 1.0])
def test_all_public_steps_are_taken_before_the_only_private_one(lead: float) -> None:
    course = PublicCourse(epochs=3, batch_size=10, lead=lead)
    assert course.before(0, 1, 100) == course.steps(100) == 30


def promised(name: str, unit: str, policy: Policy | None = None) -> Guarantee:
    plan = Plan(
        units=9, stages=privacy().plan(9).stages, delta=1e-2, unit=unit, clipping=privacy().clipping
    )
    return request(method(name), policy).promised(plan.guarantee(), tiny().tokenizer)


def test_a_selective_promise_leaves_out_no_gap_of_the_promise_below() -> None:
    """What several documents of one person show together is not covered by any method."""
    assert any("one person" in gap for gap in promised("selective", "example").uncovered)
    records = stretch_records(documents(), Digits(), tiny().tokenizer)
    below = InterleavedPlan.of(records, privacy(), Interleaved()).guarantee()
    stated = request(method("interleaved")).promised(below, tiny().tokenizer)
    assert any("one person" in gap for gap in stated.uncovered)


def test_neighbors_have_the_same_places_and_an_author_has_documents() -> None:
    assert "the same private places" in promised("selective", "example").neighbors
    stated = promised("selective", "author")
    assert "in all documents of one author" in stated.neighbors
    assert "a secret that stands in documents of several authors" in stated.uncovered


@pytest.mark.parametrize("name", ["selective", "twice"])
def test_a_policy_that_misses_on_purpose_is_not_for_release(name: str) -> None:
    missing = Imperfect(policy=Digits(), misses=0.5, seed=1)
    assert not promised(name, "example", missing).for_release
    assert promised(name, "example").for_release


def test_a_document_without_author_is_named_by_its_place_in_the_corpus() -> None:
    given = [Document("plain", author="a"), Document("plain"), Document("Code 42", author="b")]
    swapped = [given[0], given[2], Document("Code 43")]
    for some, number in ((given, 2), ([given[0], *swapped[1:]], 3)):
        with pytest.raises(BadInput, match=f"document {number} has no author"):
            selective_streams(some, Digits(), frameless(), Cut(context=8, unit="author"))


def test_a_method_that_does_not_exist_is_the_first_thing_said() -> None:
    with pytest.raises(UnknownName, match="selctive"):
        Training(method="selctive")


def test_the_command_says_why_an_experiment_is_not_for_release(tmp_path: Path) -> None:
    corpus = tmp_path / "notes.jsonl"
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS * 3))
    given = f"train {corpus} -o {tmp_path / 'run'} --method selective --epsilon 8 --epochs 1"
    policy = "--policy imperfect:digits --set imperfect.misses=0.3 --set imperfect.seed=1"
    size = "--model lstm --set hidden=4 --set embedding=4 --batch-size 4"
    result = CliRunner().invoke(app, f"{given} {policy} {size}".split())
    assert result.exit_code == 0
    assert "AN EXPERIMENT: NOT FOR RELEASE" in result.output
    assert "REPRODUCIBLE" not in result.output


@pytest.mark.parametrize("name", ["selective", "interleaved"])
def test_what_a_run_writes_beside_the_model_says_nothing_about_secrets(
    tmp_path: Path, name: str
) -> None:
    longer = [text.replace("12345", "9").replace("42", "1234567") for text in TEXTS]
    another = [text.replace("plain", "77") for text in TEXTS]

    def written(texts: list[str]) -> list[bytes]:
        folder = RunFolder(tmp_path / str(len(list(tmp_path.iterdir()))))
        train_model(request(method(name)), documents(texts), folder)
        return [one.read_bytes() for one in (folder.config, folder.results, folder.guarantee)]

    first = written(TEXTS)
    assert first == written(longer)
    assert first[0] != written(another)[0]  # where something is private is public
