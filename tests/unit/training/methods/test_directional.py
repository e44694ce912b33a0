"""Training on noisy directions, from the settings to the guarantee."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import TrainingMethod, build_method
from sfumato.training.methods.directional import Directional, DirectionalPlan, PerRecord
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.sampling import Shuffled
from sfumato.training.settings import Privacy, Training
from unit.training.runs import SETTINGS, some_documents, tokenizer


def request(method: TrainingMethod | None = None, **options: Any) -> Request:
    privacy: dict[str, Any] = {"epsilon": 8.0, "delta": 1e-2, "epochs": 2, "batch_sizes": (3,)}
    return Request(
        model="lstm",
        settings=SETTINGS["lstm"] | {"tied": True},
        tokenizer=tokenizer(),
        privacy=Privacy(**(privacy | options)),
        method=method or Directional(),
        seed=1,
    )


def trained(asked: Request, folder: Path) -> Run:
    return train_model(asked, some_documents(), RunFolder(folder / "run"))


@pytest.mark.parametrize("method", [Directional(), PerRecord()])
@pytest.mark.parametrize("unit", ["example", "author"])
def test_the_level_is_kept(tmp_path: Path, method: TrainingMethod, unit: str) -> None:
    run = trained(request(method, unit=unit), tmp_path)
    assert 7 < run.guarantee.epsilon <= 8
    plan = run.plan
    assert isinstance(plan, DirectionalPlan)
    assert plan.sampling == Shuffled()
    assert plan.dimension == sum(one.numel() for one in run.model.network.parameters())
    assert run.files.settings()["plan"]["dimension"] == plan.dimension
    assert "its place left empty, with" in run.guarantee.sentence()


@pytest.mark.parametrize("method", [Directional, PerRecord])
@pytest.mark.parametrize("setting", [{"kappa": 30.0}, {"sigma": 2.0}])
def test_noise_can_be_given(
    tmp_path: Path, method: type[Directional], setting: dict[str, float]
) -> None:
    run = trained(request(method(**setting), epsilon=math.inf), tmp_path)
    plan = run.plan
    assert isinstance(plan, DirectionalPlan)
    if "kappa" in setting:
        assert 29.99 < plan.kappa <= 30.0  # noise is rounded up
    else:
        assert plan.noise_multiplier == pytest.approx(2.0, rel=0.01)
    assert run.guarantee.epsilon == pytest.approx(plan.epsilon())
    assert math.isfinite(plan.epsilon())


def test_both_methods_need_the_same_noise_in_many_dimensions() -> None:
    """A Gaussian in disguise: levels agree to two percent at the same multiplier."""
    levels = []
    for noise in ("von Mises–Fisher", "Gaussian"):
        made = Privacy(epsilon=1.0, epochs=3, batch_sizes=(64,), sampling="shuffled").draft(10_000)
        plan = DirectionalPlan(
            units=made.units,
            stages=made.stages,
            sampling=Shuffled(),
            dimension=10_000_000,
            noise=noise,
        )
        levels.append(plan.epsilon())
    assert levels[1] < levels[0] < 1.02 * levels[1]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="how many records are in it"):
        request(sampling="poisson")
    with pytest.raises(InvalidArgument, match="nothing to clip"):
        request(clipping=Clipping(norm=2.0))
    with pytest.raises(InvalidArgument, match="give one of them"):
        request(Directional(kappa=3.0))
    with pytest.raises(InvalidArgument, match="give one"):
        Directional(kappa=3.0, sigma=1.0)
    with pytest.raises(InvalidArgument, match="kappa"):
        Directional(kappa=-1.0)
    with pytest.raises(InvalidArgument, match="epsilon"):
        Training(method="directional")
    assert Training(method="directional", method_settings={"kappa": "50"}).epsilon is None


def test_the_published_claim_stands_beside_the_proven_level(tmp_path: Path) -> None:
    run = trained(request(), tmp_path)
    beside = json.loads(run.files.guarantee.read_text())["as_in_the_paper"]
    assert isinstance(run.plan, DirectionalPlan)
    assert beside["epsilon"] == pytest.approx(2 * run.plan.kappa)
    assert beside["pure_epsilon"] == pytest.approx(4 * run.plan.kappa)
    assert beside["proven"] is False
    assert "2 epochs" in beside["why"]
    assert build_method("per-record").name == "per-record"
    assert run.plan.summary().endswith("dimensions)")


def test_schedules_and_partial_epochs_are_charged(tmp_path: Path) -> None:
    run = trained(request(noise_schedule=(2.0, 1.0)), tmp_path)
    assert 7 < run.guarantee.epsilon <= 8
    plan = run.plan
    assert plan.epsilon(1) <= plan.epsilon(plan.steps) == plan.so_far(plan.steps)
