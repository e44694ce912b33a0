"""A method of training: what it promises, charges and writes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sfumato.guarantees.guarantee import Notion
from sfumato.policies.patterns import Digits
from sfumato.policies.policy import Policy
from sfumato.testing.holding import NOTE, SECRET, hold
from sfumato.text.document import Document
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import TrainingMethod, build_method
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.settings import Privacy

if TYPE_CHECKING:
    from sfumato.training.run import Run

# The smallest models.
TINY: dict[str, dict[str, object]] = {
    "lstm": {"hidden": 4, "embedding": 4, "context": 32},
    "gpt-small": {"layers": 1, "width": 8, "heads": 2, "context": 32},
}


def check_method(
    method: str | TrainingMethod,
    *,
    settings: Mapping[str, object] | None = None,
    policy: Policy | None = None,
    model: str = "lstm",
) -> None:
    """A method of training, or its name: trained twice on a few notes, with tiny models.

    It must claim no more than it was asked for, charge every step of its plan, draw from nothing
    but the randomness that it is given, and write no text beside the model. Whether a step is worth
    what the plan charges for it cannot be seen here.
    """
    from sfumato.training.execution import train_model
    from sfumato.training.request import Request

    made = build_method(method, settings)
    who = type(made).__name__
    hold(is_dataclass(made), f"{who} must be a dataclass: its fields are its settings")
    hold(isinstance(getattr(made, "name", None), str), f"{who} needs a name")
    chosen = policy or (Digits() if made.needs_policy else None)
    request = Request(
        model=model,
        settings=dict(TINY[model]),
        method=made,
        protection=None if chosen is None else PolicyPromise(chosen),
        privacy=Privacy(
            epsilon=8.0 if made.adds_noise else math.inf, delta=0.01, epochs=1, batch_sizes=(3,)
        ),
        seed=1,
    )
    notes = [Document(f"{NOTE} {number} has the code {SECRET}{number}") for number in range(6)]
    with TemporaryDirectory() as folder:
        runs = [train_model(request, notes, RunFolder(Path(folder) / name)) for name in ("a", "b")]
        for run in runs:
            _check_run(who, run, adds_noise=made.adds_noise)
        first, second = (run.model.network.state_dict() for run in runs)
        hold(
            all(bool((first[name] == second[name]).all()) for name in first),
            f"{who} must train the same model with the same seed: draw from the randomness alone",
        )


def _check_run(who: str, run: Run, *, adds_noise: bool) -> None:
    promised = run.guarantee.notion is not Notion.NONE
    hold(promised or not adds_noise, f"{who} adds noise, and promises nothing")
    hold(adds_noise or not promised, f"{who} adds no noise, and promises something")
    hold(not promised or run.guarantee.epsilon <= 8.0, f"{who} exceeds the level asked for")
    charged = json.loads(run.files.ledger.read_text().splitlines()[-1]).get("charged", 0)
    hold(charged == run.plan.steps, f"{who} must charge every step of its plan to the ledger")
    for written in (run.files.config, run.files.ledger, run.files.results, run.files.guarantee):
        found = written.read_text()
        for text in (NOTE, SECRET):
            hold(text not in found, f"{who} writes private text into {written.name}")
