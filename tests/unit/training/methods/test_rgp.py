"""RGP is DP-SGD on carriers: same plan, clipped together, and nothing private in the carriers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from clipping_adversary import Case, canceled, contribution, drawn
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.carriers import Carried, Carriers
from sfumato.models.load import LoadedModel
from sfumato.text.document import Document
from sfumato.training import loop
from sfumato.training.carried_steps import CarriedWeights
from sfumato.training.checkpoints import Checkpoint
from sfumato.training.clipping.recording import Recording
from sfumato.training.clipping.release import GaussianRelease, StepNoise
from sfumato.training.clipping.rounding import MeasuredNorms, together
from sfumato.training.clipping.slots import Records
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import build_method
from sfumato.training.methods.private import Private
from sfumato.training.methods.rgp import Rgp
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.settings import Course, Privacy, Training
from unit.training.runs import (
    SETTINGS,
    Killed,
    same,
    small_model,
    small_plan,
    some_documents,
    some_records,
    tokenizer,
    weights,
)

RANK = 2


def request(method: Private | None = None, **changes: Any) -> Request:
    """Four tiny steps."""
    privacy = Privacy(epsilon=8.0, delta=1e-2, epochs=2, batch_sizes=(3,), accountant="rdp")
    asked: dict[str, Any] = {
        "model": "gpt-small",
        "settings": SETTINGS["gpt-small"],
        "tokenizer": tokenizer(),
        "privacy": privacy,
        "method": method or Rgp(rank=RANK),
        "course": Course(checkpoint_every=2),
        "seed": 1,
    }
    return Request(**(asked | changes))


def trained(folder: Path, asked: Request | None = None, **options: Any) -> Run:
    return train_model(asked or request(), some_documents(), RunFolder(folder), **options)


def matrices(model: LoadedModel) -> dict[str, Tensor]:
    """Those that have carriers while they are trained."""
    made = Carried.attach(model.network, RANK)
    both = zip(made.layers, made.pairs(), strict=True)
    found = {name: weight.detach().clone() for name, (weight, _) in both}
    made.detach()
    return found


@pytest.fixture(scope="module")
def thin(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run from beginning to end."""
    return trained(tmp_path_factory.mktemp("rgp") / "run")


# --- what is promised --------------------------------------------------------------------------


def test_plan_and_guarantee_are_those_of_dp_sgd(thin: Run) -> None:
    plan = request(Private()).privacy.plan(len(some_documents()))
    assert (thin.plan, thin.guarantee) == (plan, plan.guarantee().reproducible())
    settings = thin.files.settings()["method_settings"]
    assert settings == {"sigma": None, "rank": RANK, "source": "update", "rest": "train"}
    # The saved model is an ordinary one.
    start = small_model("gpt-small")
    assert weights(thin.model).keys() == weights(start).keys()
    moved = zip(matrices(start).values(), matrices(thin.model).values(), strict=True)
    assert not any(torch.equal(*both) for both in moved)


def test_without_noise_it_trains_in_the_same_way(tmp_path: Path) -> None:
    asked = request(privacy=replace(request().privacy, epsilon=math.inf))
    run = trained(tmp_path / "run", asked)
    assert math.isinf(run.guarantee.epsilon)


def test_one_step_moves_a_matrix_in_few_directions_and_many_steps_in_more() -> None:
    def rank_after(steps: int, source: str) -> int:
        model = small_model("gpt-small", settings={"width": 16})
        start = matrices(model)
        fitted(model, steps=steps, noise=1.0, rate=0.1, source=source)
        moved = matrices(model)["transformer.h.0.mlp.c_fc"] - start["transformer.h.0.mlp.c_fc"]
        return int(torch.linalg.matrix_rank(moved.double(), rtol=1e-4))

    assert rank_after(1, "weight") <= 2 * RANK < rank_after(4, "update")


# --- what a record may add ---------------------------------------------------------------------


def largest_part(self: Recording, records: Records) -> MeasuredNorms:
    """A twin: each part is measured by itself, and may have the whole norm."""
    parts = [slot.measure(records) for slot in self.slots.values() if slot.used]
    return max((together([one]) for one in parts), key=lambda one: float(one.square.max()))


