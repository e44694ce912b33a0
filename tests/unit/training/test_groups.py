"""Weights of groups: they count after clipping, are at most 1, and never come from private text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD

from sfumato.cli.main import main
from sfumato.core.errors import BadInput, CannotResume, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.bpe import default_tokenizer
from sfumato.studies.study import Study
from sfumato.text.document import Document
from sfumato.training import groups
from sfumato.training.batches import physical_batches
from sfumato.training.clipping.clippers import Adaptive, Automatic, Clipper, Flat
from sfumato.training.clipping.directional import PerRecordRelease
from sfumato.training.groups import levels_by_group, read_weights, shares_of, weigh_groups
from sfumato.training.plan import Plan
from sfumato.training.records import Cut, TokenRecords, make_labeled_records, make_language_records
from sfumato.training.run import Run
from sfumato.training.steps import PlainStep, PrivateStep, make_private
from sfumato.verbs.train import train

BOUND = 0.5
WEIGHTS = {"large": 1.0, "small": 4.0}
QUICK: dict[str, Any] = {
    "model": "gpt-small", "settings": {"layers": 1, "width": 8, "heads": 2, "context": 16},
    "delta": 0.01, "epochs": 1, "batch_size": 4, "seed": 1, "accountant": "rdp",
}  # fmt: skip
CLASSES: dict[str, Any] = {"classes": [0, 1], "label_field": "label", "trainable": "head"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("groups") / "notes.jsonl"
    rows = (
        {
            "text": "they was here" if number % 2 else "they were",
            "label": str(number % 2),
            "group": "small" if number % 4 == 3 else "large",
        }
        for number in range(12)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def documents(labeled: bool = True) -> list[Document]:
    return [
        Document(
            "they were here",
            author=f"author {number // 2}",
            labels=(*(["0"] if labeled else []), "small" if number % 3 == 2 else "large"),
        )
        for number in range(6)
    ]


def records(unit: str = "example") -> TokenRecords:
    cut = Cut(context=16, long="truncate", unit=unit)
    return make_labeled_records(documents(), default_tokenizer(), cut, ("0", "1"))


# What a step adds


def linear(seed: int = 0) -> nn.Linear:
    torch.manual_seed(seed)
    return nn.Linear(6, 1)


def gradient(model: nn.Module) -> Tensor:
    return torch.cat([one.grad.flatten() for one in model.parameters() if one.grad is not None])


def released(
    rows: Tensor, shares: list[float], clipper: Clipper, kind: type[PrivateStep] = PrivateStep
) -> Tensor:
    """The sum of a step without noise; rows of the same share are given together."""
    model = linear()
    step = make_private(
        model,
        SGD(model.parameters(), lr=1e-9),
        clipper=clipper,
        noise_multiplier=0.0,
        expected_batch_size=1.0,
        randomness=Randomness.reproducible(1),
    )
    step.__class__ = kind
    for share in sorted(set(shares)):
        some = [place for place, one in enumerate(shares) if one == share]
        step.backward(model(rows[some])[:, 0], torch.tensor(some), share=share)
    step.step()
    step.close()
    return gradient(model)


def furthest(shares: list[float], clipper: Clipper, kind: type[PrivateStep] = PrivateStep) -> float:
    """The most that any record moves the sum, over its own share; it is at most the bound.

    Records are short, as long as the bound, far longer, and opposite to all others.
    """
    torch.manual_seed(3)
    found = 0.0
    for length in (1e-3, BOUND, 1.0, 1e6):
        rows = torch.randn(len(shares), 6) * length
        rows[1:] = torch.where(torch.arange(len(shares))[1:, None] % 2 == 1, -rows[0], rows[1:])
        everything = released(rows, shares, clipper, kind)
        for place, share in enumerate(shares):
            others = [one for one in range(len(shares)) if one != place]
            without = released(rows[others], [shares[one] for one in others], clipper, kind)
            found = max(found, float((everything - without).norm()) / min(share, 1.0))
    return found


@pytest.mark.parametrize("clipper", [Flat(BOUND), Automatic(BOUND), Adaptive(BOUND)])
def test_a_record_moves_the_sum_by_its_share_of_the_bound(clipper: Clipper) -> None:
    shares = [shares_of(tuple(WEIGHTS.items()))[one] for one in ("large", "small", "large")]
    most = furthest(shares, clipper)
    assert 0.9 * BOUND < most <= BOUND * (1 + 1e-6)


class Unchecked(PrivateStep):
    """A sabotaged twin: it takes weights as they are."""

    def _check_share(self, share: float) -> None:
        pass


def test_twin_that_weighs_by_more_than_one_is_caught() -> None:
    assert furthest([1.0, 4.0, 1.0], Flat(BOUND), Unchecked) > 3.9 * BOUND
    with pytest.raises(InvalidArgument, match="share=4"):
        furthest([1.0, 4.0, 1.0], Flat(BOUND))


def test_twin_whose_weights_are_not_divided_by_the_largest_is_refused(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "shares_of", dict)
    with pytest.raises(InvalidArgument, match="share=4"):
        train(
            corpus, tmp_path / "run", epsilon=8, group_field="group", group_weights=WEIGHTS,
            **CLASSES, **QUICK,
        )  # fmt: skip


def test_a_weight_before_clipping_would_be_cut_off() -> None:
    """Why it comes after: of long gradients nothing is left of a weight in the loss."""
    rows = torch.ones(1, 6) * 100
    once = released(rows, [1.0], Flat(BOUND))
    model = linear()
    step = make_private(
        model, SGD(model.parameters(), lr=1e-9), clipper=Flat(BOUND), noise_multiplier=0.0,
        expected_batch_size=1.0, randomness=Randomness.reproducible(1),
    )  # fmt: skip
    step.backward(4 * model(rows)[:, 0])
    step.step()
    assert torch.allclose(gradient(model), once, rtol=1e-4)
    assert torch.allclose(released(rows, [0.25], Flat(BOUND)), once / 4, rtol=1e-6)


def test_a_record_of_several_batches_has_its_share_once() -> None:
    rows, found = torch.ones(4, 6) * 100, []
    for share in (1.0, 0.25):
        model = linear()
        step = make_private(
            model, SGD(model.parameters(), lr=1e-9), clipper=Flat(BOUND), noise_multiplier=0.0,
            expected_batch_size=1.0, randomness=Randomness.reproducible(1),
        )  # fmt: skip
        with step.one_record(share=share):
            for some in rows.split(2):  # type: ignore[no-untyped-call]
                step.backward(model(some)[:, 0])
        step.step()
        found.append(float(gradient(model).norm()))
    assert 0.9 * BOUND < found[0] <= BOUND
    assert found[1] == pytest.approx(found[0] / 4)


def test_a_share_within_a_record_is_refused_and_not_passed_over() -> None:
    model = linear()
    step = make_private(
        model, SGD(model.parameters(), lr=1e-9), clipper=Flat(BOUND), noise_multiplier=0.0,
        expected_batch_size=1.0, randomness=Randomness.reproducible(1),
    )  # fmt: skip
    with pytest.raises(InvalidArgument, match="same share"), step.one_record():
        step.backward(model(torch.ones(2, 6))[:, 0], share=0.25)
    step.close()


def test_noise_of_single_records_is_not_shrunk() -> None:
    model = linear()
    step = PrivateStep(
        model, SGD(model.parameters(), lr=1.0), release=PerRecordRelease(4), noise_multiplier=1.0,
        expected_batch_size=4.0, randomness=Randomness.reproducible(1),
    )  # fmt: skip
    with pytest.raises(InvalidArgument, match="noise of its own"):
        step.backward(model(torch.ones(2, 6))[:, 0], share=0.5)


def test_plain_steps_weigh_alike() -> None:
    model = linear()
    step = PlainStep(SGD(model.parameters(), lr=1.0))
    step.backward(model(torch.ones(1, 6))[:, 0], share=0.5)
    with step.one_record(share=0.25):
        step.backward(model(torch.ones(1, 6))[:, 0])
    assert model.weight.grad is not None
    assert model.weight.grad.flatten().tolist() == pytest.approx([0.75] * 6)


# Records and batches


def test_records_of_a_batch_count_alike_and_each_is_there_once() -> None:
    weighed = weigh_groups(records(), documents(), read_weights(WEIGHTS))
    found: dict[int, float] = {}
    for group in physical_batches(weighed, range(6), most_tokens=1000):
        for rows in group:
            found |= dict.fromkeys(rows.owner.tolist(), rows.share)
    assert found == {0: 0.25, 1: 0.25, 2: 1.0, 3: 0.25, 4: 0.25, 5: 1.0}
    ((batch,),) = physical_batches(records(), range(6), most_tokens=1000)
    assert batch.share == 1.0


def test_an_author_counts_by_the_mean_of_the_documents() -> None:
    weighed = weigh_groups(records("author"), documents(), read_weights(WEIGHTS))
    assert weighed.shares is not None
    assert weighed.shares.tolist() == [0.25, 0.625, 0.625]


def test_a_record_s_share_does_not_depend_on_others() -> None:
    weighed = weigh_groups(records(), documents(), read_weights(WEIGHTS)).shares
    cut = Cut(context=16, long="truncate")
    for place in range(6):
        some = [one for number, one in enumerate(documents()) if number != place]
        without = make_labeled_records(some, default_tokenizer(), cut, ("0", "1"))
        found = weigh_groups(without, some, read_weights(WEIGHTS)).shares
        assert weighed is not None
        assert found is not None
        assert found.tolist() == np.delete(weighed, place).tolist()


def test_twin_weights_that_are_counted_depend_on_others() -> None:
    """That is what ``balanced`` does, and why methods with noise refuse it."""
    everything = weigh_groups(records(), documents(), "balanced").shares
    cut = Cut(context=16, long="truncate")
    without = make_labeled_records(documents()[1:], default_tokenizer(), cut, ("0", "1"))
    found = weigh_groups(without, documents()[1:], "balanced").shares
    assert everything is not None
    assert found is not None
    assert everything.tolist() == [0.5, 0.5, 1.0, 0.5, 0.5, 1.0]
    assert found.tolist() != everything[1:].tolist()


def test_what_has_no_group_is_named_by_its_number() -> None:
    unlabeled = [replace(one, labels=one.labels[:1]) for one in documents()]
    with pytest.raises(BadInput, match="document 1 has no group"):
        weigh_groups(records(), unlabeled, read_weights(WEIGHTS))
    with pytest.raises(BadInput, match="document 3 belongs to a group") as error:
        weigh_groups(records(), documents(), (("large", 1.0), ("other", 1.0)))
    assert "small" not in str(error.value)


def test_a_language_model_has_groups_without_classes() -> None:
    made = make_language_records(documents(labeled=False), default_tokenizer(), Cut(context=16))
    weighed = weigh_groups(made, documents(labeled=False), read_weights(WEIGHTS))
    assert weighed.shares is not None
    assert weighed.shares.tolist() == [0.25, 0.25, 1.0, 0.25, 0.25, 1.0]


# Levels


def test_a_light_group_has_a_lower_level() -> None:
    plan = Plan.for_epsilon(
        epsilon=8, units=1000, batch_size=50, epochs=2, delta=1e-4, accountant="rdp"
    )
    found = levels_by_group(plan, read_weights({"a": 1, "b": 2, "c": 2}))
    assert found["b"] == found["c"] == plan.epsilon()
    stages = tuple(replace(one, noise_multiplier=2 * one.noise_multiplier) for one in plan.stages)
    assert found["a"] == pytest.approx(replace(plan, stages=stages).epsilon(), rel=1e-4)
    assert found["a"] >= replace(plan, stages=stages).epsilon()
    # A third is rounded up where records are weighed, and the level reckons with it.
    third = levels_by_group(plan, read_weights({"a": 1, "b": 3}))["a"]
    rounded = float(np.float32(1 / 3))
    noisy = tuple(
        replace(one, noise_multiplier=one.noise_multiplier / rounded) for one in plan.stages
    )
    assert rounded > 1 / 3
    assert third > replace(plan, stages=noisy).epsilon()
    assert found["a"] < plan.epsilon() / 2
    assert levels_by_group(replace(plan, unit="author"), read_weights(WEIGHTS)) == {}
    assert levels_by_group(plan, "balanced") == {}


# Whole runs


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"group_weights": "balanced"}, "counts the records of each group, which are private"),
        ({"group_weights": "heavy"}, "must be a number for each group"),
        ({"group_weights": {"a": 1.0}}, "has one group"),
        ({"group_weights": {"a": 1.0, "b": 0.0}}, "group_weights=0"),
        ({"group_weights": {"a": 1.0, "b": float("nan")}}, "group_weights"),
        ({"group_weights": {"a": 1.0, "b": 2000.0}}, "more than 1000 times"),
        ({"group_weights": {"": 1.0, "b": 2.0}}, "not empty"),
        ({"group_weights": {}}, "needs `group_weights"),
        ({"group_weights": WEIGHTS, "group_field": None}, "needs `group_field"),
        ({"group_weights": WEIGHTS, "method": "directional"}, "does not weigh groups"),
        ({"group_weights": WEIGHTS, "method": "per-record"}, "does not weigh groups"),
        ({"group_weights": WEIGHTS, "method": "gep"}, "does not weigh groups"),
    ],
)
def test_what_would_break_the_guarantee_or_do_nothing_is_refused(
    given: dict[str, Any], problem: str, corpus: Path, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {"epsilon": 8, "group_field": "group"} | given
    with pytest.raises(InvalidArgument, match=problem):
        train(corpus, tmp_path / "run", **asked, **CLASSES, **QUICK)
    assert not (tmp_path / "run").exists()


def test_a_selective_method_does_not_weigh_groups(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="does not weigh groups"):
        train(
            corpus, tmp_path / "run", method="selective", policy="digits", epsilon=8,
            group_field="group", group_weights=WEIGHTS, **QUICK,
        )  # fmt: skip


def weights_of(run: Run) -> Tensor:
    return torch.cat([one.detach().flatten() for one in run.model.network.parameters()])


def test_a_run_keeps_its_weights_and_resumes_with_no_others(corpus: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"epsilon": 8, "group_field": "group", **CLASSES, **QUICK}
    run = train(corpus, tmp_path / "run", group_weights=WEIGHTS, **asked)
    told = run.files.settings()
    assert told["course"]["group_weights"] == WEIGHTS
    assert told["corpus"]["group_field"] == "group"
    levels = Run.open(run.folder).epsilon_by_group
    assert levels["small"] == pytest.approx(run.guarantee.epsilon)
    assert levels["large"] < levels["small"]
    again = train(corpus, tmp_path / "run", group_weights=WEIGHTS, resume=True, **asked)
    assert again.already_finished
    with pytest.raises(CannotResume):
        train(
            corpus, tmp_path / "run", group_weights={"large": 1, "small": 3}, resume=True, **asked
        )
    unweighed: dict[str, Any] = {key: asked[key] for key in asked if key != "group_field"}
    plain = train(corpus, tmp_path / "plain", **unweighed)
    alike = train(corpus, tmp_path / "alike", group_weights={"large": 2, "small": 2}, **asked)
    assert torch.equal(weights_of(alike), weights_of(plain))
    assert not torch.equal(weights_of(run), weights_of(plain))
    assert plain.epsilon_by_group == {}
    assert "group_weights" not in plain.files.settings()["course"]


def test_the_command_weighs_the_groups_of_a_language_model(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "train", str(corpus), "-o", str(tmp_path / "run"), "--model", "gpt-small", "--epsilon",
        "8", "--epochs", "1", "--batch-size", "4", "--accountant", "rdp", "--delta", "0.01",
        "--group-field", "group", "--group-weights", "large=1,small=4",
        *(part for key, value in QUICK["settings"].items() for part in ("--set", f"{key}={value}")),
    ]  # fmt: skip
    public = tmp_path / "public.jsonl"
    public.write_text('{"text": "they are there and here"}\n' * 4)
    # Neither what is measured on nor public text for a tokenizer needs a group.
    command += ["--valid", str(public), "--tokenizer-corpus", str(public)]
    assert main(command) == 0
    assert "Epsilon for records whose group is known: large" in capsys.readouterr().out
    assert Run.open(tmp_path / "run").files.settings()["course"]["group_weights"] == WEIGHTS
    assert main([*command, "--group-weights", "small=2"]) == 2
    assert "each group once" in capsys.readouterr().err


STUDY = """
seeds = [1]
groups = "group"
anchors = false

[corpus]
path = "notes.jsonl"
label_field = "label"
public = true

[test]
path = "notes.jsonl"
label_field = "label"
public = true

[model]
name = "gpt-small"
settings = { layers = 1, width = 8, heads = 2, context = 16 }
classes = ["0", "1"]
trainable = "head"
epochs = 1
batch_size = 4
delta = 0.01
accountant = "rdp"

[[methods]]
name = "head"
training = "private"
epsilon = 8
grid.group_weights = [{ large = 1, small = 1 }, { large = 1, small = 4 }]

[[methods]]
name = "counted"
training = "plain"
group_weights = "balanced"

[measures.classification]
"""


def test_a_study_compares_weights(corpus: Path) -> None:
    study = Study.parse(STUDY, folder=corpus.parent, name="groups")
    found = study.run(workers=0)
    assert found.outcome.complete
    rows = [row for row in found.rows() if row.metric == "accuracy"]
    assert {row.group for row in rows} == {None, "large", "small"}
    assert len({row.method for row in rows}) == 3
    with pytest.raises(InvalidArgument, match="weights of groups, and the study names none"):
        Study.parse(STUDY.replace('groups = "group"', ""), folder=corpus.parent, name="none").run(
            workers=0
        )
