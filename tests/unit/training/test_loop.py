"""The loop: who is trained on, with what noise, and that nothing private is left lying about."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from sfumato.core.errors import (
    CoupledRows,
    InvalidArgument,
    UndefinedGradient,
    UnsteadyGradient,
)
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.models.load import LoadedModel
from sfumato.models.lora import Lora
from sfumato.models.recomputing import recompute
from sfumato.text.document import Document
from sfumato.training import loop
from sfumato.training.batches import physical_batches
from sfumato.training.checkpoints import Checkpoint
from sfumato.training.clipping import row_checks
from sfumato.training.clipping.clippers import Adaptive, Automatic, Clipping, Flat
from sfumato.training.clipping.release import GaussianRelease
from sfumato.training.folder import RunFolder
from sfumato.training.loop import Progress, fit
from sfumato.training.optimizers import AdamBC
from sfumato.training.plan import Plan
from sfumato.training.records import Cut, TokenRecords, make_language_records
from sfumato.training.row_losses import row_losses
from sfumato.training.sampling import Shuffled
from sfumato.training.settings import Course
from sfumato.training.stages import Stage
from sfumato.training.steps import PrivateStep
from unit.training.runs import (
    CONTEXT,
    charged_in,
    flat,
    new_folder,
    same,
    small_model,
    small_plan,
    some_documents,
    some_records,
    tokenizer,
    weights,
)

SGD = Course(optimizer="sgd", learning_rate=1.0)


def seeded(seed: int = 3) -> Randomness:
    return Randomness.reproducible(seed)


# --- what belongs together -------------------------------------------------------------------


def test_records_that_the_plan_does_not_speak_of_are_refused() -> None:
    model, records = small_model(), some_records()
    for plan, complaint in (
        (small_plan(units=7), "7 units but there are 6 records"),
        (small_plan(units=6, unit="author"), "protects every author"),
    ):
        with pytest.raises(InvalidArgument, match=complaint):
            fit(model, records, plan)
    by_author = some_records(unit="author")
    with pytest.raises(InvalidArgument, match="belongs to one author"):
        fit(model, by_author, small_plan(units=3))
    longer = make_language_records(some_documents(), tokenizer(), Cut(context=2 * CONTEXT))
    with pytest.raises(InvalidArgument, match=f"context of {CONTEXT}"):
        fit(model, longer, small_plan())
    fit(model, by_author, small_plan(units=3, steps=1, unit="author"))


# --- a step ----------------------------------------------------------------------------------


@contextmanager
def moves_of(
    model: LoadedModel,
) -> Iterator[tuple[loop.WatchSteps, list[tuple[Progress, list[str]]]]]:
    """A watch that notes after every step which trainable parameters have moved."""
    before = weights(model)
    seen: list[tuple[Progress, list[str]]] = []

    def watch(now: Progress) -> None:
        nonlocal before
        after = weights(model)
        trained = {name for name, one in model.network.named_parameters() if one.requires_grad}
        seen.append((now, [name for name in trained if not torch.equal(before[name], after[name])]))
        assert all(torch.equal(before[name], after[name]) for name in before.keys() - trained)
        before = after

    yield watch, seen


def still_parameters(model: LoadedModel, plan: Plan, records: TokenRecords) -> dict[str, int]:
    """How many trainable parameters a step left alone at least, with and without anybody in it."""
    count = sum(one.requires_grad for one in model.network.parameters())
    with moves_of(model) as (watch, seen):
        fit(model, records, plan, SGD, randomness=seeded(), watch=watch)
    assert len(seen) == plan.steps
    still: dict[str, int] = {}
    for now, moved in seen:
        kind = "with records" if now.tokens else "empty"
        still[kind] = max(still.get(kind, 0), count - len(moved))
    return still


@pytest.mark.parametrize("name", ["lstm", "gpt-small", "lora"])
def test_after_one_step_every_trainable_parameter_has_moved(name: str) -> None:
    model = small_model("gpt-small" if name == "lora" else name)
    if name == "lora":
        adapted: Any = Lora(rank=2).attach(model.network, seeded())
        model = LoadedModel(adapted, model.tokenizer, model.context)
        assert any(not one.requires_grad for one in adapted.parameters())
    plan = small_plan(steps=1, batch_size=6)
    assert still_parameters(model, plan, some_records()) == {"with records": 0}


def test_an_empty_batch_takes_a_step_of_noise_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    records = some_records(some_documents(12))
    plan = small_plan(units=12, steps=8, batch_size=1)
    assert still_parameters(small_model(), plan, records) == {"empty": 0, "with records": 0}

    # The twin leaves out a step that nobody takes part in, and so shows that nobody did.
    honest = PrivateStep.step

    def silent(self: PrivateStep, **options: float) -> None:
        if self._sums:
            honest(self, **options)

    monkeypatch.setattr(PrivateStep, "step", silent)
    assert still_parameters(small_model(), plan, records)["empty"] > 0


def trained(documents: list[Document], plan: Plan, course: Course, unit: str = "example") -> Any:
    """The weights after training with a fixed seed: the same noise whoever is trained on."""
    model = small_model()
    fit(model, some_records(documents, unit=unit), plan, course, randomness=seeded())
    return flat(model)


def reach(tokens_at_once: int) -> float:
    """How far one author's documents move the sum of a step; the plan says 0.05 at most."""
    many = [Document("a public text about nothing at all", author="a") for _ in range(9)]
    others = [Document("all is text", author="b")]
    course = Course(optimizer="sgd", learning_rate=1.0, tokens_at_once=tokens_at_once)
    plan = small_plan(
        units=2, steps=1, batch_size=2, noise=0.01, clipping=Clipping(norm=0.05), unit="author"
    )
    with_author = trained([*many, *others], plan, course, "author")
    without = trained([Document("", author="a"), *others], plan, course, "author")
    return float((with_author - without).norm()) * 2