def test_carriers_are_clipped_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that were searched for by gradient, in ``test_rounding``, and some that cancel."""
    cases: list[Case] = [drawn("carriers", (1, 6, 12), torch.Generator().manual_seed(3))]
    cases.append(canceled(cases[0], steps=40))
    assert max(map(contribution, cases)) <= 1 + 1e-6
    monkeypatch.setattr(Recording, "measure", largest_part)
    assert max(map(contribution, cases)) > 1.1


# --- what carriers depend on -------------------------------------------------------------------


def fitted(
    model: LoadedModel,
    documents: Sequence[Document] | None = None,
    *,
    steps: int = 2,
    noise: float = 1e20,
    rate: float = 1e-21,
    source: str = "update",
) -> dict[str, Tensor]:
    """The network, carriers included, after some steps, with so much noise that it is all noise."""
    made = Carried.attach(model.network, RANK, source=source)
    made.draw(Randomness.reproducible(4))
    loop.fit(
        model,
        some_records(documents),
        small_plan(steps=steps, noise=noise),
        Course(optimizer="sgd", learning_rate=rate),
        randomness=Randomness.reproducible(2),
        instead=CarriedWeights(model.network, made),
    )
    state = {name: one.clone() for name, one in model.network.state_dict().items()}
    made.detach()
    return state


def from_private_gradients(patch: pytest.MonkeyPatch) -> None:
    """A twin: the next carriers are those of the gradient before it has noise."""
    clean: list[Tensor] = []
    honest = GaussianRelease.finish

    def finish(self: Any, sums: Sequence[Tensor], size: float, noise: StepNoise) -> None:
        clean[:] = [one.clone() for one in sums]
        honest(self, sums, size, noise)

    def refresh(self: Carriers, _: Tensor) -> None:
        left, right = self.left.weight, self.right.weight
        shapes = {one.shape: one for one in clean}
        with torch.no_grad():
            update = self.rebuild(shapes[left.shape], shapes[right.shape])
            update = update.t() if self.transposed else update
            left.copy_(torch.linalg.qr(update @ right.t())[0])

    patch.setattr(GaussianRelease, "finish", finish)
    patch.setattr(Carriers, "refresh", refresh)


@pytest.mark.parametrize("twin", [None, from_private_gradients])
def test_carriers_come_from_what_is_released(
    twin: Callable[[pytest.MonkeyPatch], None] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under noise that drowns every record, two corpora give the same bits, carriers included."""
    if twin is not None:
        twin(monkeypatch)
    other = [replace(one, text=one.text[::-1]) for one in some_documents()]
    start = small_model("gpt-small")
    first, second = fitted(small_model("gpt-small")), fitted(small_model("gpt-small"), other)
    assert any("carriers.left" in name for name in first)
    assert same(first, second) == (twin is None)
    # They have moved, so that there is something to compare.
    moved = [name for name, one in start.network.state_dict().items() if name in first
             and not torch.equal(one, first[name])]  # fmt: skip
    assert len(moved) > 4


# --- stopping and going on ---------------------------------------------------------------------


def killed_after(step: int) -> Callable[..., Callable[[loop.Progress], None]]:
    def watch(now: loop.Progress) -> None:
        if now.step == step:
            raise Killed

    return lambda *_: watch


def stopped_and_resumed(folder: Path) -> dict[str, Tensor]:
    with pytest.raises(Killed):
        trained(folder, announce=killed_after(3))
    return weights(trained(folder, resume=True).model)


def test_a_resumed_run_ends_where_it_would_have(
    thin: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = weights(thin.model)
    assert same(stopped_and_resumed(tmp_path / "stopped"), whole)
    honest = Checkpoint.restore

    def forgetful(self: Checkpoint, model: Any, optimizer: Any) -> None:
        honest(self, model, optimizer)
        for one in model.modules():
            if isinstance(one, Carriers):
                one.draw()

    monkeypatch.setattr(Checkpoint, "restore", forgetful)  # a twin that draws carriers anew
    assert not same(stopped_and_resumed(tmp_path / "twin"), whole)


# --- settings ----------------------------------------------------------------------------------


def test_everything_else_can_be_frozen_but_new_weights() -> None:
    model = small_model("gpt-small")
    named = replace(model, new=("transformer.ln_f.weight",))
    asked = request(Rgp(rank=RANK, rest="freeze"))
    asked.method.prepare(asked.task(named, some_documents()))
    kept = {name for name, one in model.network.named_parameters() if one.requires_grad}
    assert {name for name in kept if ".carriers." not in name} == {"transformer.ln_f.weight"}
    assert len(kept) == 1 + 2 * 4


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no trained linear layer"):
        trained(tmp_path / "run", request(model="lstm", settings=SETTINGS["lstm"]))
    with pytest.raises(InvalidArgument, match="low-rank factors"):
        request(lora_rank=2)
    with pytest.raises(InvalidArgument, match="adam-bc"):
        request(course=Course(optimizer="adam-bc"))
    with pytest.raises(InvalidArgument, match="give one of them"):
        request(Rgp(sigma=1.0))
    for wrong in ({"rank": "0"}, {"source": "gradient"}, {"rest": "forget"}):
        with pytest.raises((InvalidArgument, ValueError), match=next(iter(wrong))):
            build_method("rgp", wrong)
    assert build_method("rgp", {"rank": "3", "sigma": "2"}) == Rgp(rank=3, sigma=2.0)
    assert Training.of({"method": "rgp", "epsilon": 8.0, "rank": 3}).built_method() == Rgp(rank=3)
