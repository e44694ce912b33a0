"""Taggers from a labeled file to figures, a policy and a study, from Python and by command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.cli.main import main
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim
from sfumato.models.load import load_model
from sfumato.policies.identity import policy_code
from sfumato.policies.parsing import parse_policy
from sfumato.policies.policy import Policy
from sfumato.studies.kinds.corpus import _shortened
from sfumato.studies.study import Study
from sfumato.text.document import Document
from sfumato.training.run import Run
from sfumato.verbs.measure import measure
from sfumato.verbs.model import evaluate, generate
from sfumato.verbs.train import train

SIZES: dict[str, object] = {"layers": 1, "width": 8, "heads": 2, "context": 16}
QUICK: dict[str, Any] = {
    "model": "bert-small", "settings": SIZES, "epochs": 1, "batch_size": 4, "seed": 1,
    "tags": ["PER", "LOC"],
}  # fmt: skip
PRIVATE: dict[str, Any] = {"epsilon": 8, "delta": 0.01, "accountant": "rdp"}
FIGURES = ["precision", "recall", "f1"]


def lines(count: int, **more: object) -> str:
    names, places = ("Ada", "Bo", "Zoë"), ("Rome", "Oslo")
    found = []
    for number in range(count):
        name, place = names[number % 3], places[number % 2]
        spans = [
            {"start": 0, "end": len(name), "label": "PER"},
            {"start": len(name) + 4, "end": len(name) + 4 + len(place), "label": "LOC"},
        ]
        found.append({"text": f"{name} of {place}.", "spans": spans, "who": name} | more)
    return "".join(json.dumps(one) + "\n" for one in found)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tags")
    (path / "notes.jsonl").write_text(lines(16))
    (path / "new.jsonl").write_text(lines(6))
    (path / "notes.conll").write_text("Ada B-PER\nof O\nRome B-LOC\n\n" * 8)
    return path


@pytest.fixture(scope="module")
def run(here: Path) -> Run:
    return train(here / "notes.jsonl", here / "run", valid=here / "new.jsonl", **PRIVATE, **QUICK)


@pytest.fixture(scope="module")
def learned(here: Path) -> Path:
    """One that has seen the few words often enough to know them."""
    often = QUICK | {"epochs": 30, "learning_rate": 0.03}
    train(here / "notes.jsonl", here / "learned", method="plain", **often)
    return here / "learned"


def test_a_run_says_what_it_is_and_is_measured(run: Run) -> None:
    told = run.files.settings()
    assert (told["kind"], told["classes"]) == ("tagger", ["PER", "LOC"])
    assert told["corpus"]["span_field"] == "spans"
    assert run.model.tags == ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
    assert [one.metric for one in run.measured[:3]] == FIGURES
    assert run.guarantee.epsilon <= 8
    with pytest.raises(InvalidArgument, match="a tagger does not write"):
        generate(run, "Ada")


def test_what_was_learned_is_found(learned: Path, here: Path) -> None:
    found = {row.metric: row for row in evaluate(learned, here / "new.jsonl").rows}
    assert found["f1"].value == 1
    assert found["f1, PER"].n == 6
    by_person = evaluate(learned, here / "new.jsonl", author_field="who")
    assert [row.metric for row in by_person.rows][:3] == FIGURES
    taken = measure("entities", learned, corpus=here / "new.jsonl", seed=1)
    assert {row.metric: row.value for row in taken.rows}["f1"] == 1
    # As it would be read where spans are in another field.
    other = here / "other.jsonl"
    other.write_text(lines(6).replace('"spans"', '"marks"'))
    assert evaluate(learned, other, span_field="marks").rows[2].value == 1


def test_a_tagger_is_a_policy(learned: Path, tmp_path: Path) -> None:
    policy = parse_policy(f"tagger:{learned}")
    assert isinstance(policy, Policy)
    found = policy.find(Document("Zoë of Oslo."))
    assert [(one.start, one.end, one.label, one.rule) for one in found] == [
        (0, 3, "PER", "tagger"), (7, 11, "LOC", "tagger"),
    ]  # fmt: skip
    (tmp_path / "in.txt").write_text("Zoë of Oslo.", "utf-8")
    sfumato.privatize(tmp_path / "in.txt", tmp_path / "out.txt", policy=policy, mechanism="redact")
    assert (tmp_path / "out.txt").read_text("utf-8") == "[PER] of [LOC]."
    same, inside = policy_code(policy), policy_code(parse_policy(f"tagger:{learned / 'model'}"))
    assert same
    assert same == inside


def test_the_code_of_a_policy_is_that_of_its_weights(learned: Path, run: Run) -> None:
    codes = {policy_code(parse_policy(f"tagger:{one}")) for one in (learned, run.folder)}
    assert len(codes) == 2


def test_the_command_does_the_same(
    here: Path, learned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "train", str(here / "notes.conll"), "-o", str(here / "of-words"), "--tags", "PER, LOC",
        *(f"--set={key}={value}" for key, value in SIZES.items()), "--model", "bert-small",
        "--trainable", "head", "--epochs", "1", "--batch-size", "4", "--epsilon", "8", "--delta",
        "0.01", "--accountant", "rdp", "--optimizer", "adam-bc", "--json",
    ]  # fmt: skip
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["guarantee"]["epsilon"] <= 8
    told = Run.open(here / "of-words").files.settings()
    assert (told["trainable"], told["corpus"]["format"]) == ("head", "conll")
    given = ["evaluate", str(learned), "--corpus", str(here / "notes.conll"), "--json"]
    assert main(given) == 0
    rows = json.loads(capsys.readouterr().out)
    assert (rows[2]["metric"], rows[2]["tokens"]) == ("f1", "spans")
    assert main(["report", str(here / "of-words"), "-o", str(here / "of-words.html")]) == 0
    assert "A tagger" in (here / "of-words.html").read_text("utf-8")


def test_what_does_not_fit_is_refused(run: Run, here: Path, tmp_path: Path) -> None:
    corpus = here / "notes.jsonl"
    with pytest.raises(InvalidArgument, match="give one of them"):
        train(corpus, tmp_path / "a", classes=["x", "y"], label_field="who", **QUICK, **PRIVATE)
    with pytest.raises(InvalidArgument, match=r"needs `tags=...`"):
        train(corpus, tmp_path / "a", span_field="spans", epsilon=8)
    with pytest.raises(InvalidArgument, match="a tagger predicts labels"):
        train(corpus, tmp_path / "a", objective="masked", **QUICK, **PRIVATE)
    with pytest.raises(InvalidArgument, match="class_weights"):
        train(corpus, tmp_path / "a", class_weights=(1, 2), **QUICK, **PRIVATE)
    with pytest.raises(InvalidArgument, match="predicts no token"):
        train(corpus, tmp_path / "a", method="redacted", policy="digits", **QUICK)
    with pytest.raises(BadInput, match="document 1 has a span whose label is none of the tags"):
        train(corpus, tmp_path / "b", **(QUICK | {"tags": ["PER"]}), **PRIVATE)
    with pytest.raises(InvalidArgument, match="a tagger predicts none"):
        run.evaluate(corpus, policy="digits")
    with pytest.raises(InvalidArgument, match="attacks are on language models"):
        sfumato.attack("membership", run, members=corpus, others=here / "new.jsonl")


STUDY = """
seeds = [1]
anchors = false