def test_a_record_larger_than_a_batch_is_clipped_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    in_one_batch, in_many = reach(4096), reach(CONTEXT)
    assert 0.0495 < in_one_batch < 0.05 + 1e-6
    assert in_many == pytest.approx(in_one_batch, abs=1e-6)

    # The twin clips every batch of the record by itself.
    monkeypatch.setattr(PrivateStep, "one_record", lambda _, **__: nullcontext())
    assert reach(4096) == pytest.approx(in_one_batch)
    assert reach(CONTEXT) > 2 * in_one_batch


def test_how_a_batch_is_cut_changes_nothing() -> None:
    documents = some_documents(10)
    plan = small_plan(units=10, steps=2, batch_size=10)
    whole, cut = (
        trained(documents, plan, Course(optimizer="sgd", tokens_at_once=size))
        for size in (4096, CONTEXT)
    )
    assert torch.allclose(whole, cut, atol=1e-6)


def test_noise_is_scaled_by_sigma_and_bound_and_divided_by_the_expected_batch_size() -> None:
    nobody = [Document("")] * 5 + [Document("a text")]

    def noise(sigma: float, bound: float, size: int) -> Any:
        plan = small_plan(
            steps=1,
            batch_size=size,
            noise=sigma,
            clipping=Clipping(norm=bound),
            sampling=Shuffled(),
        )
        # In the first shuffled batch of this seed nobody has text, so only noise is left.
        return trained(nobody, plan, SGD) - flat(small_model())

    once = noise(1.0, 0.5, 2)
    for sigma, bound, size, factor in ((3.0, 0.5, 2, 3), (1.0, 2.0, 2, 4), (1.0, 0.5, 3, 2 / 3)):
        assert torch.allclose(noise(sigma, bound, size), factor * once, rtol=1e-4, atol=1e-6)
    assert float(once.std()) == pytest.approx(0.25, rel=0.1)


def test_stages_have_their_own_noise_and_batch_size_and_adam_bc_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[float] = []
    honest = AdamBC.step

    def step(self: AdamBC, closure: None = None) -> None:
        told.append(self.noise_variance)
        honest(self, closure)

    monkeypatch.setattr(AdamBC, "step", step)
    stages = (
        Stage(steps=2, batch_size=2, noise_multiplier=1.5),
        Stage(steps=1, batch_size=4, noise_multiplier=0.5),
    )
    plan = Plan(units=6, stages=stages, clipping=Clipping(norm=0.3), accountant="rdp")
    fit(small_model(), some_records(), plan, Course(optimizer="adam-bc"))
    assert told == pytest.approx([(1.5 * 0.3 / 2) ** 2] * 2 + [(0.5 * 0.3 / 4) ** 2])


def test_the_learning_rate_follows_its_schedule() -> None:
    plan = small_plan(units=6, steps=2, batch_size=6)
    course = Course(optimizer="sgd", learning_rate=1.0, schedule="linear", warm_up=0)
    first = trained(some_documents(), small_plan(steps=1, batch_size=6), course)
    both = trained(some_documents(), plan, course)
    full = trained(some_documents(), plan, SGD)
    # Half the rate in the second step of two; the first step is the same in all.
    assert torch.allclose(both - first, (full - first) / 2, atol=1e-6)


