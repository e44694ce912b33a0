"""Private prediction from end to end: what a record changes, what files show, what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sfumato
from sfumato.cli.main import main
from sfumato.core.arrays import Integers
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.writing import Writer
from sfumato.synthesis.prediction import job
from sfumato.synthesis.prediction.ensemble import Ensemble, PrivateRecord
from sfumato.synthesis.prediction.law import STEPS, AverageLaw
from sfumato.synthesis.prediction.plan import PredictionPlan
from sfumato.synthesis.prediction.settings import Prediction
from sfumato.synthesis.prediction.split import Group
from unit.mechanisms.rewriting.test_temperature import t5
from unit.models.folders import gpt2, with_our_tokenizer

pytestmark = pytest.mark.usefixtures("small_vectors")

CANARY = "Xylia Quorndon owes Vantablack 145572 crowns"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("models")
    torch.manual_seed(3)
    found = {}
    for name, model in (("causal", gpt2()), ("apart", t5())):
        for parameter in model.parameters():
            parameter.data *= 6
        found[name] = str(with_our_tokenizer(model, place / name))
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Watched(AverageLaw):
    """The law, which keeps the sums that it draws from and always takes the first token."""

    seen: list[Integers] = field(default_factory=list)

    def draw(self, total: Integers, randomness: Randomness) -> int:
        del randomness
        self.seen.append(total)
        return int(self.tokens[0])


def plan_of(**other: Any) -> PredictionPlan:
    known: dict[str, Any] = {"units": 24, "epsilon": 90, "prompts": 12, "tokens": 3, "classes": 2}
    return PredictionPlan(**known | other)


def watched(folder: str, **other: Any) -> tuple[Ensemble, list[Integers]]:
    made = Prediction(model=folder, prompt="{label}: {text} :", record_tokens=6, batch=5)
    ensemble = made.ensemble(plan_of(**other), ("bad", "good"))
    law = Watched(**{name: getattr(ensemble.law, name) for name in
                     ("tokens", "clip", "prompts", "temperature")})  # fmt: skip
    return replace(ensemble, law=law), law.seen


def records(ensemble: Ensemble, count: int = 24) -> list[PrivateRecord]:
    tokenizer = ensemble.writer.tokenizer
    texts = [f"note {n} about " + "a very long thing " * (n % 3) for n in range(count)]
    rows = [tuple(one.tolist()) for one in tokenizer.encode_many(texts)]
    return [PrivateRecord(row, n % 2) for n, row in enumerate(rows)]


GROUP = Group(tuple((n,) for n in range(24)), (0, 1))


def sums(ensemble: Ensemble, seen: list[Integers], given: Sequence[PrivateRecord]) -> Integers:
    seen.clear()
    ensemble.write(GROUP, given, Randomness.reproducible(1))
    return np.array(seen)


def moved(ensemble: Ensemble, seen: list[Integers]) -> tuple[Integers, Integers]:
    """By how much one record moves the sums of its own text, and of the other label's."""
    every = records(ensemble)
    whole = sums(ensemble, seen, every)
    gone = [PrivateRecord((), 0) if n == 7 else one for n, one in enumerate(every)]
    found = whole - sums(ensemble, seen, gone)
    # Draws take turns: a token of the first text, then one of the second.
    return found[1::2], found[::2]


def test_a_record_moves_its_own_text_by_what_it_says_and_no_other(folders: dict[str, str]) -> None:
    ensemble, seen = watched(folders["causal"])
    own, other = moved(ensemble, seen)
    assert not other.any()
    # To the last digit: what others say did not change at all, whatever the record's length.
    assert 0 < np.abs(own).max() <= STEPS
    assert (own.max(axis=1) == STEPS).all()


def test_twin_the_same_record_in_two_prompts_moves_it_twice_as_far(folders: dict[str, str]) -> None:
    ensemble, seen = watched(folders["causal"])
    every = records(ensemble)
    again = list(every)
    again[9] = every[7]
    twice = sums(ensemble, seen, again)
    gone = [PrivateRecord((), 1) if n in (7, 9) else one for n, one in enumerate(every)]
    assert np.abs(twice - sums(ensemble, seen, gone)).max() > STEPS


@dataclass(frozen=True, kw_only=True, eq=False)
class Unclipped(Watched):
    """Scores as they are."""

    def contributions(self, scores: Any) -> Integers:
        found: Integers = np.rint(scores[..., self.tokens] * (STEPS / self.clip)).astype(np.int64)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class OverPresent(Watched):
    """Averages over the prompts that there are."""

    def contributions(self, scores: Any) -> Integers:
        found = super().contributions(scores)
        shared: Integers = np.rint(found * (self.prompts / len(scores))).astype(np.int64)
        return shared


@pytest.mark.parametrize("twin", [Unclipped, OverPresent])
def test_twins_of_the_law_move_sums_too_far(folders: dict[str, str], twin: type[Watched]) -> None:
    ensemble, _ = watched(folders["causal"], clip=1.0)
    parts = {name: getattr(ensemble.law, name) for name in ("tokens", "prompts", "temperature")}
    law = twin(clip=0.02, **parts)
    own, _ = moved(replace(ensemble, law=law, batch=24), law.seen)
    assert np.abs(own).max() > STEPS