[corpus]
path = "notes.jsonl"
{public}

[test]
path = "new.jsonl"
{public}

[model]
name = "bert-small"
settings = {{ layers = 1, width = 8, heads = 2, context = 16 }}
tags = ["PER", "LOC"]
epochs = 1
batch_size = 4
delta = 0.01
accountant = "rdp"

[[methods]]
name = "DP-SGD"
training = "private"
epsilon = 8

[measures.entities]
"""


@pytest.mark.parametrize("public", ["", "public = true"])
def test_a_study_trains_and_measures_taggers(public: str, here: Path, tmp_path: Path) -> None:
    for name in ("notes.jsonl", "new.jsonl"):
        (tmp_path / name).write_bytes((here / name).read_bytes())
    study = Study.parse(STUDY.format(public=public), folder=tmp_path, name="tags")
    rows = [row for row in study.run(workers=0).rows() if row.by == "entities"]
    assert [row.metric for row in rows][:3] == FIGURES
    assert {(row.better, row.n) for row in rows} == {("higher", 6)}


def test_spans_of_a_shortened_dialogue_lie_within_it() -> None:
    (made,) = generate_customersim(1, Randomness.reproducible(4))
    whole = replace(made.document, spans=made.spans)
    for lines_kept in range(1, len(whole.text.split("\n")) + 1):
        short = _shortened(whole, lines_kept)
        kept = [(one.start, one.end, one.label) for one in short.spans]
        assert kept == [
            (one.start, one.end, one.label) for one in made.spans if one.end <= len(short.text)
        ]
    assert len(_shortened(whole, 1).spans) < len(_shortened(whole, None).spans)


def test_a_study_refuses_spans_that_would_not_fit(here: Path) -> None:
    text = STUDY.format(public="public = true")
    changed = text.replace('training = "private"', 'mechanism = "redact"\npolicy = "digits"')
    with pytest.raises(InvalidArgument, match="labeled spans would not fit"):
        Study.parse(changed.replace("epsilon = 8\n", ""), folder=here, name="tags").run(workers=0)
    for more in ("[coins]\ncount = 2\n", "[canaries]\nsecrets = 1\n"):
        with pytest.raises(InvalidArgument, match="texts without labeled spans"):
            Study.parse(text + more, folder=here, name="tags")


def test_a_tagger_that_is_not_there_is_said_to_be_missing_and_not_the_output(
    here: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ["--policy", "tagger:nowhere", "--mechanism", "redact"]
    out = tmp_path / "out.jsonl"
    assert main(["privatize", str(here / "notes.jsonl"), "-o", str(out), *arguments]) == 4
    assert "there is no folder nowhere to load a tagger from" in capsys.readouterr().err
    assert not out.exists()


def test_a_tagger_is_loaded_as_nothing_else(run: Run, here: Path) -> None:
    folder = str(here / "run" / "model")
    for kind, classes in (("classifier", ["a", "b"]), ("classifier", []), ("causal", [])):
        with pytest.raises(InvalidArgument, match="is a tagger, which labels tokens"):
            load_model(folder, randomness=Randomness.reproducible(0), kind=kind, classes=classes)


def test_what_is_wrong_with_a_tagger_is_not_said_of_classifiers(here: Path, tmp_path: Path) -> None:
    notes = here / "notes.jsonl"
    with pytest.raises(InvalidArgument, match="the types of a tagger must differ"):
        train(notes, tmp_path / "run", **PRIVATE, **QUICK | {"tags": ["PER", "PER"]})
    with pytest.raises(InvalidArgument, match="a tagger reads every token"):
        train(notes, tmp_path / "run", pooling="mean", **PRIVATE, **QUICK)