@pytest.mark.parametrize(
    ("clipping", "kind"),
    [
        (Clipping(norm=2.0), Flat(2.0)),
        (Clipping(kind="automatic", norm=2.0), Automatic(2.0)),
        (
            Clipping(kind="adaptive", norm=2.0, quantile=0.7, count_noise=3.0),
            Adaptive(2.0, 0.7, count_noise=3.0),
        ),
    ],
)
def test_the_plan_names_the_clipper(clipping: Clipping, kind: object) -> None:
    assert clipping.clipper() == kind


# --- randomness ------------------------------------------------------------------------------


def test_a_seed_makes_a_run_reproducible_and_not_for_release() -> None:
    def run(randomness: Randomness) -> tuple[Any, Any]:
        model = small_model(settings={"dropout": 0.3})
        guarantee = fit(model, some_records(), small_plan(), randomness=randomness)
        return weights(model), guarantee

    torch.manual_seed(1)
    first, stamped = run(seeded(4))
    torch.manual_seed(2)
    again, _ = run(seeded(4))
    other, _ = run(seeded(5))
    fresh, released = run(Randomness.secure())
    assert same(first, again)
    assert not same(first, other)
    assert not same(first, fresh)
    assert not stamped.for_release
    assert released.for_release
    assert stamped.epsilon == released.epsilon == small_plan().epsilon()


def test_torch_goes_on_as_if_nothing_was() -> None:
    torch.manual_seed(6)
    expected = torch.rand(3)
    torch.manual_seed(6)
    fit(small_model(settings={"dropout": 0.3}), some_records(), small_plan(steps=2))
    assert torch.equal(torch.rand(3), expected)


# --- without privacy -------------------------------------------------------------------------


def test_without_privacy_a_step_is_the_mean_gradient_over_the_planned_batch() -> None:
    plan = small_plan(steps=1, batch_size=6, noise=0.0)
    model, naive = small_model(), small_model()
    guarantee = fit(model, some_records(), plan, SGD)
    assert guarantee.notion is Notion.NONE
    assert not guarantee.for_release
    records = some_records()
    for record in range(6):
        rows = records.rows_of(record)
        losses = [
            cross_entropy(
                naive.network(input_ids=torch.tensor(records.inputs(row).astype(int))[None]).logits[
                    0
                ],
                torch.tensor(records.labels(row).astype(int)),
                reduction="sum",
            )
            for row in rows
        ]
        if losses:
            total: Any = torch.stack(losses).sum() / float(records.predictions[record]) / 6
            total.backward()
    expected = {
        name: one.detach() - (0 if one.grad is None else one.grad)
        for name, one in naive.network.named_parameters()
    }
    for name, one in weights(model).items():
        assert torch.allclose(one, expected[name], atol=1e-6), name


def test_without_privacy_a_model_learns(tmp_path: Path) -> None:
    losses: list[float] = []
    model = small_model(settings={"hidden": 16, "embedding": 16})
    plan = small_plan(steps=40, batch_size=6, noise=0.0)
    course = Course(learning_rate=0.05, checkpoint_every=7)
    documents = [Document("all is text")] * 6
    folder = new_folder(tmp_path / "run")
    records = some_records(documents)
    fit(model, records, plan, course, folder=folder, watch=lambda now: losses.append(now.loss))
    assert losses[0] > 5
    assert losses[-1] < 1
    assert charged_in(folder) == 40


# --- the end of the road ---------------------------------------------------------------------


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_checkpoint(tmp_path: Path) -> None:
    folder, model = new_folder(tmp_path / "run"), small_model()
    course = Course(checkpoint_every=2)

    def poison(now: Progress) -> None:
        if now.step == 3:
            next(iter(model.network.parameters())).data.fill_(float("nan"))

    with pytest.raises(UndefinedGradient, match="a loss or gradient is not a finite number"):
        fit(model, some_records(), small_plan(batch_size=6), course, folder=folder, watch=poison)
    kept = Checkpoint.load(folder.checkpoint)
    assert kept.steps == 2
    assert all(bool(one.isfinite().all()) for one in kept.weights.values())
    # Steps 3 and 4 were looked at when it was decided to stop: they are paid for.
    assert charged_in(folder) == 4
    with pytest.warns(match="2 of 7 steps are charged"):
        fit(small_model(), some_records(), small_plan(batch_size=6), course, folder=folder)
    assert charged_in(folder) == 7