def test_twin_rows_as_long_as_the_longest_record_are_not_public(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes: list[tuple[int, int]] = []
    begin = Writer.begin

    def watching(self: Writer, rows: Any, *, width: int = 0) -> Any:
        shapes.append((len(rows), max(width, *map(len, rows))))
        return begin(self, rows, width=width)

    monkeypatch.setattr(Writer, "begin", watching)
    ensemble, seen = watched(folders["causal"])
    some = records(ensemble)
    short = [replace(one, tokens=one.tokens[:1]) for one in some]
    found = []
    for given in (some, short):
        shapes.clear()
        sums(ensemble, seen, given)
        found.append(list(shapes))
    assert found[0] == found[1]
    assert len(set(found[0])) == 2  # five rows, and four in the last batch; one length
    monkeypatch.setattr(type(ensemble.frame), "width", 0)
    for place, given in enumerate((some, short)):
        shapes.clear()
        sums(ensemble, seen, given)
        found[place] = list(shapes)
    assert found[0] != found[1]


@pytest.mark.parametrize(("shots", "labels"), [(1, "equal"), (1, "noised"), (2, "public")])
def test_what_is_charged_is_what_is_drawn(folders: dict[str, str], shots: int, labels: str) -> None:
    plan = plan_of(shots=shots, prompts=4, labels=labels)
    made = Prediction(model=folders["causal"], prompt="{text} :", record_tokens=4, shots=shots)
    ensemble = made.ensemble(plan, ("bad", "good"))
    reach = 1 if shots == 1 else 2
    assert reach * ensemble.law.shift == pytest.approx(plan.shift, rel=1e-12)
    assert ensemble.tokens == plan.tokens
    # The twin: s charged, s/2 averaged over.
    halved = replace(ensemble.law, prompts=plan.speakers // 2)
    assert reach * halved.shift > 1.9 * plan.shift


# --- the files -----------------------------------------------------------------------------------


def write(path: Path, texts: Sequence[str], *, bad: int = 2) -> Path:
    rows = [
        {"text": one, "label": "bad" if n % bad == 0 else "good", "author": f"a{n // 3}"}
        for n, one in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "private.jsonl", [f"The film number {n} was fine" for n in range(60)])
    return tmp_path


def make(
    model: str, source: str = "private.jsonl", output: str = "made.jsonl", **other: Any
) -> Any:
    chosen = {"model": model, "prompt": "{text} :", "record_tokens": 4, "tokens": 3, "prompts": 10}
    told: dict[str, Any] = {
        "method": "prediction",
        "epsilon": 40,
        "label_field": "label",
        "classes": ("bad", "good"),
        "settings": chosen | other.pop("more", {}),
    }
    return sfumato.synthesize(source, output, **told | other)


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("labels", ["equal", "noised", "public"])
def test_a_corpus_with_its_guarantee(folders: dict[str, str], folder: Path, labels: str) -> None:
    made = make(folders["causal"], labels=labels, control="control.jsonl")
    rows = rows_of(folder / "made.jsonl")
    assert 1 <= len(rows) == made.texts <= 6
    assert {one["label"] for one in rows} <= {"bad", "good"}
    side = json.loads((folder / "made.jsonl.guarantee.json").read_text())
    assert side == made.summary
    assert sfumato.Guarantee.from_dict(side["guarantee"]) == made.guarantee
    assert made.guarantee.epsilon <= 40 < side["replacement"]["epsilon"]
    assert (side["settings"]["mechanism"], side["for_release"]) == ("private prediction", True)
    assert "10 prompts with one record each" in repr(made)
    assert "<table>" in made._repr_html_()
    assert rows_of(folder / "control.jsonl")
    written = sfumato.report(made, folder / "page.md", samples=2)
    page = (folder / "page.md").read_text()
    assert not written.private_text
    assert made.guarantee.sentence() in page
    assert "a record was read for one text only" in page


def test_records_without_labels_and_authors_as_units(folders: dict[str, str], folder: Path) -> None:
    made = make(
        folders["causal"], label_field=None, classes=(), unit="author", author_field="author",
        more={"shots": 2, "prompts": 5},
    )  # fmt: skip
    assert all(set(one) == {"text"} for one in rows_of(folder / "made.jsonl"))
    assert made.guarantee.unit == "author"
    assert made.texts <= 2


def flat(self: AverageLaw, total: Integers) -> Any:
    del self
    return np.zeros(len(total))


def both(folders: dict[str, str], folder: Path, **other: Any) -> list[dict[str, bytes]]:
    """All files that come out of two corpora with as many records, under one seed."""
    texts = [f"The film number {n} was fine" for n in range(60)]
    others = ["" if n == 8 else CANARY if n % 7 == 0 else "so so" for n in range(60)]
    found = []
    for name, given, bad in (("one", texts, 2), ("two", others, 5)):
        place = folder / name
        place.mkdir()
        source = write(folder / f"{name}.jsonl", given, bad=bad)
        make(folders["causal"], str(source), str(place / "made.jsonl"), seed=9,
             control=place / "control.jsonl", **other)  # fmt: skip
        found.append({one.name: one.read_bytes() for one in place.iterdir()})
    return found


@pytest.mark.parametrize("labels", ["equal", "noised"])
def test_with_flat_draws_no_file_depends_on_the_records(
    folders: dict[str, str], folder: Path, labels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AverageLaw, "logs", flat)
    monkeypatch.setattr(PredictionPlan, "label_noise", 1e9)
    one, two = both(folders, folder, labels=labels)
    assert sorted(one) == ["control.jsonl", "made.jsonl", "made.jsonl.guarantee.json"]
    assert one == two


def true_counts(plan: PredictionPlan, labels: Sequence[int], _: Randomness) -> list[float]:
    return [float(one) for one in np.bincount(labels, minlength=plan.classes)]


def test_true_label_counts_are_found(
    folders: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AverageLaw, "logs", flat)
    monkeypatch.setattr(job, "noisy_counts", true_counts)
    one, two = both(folders, folder, labels="noised")
    assert one["made.jsonl"] != two["made.jsonl"]


def test_the_command_and_what_is_measured(
    folders: dict[str, str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["synthesize", "private.jsonl", "-o", "made.jsonl", "--method", "prediction",
               "--epsilon", "40", "--label-field", "label", "--classes", "bad,good",
               "--control", "control.jsonl", "--seed", "3"]  # fmt: skip
    for name, value in (("model", folders["causal"]), ("prompt", "{text} :"), ("tokens", "4"),
                        ("record_tokens", "4"), ("prompts", "10")):  # fmt: skip
        command += ["--set", f"{name}={value}"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "synthetic texts in made.jsonl, every token drawn by what 10 prompts" in said
    assert "NOT FOR RELEASE" in said
    assert main([*command, "--rounds", "3", "--overwrite"]) == 2
    assert "--rounds is about votes" in capsys.readouterr().err.replace("\n", " ")
    found = sfumato.evaluate_synthetic(
        folder / "made.jsonl", originals="private.jsonl", held_out="private.jsonl",
        control="control.jsonl", label_field="label", seed=1,
    )  # fmt: skip
    assert {"membership", "membership, control"} <= {one.metric for one in found.figures}


def test_what_cannot_be_done_is_refused(folders: dict[str, str], folder: Path) -> None:
    with pytest.raises(InvalidArgument, match="name its folder"):
        make("")
    with pytest.raises(InvalidArgument, match="needs a causal model"):
        make(folders["apart"])
    with pytest.raises(InvalidArgument, match="once, where the record stands"):
        make(folders["causal"], more={"prompt": "say something"})
    with pytest.raises(InvalidArgument, match="the model reads 32"):
        make(folders["causal"], more={"record_tokens": 30})
    with pytest.raises(InvalidArgument, match="vocabulary: this is the private input itself"):
        make(folders["causal"], more={"vocabulary": "private.jsonl"})
    with pytest.raises(InvalidArgument, match="unknown setting of prediction 'top_k'"):
        make(folders["causal"], more={"top_k": 50})
    with pytest.raises(InvalidArgument, match="control_codes=True"):
        make(folders["causal"], method="finetune")
    write(folder / "one.jsonl", ["alone"])
    with pytest.raises(BadInput, match="two records at least"):
        make(folders["causal"], "one.jsonl")
    assert not (folder / "made.jsonl").exists()


def test_only_tokens_of_a_public_text_are_written(folders: dict[str, str], folder: Path) -> None:
    (folder / "words.txt").write_text("red green blue\n")
    made = make(folders["causal"], more={"vocabulary": "words.txt", "vocabulary_size": 3})
    tokenizer = Prediction(model=folders["causal"]).writer.tokenizer
    known = {tokenizer.decode([one]).strip() for one in tokenizer.encode("red green blue")}
    for one in rows_of(folder / "made.jsonl"):
        assert not one["text"].replace(" ", "").strip("".join(known))
    assert any("which tokens the vocabulary has" in one for one in made.guarantee.uncovered)


@pytest.mark.resources
def test_a_real_model_writes_what_records_are_about(resources: Path, folder: Path) -> None:
    told = [f"{name} had a big red ball." for name in ("Tom", "Lily", "Ben", "Mia")]
    write(folder / "private.jsonl", [told[n % 4] for n in range(40)])
    more = {"prompts": 20, "tokens": 8, "record_tokens": 12, "prompt": "{text}\n"}
    make(str(resources / "models" / "stories15m"), label_field=None, classes=(), epsilon=100,
         more=more, seed=1)  # fmt: skip
    assert any(len(one["text"].split()) >= 3 for one in rows_of(folder / "made.jsonl"))
