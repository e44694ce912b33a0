"""DP-SGD whose noise is given: the level is what the accounting makes of that noise."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import CannotResume, InvalidArgument
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.plain import Plain
from sfumato.training.methods.private import Private
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.settings import Privacy, Training
from sfumato.training.stages import scale_stages
from unit.training.runs import SETTINGS, some_documents, tokenizer


def request(method: Private, **options: Any) -> Request:
    privacy: dict[str, Any] = {
        "epsilon": math.inf, "delta": 1e-2, "epochs": 2, "batch_sizes": (3,), "accountant": "rdp",
    }  # fmt: skip
    return Request(
        model="lstm",
        settings=SETTINGS["lstm"],
        tokenizer=tokenizer(),
        privacy=Privacy(**(privacy | options)),
        method=method,
        seed=1,
    )


def trained(asked: Request, folder: Path) -> Run:
    return train_model(asked, some_documents(), RunFolder(folder / "run"))


def test_the_level_follows_from_the_noise(tmp_path: Path) -> None:
    run = trained(request(Private(sigma=1.5)), tmp_path)
    plan = run.plan
    assert 1.5 <= plan.noise_multiplier < 1.501
    assert run.files.settings()["method_settings"] == {"sigma": 1.5}
    # The other way: that level asks for that noise.
    level = run.guarantee.epsilon
    back = replace(request(Private()).privacy, epsilon=level).plan(plan.units)
    assert back.noise_multiplier == pytest.approx(1.5, rel=1e-3)
    # Sabotage: a level for more noise than there is would be lower, and is told apart.
    more = replace(back, stages=scale_stages(back.stages, 1.1))
    assert more.epsilon() < 0.99 * level
    # Another amount of noise is another run.
    with pytest.raises(CannotResume):
        train_model(
            request(Private(sigma=1.0)), some_documents(), RunFolder(tmp_path / "run"), resume=True
        )


def test_of_a_schedule_it_is_the_least_noise(tmp_path: Path) -> None:
    run = trained(request(Private(sigma=0.5), noise_schedule=(3.0, 1.0)), tmp_path)
    stages = run.files.settings()["plan"]["stages"]
    assert [one["noise_multiplier"] for one in stages] == pytest.approx([1.5, 0.5], rel=1e-3)


def test_noise_and_level_are_not_both_given() -> None:
    with pytest.raises(InvalidArgument, match="give one of them"):
        request(Private(sigma=1.0), epsilon=8.0)
    with pytest.raises(InvalidArgument, match="sigma"):
        Private(sigma=0.0)
    with pytest.raises(InvalidArgument, match="epsilon"):
        Training(method="private")
    assert Training(method="private", method_settings={"sigma": "2"}).epsilon is None
    with pytest.raises(InvalidArgument, match="sigma"):
        Training(method="plain", method_settings={"sigma": "2"})
    assert Plain().needs_level is False