def test_the_error_does_not_tell_who_or_how_many_were_in_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def loose_tongue(self: GaussianRelease, norms: torch.Tensor) -> torch.Tensor:
        raise UndefinedGradient(f"the gradient of record 1 of {len(norms)} is not finite")

    monkeypatch.setattr(GaussianRelease, "_scales", loose_tongue)
    with pytest.raises(UndefinedGradient, match="training has diverged") as caught:
        fit(small_model(), some_records(), small_plan(batch_size=6))
    assert not any(one.isdigit() for one in str(caught.value))
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("noise", [1.0, 0.0])
def test_weights_that_are_no_numbers_take_no_checkpoint_s_place(
    tmp_path: Path, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_folder(tmp_path / "run")
    plan = small_plan(steps=3, batch_size=6, noise=noise)
    course = Course(optimizer="sgd", checkpoint_every=1)
    honest = torch.optim.SGD.step
    taken = 0

    def overflowing(self: torch.optim.SGD, closure: None = None) -> None:
        nonlocal taken
        honest(self, closure)
        taken += 1
        if taken == 2:
            self.param_groups[0]["params"][-1].data[0] = float("inf")

    monkeypatch.setattr(torch.optim.SGD, "step", overflowing)
    with pytest.raises(UndefinedGradient, match="a weight is not a finite number"):
        fit(small_model(), some_records(), plan, course, folder=folder)
    assert Checkpoint.load(folder.checkpoint).steps == 1
    assert charged_in(folder) == 2
    taken = 1
    with pytest.raises(UndefinedGradient):  # without a folder, too
        fit(small_model(), some_records(), small_plan(steps=1, noise=noise), course)


def test_the_model_is_left_as_it_was_found() -> None:
    model = small_model()
    fit(model, some_records(), small_plan(steps=1))
    rows = next(physical_batches(some_records(), [3], most_tokens=100))[0]
    logits = model.network(input_ids=rows.input_ids).logits
    logits.sum().backward()
    assert all(one.grad is not None for one in model.network.parameters())


# --- what is written -------------------------------------------------------------------------

CANARY = "Zyxquorthane"


def traces(folder: RunFolder, losses: list[float]) -> set[str]:
    """What of the text or of the losses stands in any file, spelled out or as bytes."""
    found = set()
    spelled = [CANARY.encode(), CANARY.encode("utf-16-le")]
    tokens = tokenizer().encode(CANARY)
    spelled += [tokens.astype(kind).tobytes() for kind in (np.uint16, np.int32, np.int64)]
    numbers = [form(loss) for loss in losses for form in FORMS]
    for path in folder.path.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        found |= {"text"} if any(one in content for one in spelled) else set()
        found |= {"loss"} if any(one in content for one in numbers) else set()
    return found


FORMS: tuple[Callable[[float], bytes], ...] = (
    lambda loss: repr(loss).encode(),
    lambda loss: f"{loss:.6g}".encode(),
    lambda loss: struct.pack("<d", loss),
    lambda loss: struct.pack("<f", loss),
)


@pytest.mark.parametrize("noise", [1.0, 0.0])
def test_neither_text_nor_losses_are_in_the_folder(tmp_path: Path, noise: float) -> None:
    folder, losses = new_folder(tmp_path / "run"), list[float]()
    documents = [*some_documents(5), Document(f"{CANARY} is a public text", author=CANARY)]
    fit(
        small_model(),
        some_records(documents),
        small_plan(batch_size=6, noise=noise),
        Course(checkpoint_every=3, optimizer="sgd"),
        folder=folder,
        watch=lambda now: losses.append(now.loss),
    )
    assert len(losses) == 7
    assert {path.name for path in folder.path.iterdir()} == {"ledger.jsonl", "checkpoint.pt"}
    assert traces(folder, losses) == set()
    # The twins are found.
    folder.add_results([{"metric": "loss", "value": losses[3]}])
    assert traces(folder, losses) == {"loss"}
    torch.save(torch.tensor(tokenizer().encode(CANARY).astype(int)), folder.path / "cache.pt")
    assert traces(folder, losses) == {"loss", "text"}


def test_memory_that_runs_out_does_not_tell_how_much_a_batch_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> float:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 917504 bytes")

    monkeypatch.setattr(loop, "_backward", full)
    with pytest.raises(MemoryError, match="fewer tokens_at_once") as found:
        fit(small_model(), some_records(), small_plan(batch_size=6))
    assert "917504" not in str(found.value)
    assert found.value.__suppress_context__


# --- rows that influence each other -----------------------------------------------------------


def by_tokens_of_the_batch(
    network: Any,
    inputs: dict[str, Any],
    labels: torch.Tensor,
    weights: torch.Tensor,
    levels: torch.Tensor | None = None,
) -> torch.Tensor:
    """What is left to the rows to share: the number of all tokens in the batch."""
    losses = row_losses(network, inputs, labels, torch.ones_like(weights), levels)
    return losses / (labels >= 0).sum()


def many_records() -> TokenRecords:
    return some_records(some_documents(12))


def many_plan() -> Plan:
    return small_plan(units=12, batch_size=10, steps=3)


@pytest.mark.parametrize("name", ["lstm", "gpt-small"])
@pytest.mark.usefixtures("compared_rows")
def test_a_loss_divided_by_the_tokens_of_the_batch_stops_the_run(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "row_losses", by_tokens_of_the_batch)
    with pytest.raises(CoupledRows, match="never by a number of the batch"):
        fit(small_model(name), many_records(), many_plan(), SGD, randomness=seeded())


@pytest.mark.parametrize("name", ["lstm", "gpt-small"])
@pytest.mark.usefixtures("compared_rows")
def test_a_detached_mean_over_the_batch_stops_the_run_and_what_was_seen_is_paid(
    name: str, tmp_path: Path
) -> None:
    model, folder = small_model(name, settings={"dropout": 0.1}), new_folder(tmp_path / "run")
    drop = next(one for one in model.network.modules() if isinstance(one, torch.nn.Dropout))
    drop.register_forward_hook(lambda *seen: seen[-1] - seen[-1].detach().mean(0))
    with pytest.raises(CoupledRows, match="other rows of its batch are replaced"):
        fit(model, many_records(), many_plan(), SGD, randomness=seeded(), folder=folder)
    assert charged_in(folder) == 1


def test_a_second_pass_with_other_numbers_stops_the_run_and_what_was_seen_is_paid(
    tmp_path: Path,
) -> None:
    """Whether it happens may depend on a single record, so to stop is a release of the step."""
    model, folder = small_model("gpt-small"), new_folder(tmp_path / "run")
    recompute(model.network, "all")
    calls = [0]

    def grow(_: object, entered: tuple[torch.Tensor]) -> torch.Tensor:
        calls[0] += 1
        return entered[0] * 2.0 ** calls[0]

    named = model.network.named_modules()
    next(one for name, one in named if name.endswith("mlp")).register_forward_pre_hook(grow)
    course = Course(optimizer="sgd", recompute="all", checkpoint_every=5)
    plan = small_plan(units=2, batch_size=2)
    texts = [Document("all is text"), Document("")]  # a single row is not compared
    with pytest.raises(UnsteadyGradient, match="other numbers than the first"):
        fit(model, some_records(texts), plan, course, folder=folder)
    assert charged_in(folder) == 1


def test_twin_of_the_loop_that_compares_nothing_lets_both_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PrivateStep, "check_rows", lambda *_: None)
    monkeypatch.setattr(loop, "row_losses", by_tokens_of_the_batch)
    fit(small_model(), many_records(), many_plan(), SGD, randomness=seeded())


@pytest.mark.parametrize("name", ["lstm", "gpt-small"])
def test_comparing_every_batch_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for often in (0.0, 1.0):
        monkeypatch.setattr(row_checks, "RARELY", often)
        monkeypatch.setattr(row_checks, "FIRST", round(often))
        model = small_model(name, settings={"dropout": 0.1})
        fit(model, many_records(), many_plan(), SGD, randomness=seeded())
        found.append(weights(model))
    assert same(*found)


def test_comparing_every_batch_changes_nothing_for_authors(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for often in (0.0, 1.0):
        monkeypatch.setattr(row_checks, "RARELY", often)
        model, records = small_model(), some_records(some_documents(12), unit="author")
        plan = small_plan(units=3, batch_size=2, steps=3, unit="author")
        course = Course(optimizer="sgd", tokens_at_once=3 * CONTEXT)  # an author in several pieces
        fit(model, records, plan, course, randomness=seeded())
        found.append(weights(model))
    assert same(*found)
