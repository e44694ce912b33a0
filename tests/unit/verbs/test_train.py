"""Training from Python: what the command does under the same names, and a run to be asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.main import main
from sfumato.core.errors import BadInput, InvalidArgument, OutputExists
from sfumato.guarantees.guarantee import Notion
from sfumato.training.methods.selective import SelectiveTraining
from sfumato.training.run import Run
from sfumato.verbs.model import evaluate, generate
from sfumato.verbs.plan import plan
from sfumato.verbs.train import train

SIZES: dict[str, object] = {"hidden": 4, "embedding": 4, "context": 32}
QUICK: dict[str, Any] = {
    "model": "lstm", "epsilon": 8, "delta": 0.01, "epochs": 1, "batch_size": 3, "seed": 1,
    "accountant": "rdp",
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verbs") / "notes.txt"
    path.write_text("".join(f"note <b>{number}</b> about nothing\n" for number in range(6)))
    return path


@pytest.fixture(scope="module")
def run(corpus: Path) -> Run:
    other = corpus.with_name("other.txt")
    other.write_text("another note 7\n")
    return train(
        corpus, corpus.with_name("run"), method="selective", policy="digits", settings=SIZES,
        valid=other, **QUICK,
    )  # fmt: skip


def test_a_run_says_what_is_proven_and_what_was_measured(run: Run, corpus: Path) -> None:
    assert run.folder == corpus.with_name("run")
    assert run.guarantee.notion is Notion.SELECTIVE_DP
    assert [one.metric for one in run.measured] == ["perplexity", "accuracy"]
    assert run.guarantee.sentence() in repr(run)
    assert "<table>" in run._repr_html_()


def test_a_run_is_opened_again_and_asked_the_same(run: Run) -> None:
    opened = Run.open(run.folder)
    assert opened.guarantee == run.guarantee
    with pytest.raises(InvalidArgument, match="was opened, not trained"):
        _ = opened.plan
    said = opened.generate("note", tokens=3, seed=4, samples=2)
    assert list(said) == list(run.generate("note", tokens=3, seed=4, samples=2))
    assert list(generate(run, "note", tokens=3, seed=4, samples=2)) == list(said)
    assert all(text.startswith("note") for text in said)


def test_evaluation_shows_rows_and_escapes(run: Run, corpus: Path) -> None:
    found = run.evaluate(corpus, policy="digits")
    assert [row.tokens for row in found.rows] == ["all"] * 2 + ["selected"] * 2 + ["other"] * 2
    again = evaluate(run.folder, corpus, policy="digits")
    assert [row.value for row in found.rows] == [row.value for row in again.rows]
    assert repr(found).splitlines()[0].split()[:2] == ["tokens", "metric"]
    assert "<td>perplexity</td>" in found._repr_html_()
    assert "<b>" not in run.generate("<b>", tokens=2)._repr_html_()
    with pytest.raises(InvalidArgument, match="for classifiers"):
        run.evaluate(corpus, label_field="kind")
    with pytest.raises(InvalidArgument, match="need a policy given by its name"):
        run.evaluate(corpus, exclude=["digits"])


def test_the_command_does_the_same(
    run: Run, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"--{name.replace('_', '-')}={value}" for name, value in QUICK.items()]
    options += [f"--set={name}={value}" for name, value in SIZES.items()]
    given = ["train", str(corpus), "-o", str(tmp_path / "run"), "--method", "selective"]
    assert main([*given, "--policy", "digits", *options, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["guarantee"] == run.guarantee.as_dict()
    assert said["steps"] == run.plan.steps
    assert Run.open(tmp_path / "run").files.settings() == run.files.settings()


def test_what_is_refused(run: Run, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputExists):
        train(corpus, run.folder, method="selective", policy="digits", settings=SIZES, **QUICK)
    again = train(
        corpus, run.folder, method=SelectiveTraining(), policy="digits", settings=SIZES,
        resume=True, **QUICK,
    )  # fmt: skip
    assert again.already_finished
    with pytest.raises(InvalidArgument, match="the private corpus itself"):
        train(corpus, tmp_path / "x", valid=corpus, settings=SIZES, **QUICK)
    with pytest.raises(InvalidArgument, match="need a policy given by its name"):
        train(corpus, tmp_path / "x", settings=SIZES | {"pii.regions": "DE"}, **QUICK)
    with pytest.raises(InvalidArgument, match="author_field"):
        train(corpus, tmp_path / "x", unit="author", settings=SIZES, **QUICK)
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(BadInput, match="holds no text"):
        train(corpus, tmp_path / "x", valid=tmp_path / "empty.txt", settings=SIZES, **QUICK)
    assert not (tmp_path / "x").exists()


def test_a_plan_keeps_a_level_or_tells_one() -> None:
    kept = plan(500, batch_size=50, epochs=2, epsilon=3, accountant="rdp")
    assert 2.9 < kept.epsilon() <= 3
    told = plan(500, batch_size=50, epochs=2, noise_multiplier=kept.noise_multiplier)
    assert told.steps == kept.steps
    with pytest.raises(InvalidArgument, match="either"):
        plan(500, batch_size=50, epochs=2)


def test_a_run_is_evaluated_on_one_field(
    run: Run, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = corpus.with_name("pairs.jsonl")
    pairs.write_text('{"a": "note 1", "b": "note 2"}\n')
    several: Any = ["a", "b"]
    with pytest.raises(InvalidArgument, match="takes one name here"):
        evaluate(run, pairs, field=several)
    words = ["evaluate", str(run.folder), "--corpus", str(pairs), "--field", "a", "--field", "b"]
    assert main(words) == 2
    assert "--field takes one name here" in capsys.readouterr().err
    assert main(words[:-2]) == 0
