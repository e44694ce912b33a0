"""The name of a record: said in the guarantee, never mixed up with another, and no way for text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.cli.main import main
from sfumato.core.errors import CannotResume, IncomparableGuarantees, InvalidArgument
from sfumato.guarantees.guarantee import Guarantee
from sfumato.policies.parsing import combine_policies
from sfumato.text.document import Document
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import build_method
from sfumato.training.methods.interleaved import InterleavedPlan
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.plan import Plan
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.settings import Privacy
from unit.training.runs import SETTINGS, small_plan, tokenizer

TEXTS = ["Code 42 is mine", "Nothing here", "Ring 12345 or 678 now", "A plain line", "Room 9"]
DOCUMENTS = [Document(text) for text in TEXTS]


def request(method: str, record: str) -> Request:
    """A few tiny steps of a method."""
    chosen = build_method(method)
    return Request(
        model="lstm",
        settings=SETTINGS["lstm"],
        tokenizer=tokenizer(),
        privacy=Privacy(
            epsilon=8.0 if chosen.adds_noise else float("inf"),
            delta=1e-2,
            epochs=1,
            batch_sizes=(2,),
            record=record,
        ),
        method=chosen,
        protection=PolicyPromise(combine_policies(["digits"])) if chosen.needs_policy else None,
    )


def trained(method: str, record: str, folder: Path) -> Run:
    return train_model(request(method, record), DOCUMENTS, RunFolder(folder))


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("private", "one example being one paragraph"),
        ("selective", "one example being one paragraph"),
        ("twice", "one example being one paragraph"),
        ("interleaved", "one document being one paragraph"),
    ],
)
def test_a_guarantee_says_what_an_example_is(tmp_path: Path, method: str, said: str) -> None:
    run = trained(method, "paragraph", tmp_path / "run")
    sentence = run.guarantee.sentence()
    assert said in sentence
    assert sentence.index(said) < sentence.index("not covered")
    stored = json.loads(run.files.guarantee.read_bytes())
    assert stored["sentence"] == sentence
    assert stored["guarantee"]["record"] == stored["plan"]["record"] == "paragraph"
    assert Guarantee.from_dict(stored["guarantee"]) == run.guarantee
    # It is a name and nothing else: the promise is the one without it.
    unnamed = trained(method, "", tmp_path / "unnamed")
    assert replace(run.guarantee, record="") == unnamed.guarantee
    assert "being one" not in unnamed.guarantee.sentence()


@pytest.mark.parametrize("method", ["plain", "redacted"])
def test_where_nothing_is_promised_the_record_is_only_written_down(
    tmp_path: Path, method: str
) -> None:
    run = trained(method, "article", tmp_path / "run")
    assert run.guarantee.sentence().startswith("Nothing is proven")
    assert "article" not in run.guarantee.sentence()
    assert run.guarantee.as_dict()["record"] == "article"


def interleaved(record: str) -> InterleavedPlan:
    return InterleavedPlan(
        documents=5, units=3, stretches=2, steps_per_epoch=4, updates=4, epochs=1, batch_size=2,
        noise_multiplier=2.0, delta=1e-2, record=record,
    )  # fmt: skip


@pytest.mark.parametrize("record", ["article", ""])
def test_guarantees_for_different_records_do_not_add_up(record: str) -> None:
    paragraph, other = (small_plan(record=one).guarantee() for one in ("paragraph", record))
    with pytest.raises(IncomparableGuarantees, match=f"record do not add up: .*{record or 'none'}"):
        paragraph.then(other)
    with pytest.raises(IncomparableGuarantees, match="record do not add up"):
        other.then(paragraph)
    with pytest.raises(IncomparableGuarantees, match="record do not add up"):
        interleaved("paragraph").guarantee().then(interleaved(record).guarantee())
    # Twins that have forgotten their names do, in silence; so it is the name that is refused.
    forgotten = replace(paragraph, record="").then(replace(other, record=""))
    assert forgotten.epsilon == 2 * paragraph.epsilon
    twice = paragraph.then(small_plan(record="paragraph").guarantee())
    assert twice.epsilon == 2 * paragraph.epsilon
    assert twice.record == "paragraph"


def test_without_a_name_nothing_new_is_written_so_runs_of_before_go_on() -> None:
    assert "record" not in small_plan().as_dict()
    assert "record" not in small_plan().guarantee().as_dict()
    assert "record" not in interleaved("").as_dict()
    assert Plan.from_dict(small_plan().as_dict()) == small_plan()
    named = small_plan(record="support ticket")
    assert Plan.from_dict(named.as_dict()) == named != small_plan()


@pytest.mark.parametrize("method", ["private", "selective", "interleaved"])
@pytest.mark.parametrize(("first", "second"), [("paragraph", "article"), ("paragraph", "")])
def test_a_run_is_not_resumed_with_another_record(
    tmp_path: Path, method: str, first: str, second: str
) -> None:
    folder = trained(method, first, tmp_path / "run").files
    kept = folder.guarantee.read_bytes()
    with pytest.raises(CannotResume, match="another plan, record"):
        train_model(request(method, second), DOCUMENTS, folder, resume=True)
    assert folder.guarantee.read_bytes() == kept
    assert train_model(request(method, first), DOCUMENTS, folder, resume=True).already_finished


@pytest.mark.parametrize("name", ["paragraph", "Absatz", "e-mail", "support ticket", ""])
def test_a_word_or_two_will_do(name: str) -> None:
    assert Privacy(epsilon=1.0, record=name).record == name


@pytest.mark.parametrize(
    "name", ["a; nothing is visible", " paragraph", "two  spaces", "a\nline", "x_y", "-", "x" * 41]
)
def test_anything_that_could_change_the_sentence_is_refused(name: str) -> None:
    for make in (
        lambda: Privacy(epsilon=1.0, record=name),
        lambda: small_plan(record=name),
        lambda: interleaved(name),
    ):
        with pytest.raises(InvalidArgument, match="a word or two"):
            make()


def test_an_author_is_not_an_example() -> None:
    with pytest.raises(InvalidArgument, match="the unit author protects all"):
        Privacy(epsilon=1.0, unit="author", record="paragraph")
    with pytest.raises(InvalidArgument, match="the unit author protects all"):
        small_plan(unit="author", record="paragraph")


def test_the_commands_name_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [" = Title = ", *(f" A line of {place} words . " for place in range(6))]
    (tmp_path / "in.raw").write_text("\n".join(lines), encoding="utf-8")
    notes, run = tmp_path / "notes.jsonl", tmp_path / "run"
    assert main(["data", "wikitext", str(tmp_path / "in.raw"), "-o", str(notes)]) == 0
    assert "--record paragraph" in capsys.readouterr().err
    command = ["train", str(notes), "-o", str(run), "--epsilon", "8", "--record", "paragraph"]
    command += ["--model", "lstm", "--set", "hidden=4", "--set", "embedding=4", "--epochs", "1"]
    command += ["--batch-size", "3", "--accountant", "rdp"]
    assert main(command) == 0
    assert "one example being one paragraph" in capsys.readouterr().out
    assert json.loads((run / "guarantee.json").read_bytes())["guarantee"]["record"] == "paragraph"
    assert main([*command, "--unit", "author", "--author-field", "article"]) == 2
    assert "leave the record out" in capsys.readouterr().err
