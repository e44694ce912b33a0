"""A model trained with control codes writes a corpus: codes, labels, filters, going on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.cli.main import main
from sfumato.core.errors import BadInput, CannotResume, InvalidArgument, OutputExists
from sfumato.core.randomness import Randomness
from sfumato.models.sampling import TextSampling, sample_texts
from sfumato.synthesis.written import filters, job
from sfumato.synthesis.written.filters import TextFilter
from sfumato.text.document import Document
from sfumato.training.control_codes import check_codes, with_codes
from sfumato.training.run import Run
from unit.models.folders import bert_classifier, with_word_pieces

TINY = {"hidden": 8, "embedding": 8, "context": 32}
CANARY = "Quorndon"


def corpus(path: Path) -> Path:
    rows = [
        {"text": f"the {CANARY} {n} was {'good' if n % 4 else 'bad'}",
         "label": "good" if n % 4 else "bad", "author": f"a{n // 2}"}
        for n in range(40)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("trained")
    told: dict[str, Any] = {
        "epsilon": 8, "delta": 0.01, "epochs": 1, "batch_size": 20, "model": "lstm",
        "settings": TINY,
    }  # fmt: skip
    source = corpus(place / "private.jsonl")
    labeled: dict[str, Any] = {
        "label_field": "label",
        "classes": ("bad", "good"),
        "control_codes": True,
    }
    sfumato.train(source, place / "run", **told, **labeled)
    sfumato.train(source, place / "plain", **told | {"epsilon": None, "method": "plain"})
    return place


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def make(trained: Path, output: Path, **other: Any) -> Any:
    told: dict[str, Any] = {"texts": 12, "tokens": 6, "batch": 8}
    return sfumato.write_corpus(trained / "run", output, **told | other)


def test_documents_begin_with_the_code_of_their_label() -> None:
    documents = [Document("fine", labels=("good",)), Document("so so", labels=("bad",))]
    coded = with_codes(documents, ("bad", "good"))
    assert [one.text for one in coded] == ["[good] fine", "[bad] so so"]
    with pytest.raises(BadInput, match="document 1 has a label that is not among") as error:
        with_codes([Document("x", labels=("secret",))], ("bad", "good"))
    assert "secret" not in str(error.value)
    for wrong in ((), ("a", "a"), ("a]b",)):
        with pytest.raises(InvalidArgument):
            check_codes(wrong)


def test_the_run_knows_its_codes_and_was_trained_on_them(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Run.open(trained / "run").files.settings()
    assert settings["control_codes"] == ["bad", "good"]
    assert (settings["kind"], settings["classes"]) == ("causal", [])
    seen: list[str] = []

    def watch(request: Any, documents: Any, folder: Any, **_: Any) -> Any:
        del folder
        seen.extend(one.text for one in documents)
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.training.execution.train_model", watch)
    with pytest.raises(KeyboardInterrupt):
        sfumato.train(
            trained / "private.jsonl", tmp_path / "run", epsilon=8, model="lstm", settings=TINY,
            label_field="label", classes=("bad", "good"), control_codes=True,
        )  # fmt: skip
    assert seen[:2] == [f"[bad] the {CANARY} 0 was bad", f"[good] the {CANARY} 1 was good"]


def test_a_corpus_has_the_guarantee_of_its_training(trained: Path, tmp_path: Path) -> None:
    made = make(trained, tmp_path / "made.jsonl", seed=4)
    rows = rows_of(tmp_path / "made.jsonl")
    assert Counter(one["label"] for one in rows) == {"bad": 6, "good": 6}
    assert len({one["text"] for one in rows}) == 12
    run = Run.open(trained / "run").guarantee
    assert (made.guarantee.epsilon, made.guarantee.delta) == (run.epsilon, run.delta)
    assert made.guarantee.neighbors == run.neighbors
    # Draws from a private model protect nothing, so a seed takes nothing away.
    assert made.guarantee.for_release
    side = json.loads((tmp_path / "made.jsonl.guarantee.json").read_text())
    assert side == made.summary
    assert "replacement" not in side
    assert not (tmp_path / "made.jsonl.writing").exists()
    assert "written by a model that was trained on the records by the method private" in repr(made)
    sfumato.report(made, tmp_path / "page.md", samples=2)
    assert "wrote these texts afterwards" in (tmp_path / "page.md").read_text()


def test_shares_are_given_or_noised_and_noise_is_charged(trained: Path, tmp_path: Path) -> None:
    given = make(trained, tmp_path / "given.jsonl", shares={"good": 3, "bad": 1})
    labels = Counter(one["label"] for one in rows_of(tmp_path / "given.jsonl"))
    assert labels == {"bad": 3, "good": 9}
    assert any("shares of labels" in one for one in given.guarantee.uncovered)
    counted: dict[str, Any] = {
        "labels_epsilon": 0.5, "originals": trained / "private.jsonl", "label_field": "label",
    }  # fmt: skip
    noised = make(trained, tmp_path / "noised.jsonl", **counted)
    run = Run.open(trained / "run").guarantee
    assert noised.guarantee.epsilon == pytest.approx(run.epsilon + 0.5)
    assert noised.summary["settings"]["labels"] == "noised"
    # Noise under a seed can be subtracted.
    assert not make(trained, tmp_path / "seeded.jsonl", seed=1, **counted).guarantee.for_release


def test_noised_counts_are_drawn_once(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {
        "labels_epsilon": 0.5, "originals": trained / "private.jsonl", "label_field": "label",
    }  # fmt: skip
    stop_after(1, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        make(trained, tmp_path / "made.jsonl", **told)
    monkeypatch.undo()

    def twice(*_: Any, **__: Any) -> Any:
        raise AssertionError("a second draw of the counts")

    monkeypatch.setattr(job, "noised_weights", twice)
    with pytest.raises(AssertionError):
        make(trained, tmp_path / "made.jsonl", overwrite=True, **told)
    assert make(trained, tmp_path / "made.jsonl", resume=True, **told).texts == 12


def stop_after(batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [batches]

    def counting(*given: Any) -> list[str]:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return sample_texts(*given)

    monkeypatch.setattr(job, "sample_texts", counting)


def test_a_stopped_run_goes_on_and_gives_the_same(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(trained, tmp_path / "whole.jsonl", seed=2)
    stop_after(1, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        make(trained, tmp_path / "made.jsonl", seed=2)
    monkeypatch.undo()
    left = tmp_path / "made.jsonl.writing"
    with left.open("ab") as stream:
        stream.write(b'{"label": 0, "dra')  # cut off by a crash
    with pytest.raises(OutputExists, match="resume=True"):
        make(trained, tmp_path / "made.jsonl", seed=2)
    with pytest.raises(CannotResume, match="other settings"):
        make(trained, tmp_path / "made.jsonl", seed=2, resume=True, temperature=0.5)
    make(trained, tmp_path / "made.jsonl", seed=2, resume=True)
    assert (tmp_path / "made.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    left.write_bytes(b'{"schema": 1}\n')
    with pytest.raises(BadInput, match="is damaged"):
        make(trained, tmp_path / "made.jsonl", resume=True, overwrite=True)


def test_texts_are_filtered_by_what_they_say_themselves() -> None:
    some = ["a b", "a  b", "a", "a b c d", "x\ty", ""]
    chosen = TextFilter(shortest=2, longest=3)
    assert chosen.keep(some, "good", set()) == ["a b", "x y"]
    assert chosen.keep(some, "good", {"a b"}) == ["x y"]
    assert TextFilter(duplicates=True).keep(some[:3], "good", {"a"}) == ["a b", "a b", "a"]
    with pytest.raises(InvalidArgument):
        TextFilter(shortest=3, longest=2)


def test_a_public_classifier_confirms_labels(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(with_word_pieces(bert_classifier(["bad", "good"]), tmp_path / "judge"))
    chosen = TextFilter(classifier=folder)
    chosen.check(("bad", "good"))
    texts = ["the film was good", "bad", "a film"]
    kept = [chosen.keep(texts, label, set()) for label in ("bad", "good")]
    assert sorted(kept[0] + kept[1]) == sorted(texts)  # each has one of the labels
    with pytest.raises(InvalidArgument, match="the label 'so so'"):
        chosen.check(("bad", "so so"))
    with pytest.raises(InvalidArgument, match="no labels"):
        chosen.check(("",))
    monkeypatch.setattr(filters, "classify", lambda *_: pytest.fail("not asked"))
    assert TextFilter().keep(texts, "bad", set()) == texts
    made = make(trained, tmp_path / "made.jsonl", texts=2, shares={"good": 1})
    assert not any("classifier" in one for one in made.guarantee.uncovered)


@pytest.mark.parametrize(
    ("sampling", "least", "most"),
    [
        (TextSampling(tokens=3, temperature=0), 1, 1),
        (TextSampling(tokens=3, top=1), 1, 1),
        (TextSampling(tokens=3, nucleus=1e-6), 1, 1),
        (TextSampling(tokens=3, top=4, nucleus=0.9), 2, 12),
        (TextSampling(tokens=3), 2, 12),
    ],
)
def test_any_sampler_will_do(trained: Path, sampling: TextSampling, least: int, most: int) -> None:
    model = Run.open(trained / "run").model
    said = sample_texts(model, "[good] ", 12, sampling, Randomness.reproducible(1))
    assert least <= len(set(said)) <= most
    assert not any(one.startswith("[good]") for one in said)


def test_a_run_without_codes_writes_without_labels_and_without_proof(
    trained: Path, tmp_path: Path
) -> None:
    made = sfumato.write_corpus(trained / "plain", tmp_path / "made.jsonl", texts=3, tokens=5)
    assert all(set(one) == {"text"} for one in rows_of(tmp_path / "made.jsonl"))
    assert not made.guarantee.for_release
    with pytest.raises(InvalidArgument, match="control_codes=True"):
        sfumato.write_corpus(trained / "plain", tmp_path / "other.jsonl", shares={"good": 1})


def test_the_command_and_what_it_refuses(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, run = str(tmp_path / "made.jsonl"), str(trained / "run")
    command = ["write", run, "-o", out, "--texts", "4", "--tokens", "5", "--batch", "4"]
    assert main([*command, "--shares", "good=1,bad=1", "--top", "50"]) == 0
    assert "4 synthetic texts" in capsys.readouterr().out
    assert main([*command, "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["documents"] == 4
    assert main([*command, "--overwrite", "--shares", "good"]) == 2
    assert "LABEL=NUMBER" in capsys.readouterr().err
    assert main([*command, "--overwrite", "--labels-epsilon", "1"]) == 2
    assert "--originals FILE" in capsys.readouterr().err
    assert main([*command, "--overwrite", "--shares", "good=1", "--labels-epsilon", "1"]) == 2
    private = str(trained / "private.jsonl")
    assert main([*command, "--overwrite", "--originals", private, "--label-field", "label"]) == 2
    assert "--labels-epsilon" in capsys.readouterr().err
    assert main([*command, "--overwrite", "--field", "text", "--field", "label"]) == 2
    assert main([*command, "--overwrite", "--shortest", "900"]) == 3
    assert "nothing that the model wrote was kept" in capsys.readouterr().err
