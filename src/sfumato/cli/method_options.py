"""The options of ``train`` that choose a method: what is private, and what is paid for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sfumato.policies.policy import Policy
    from sfumato.training.methods import Method

MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="private|selective|interleaved|twice|redacted|plain",
        help="DP-SGD on everything; DP-SGD only where --policy finds something, plain steps on the "
        "masked rest; both in turns along each document (lstm only); first on masked text, then "
        "DP-SGD on what was masked; on masked text alone; no privacy.",
    ),
]
EpsilonOption = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "-e",
        help="The level to keep; inf trains without noise, as the method plain does.",
    ),
]
GoldOption = Annotated[
    Path | None,
    typer.Option(
        "--gold",
        metavar="FILE",
        help="JSON lines with labelled spans: how much the policy misses is measured there, and "
        "stated with the guarantee, which does not cover these figures.",
    ),
]
PublicEpochsOption = Annotated[
    float | None,
    typer.Option(
        "--public-epochs",
        help="Passes over the masked text (selective, twice; as --epochs unless given).",
    ),
]
PublicRateOption = Annotated[
    float | None,
    typer.Option(
        "--public-learning-rate", help="Step size on public text (--learning-rate unless given)."
    ),
]
LeadOption = Annotated[
    float | None,
    typer.Option(
        "--lead",
        help="Share of the public steps taken before the first private one (0.5 for selective, 1 "
        "for twice, unless given).",
    ),
]
StateOption = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="noise|reset",
        help="What becomes of a state that leaves a private stretch (interleaved): clipped and "
        "noised (unless given), or forgotten, which costs nothing.",
    ),
]
StateClipOption = Annotated[
    float | None,
    typer.Option(
        "--state-clip-norm",
        help="Longer states are shortened to this; their noise grows with it (interleaved; 0.01 "
        "unless given).",
    ),
]


def level_for(method: str, epsilon: float | None) -> float:
    """The level, which some methods do not have."""
    from sfumato.core.checks import one_of
    from sfumato.core.errors import InvalidArgument
    from sfumato.training.methods import METHODS, WITHOUT_NOISE

    one_of("method", method, METHODS)
    if epsilon is None and method in WITHOUT_NOISE:
        return math.inf
    if epsilon is None:
        raise InvalidArgument(
            f"--epsilon is missing: the method {method} needs a level (or inf, for no privacy)"
        )
    return epsilon


def method_from(
    name: str,
    policy: Policy | None,
    course: Sequence[float | None],
    batch_size: int,
    states: tuple[str | None, float | None] = (None, None),
) -> Method:
    """The method; ``course`` are public epochs, public learning rate and lead, as far as given.

    The defaults of the first two come after the given ones. ``states`` is what becomes of states,
    and their bound.
    """
    from sfumato.core.errors import InvalidArgument
    from sfumato.training.methods import WITH_PUBLIC_STEPS, Method
    from sfumato.training.selective.public_steps import PublicCourse

    epochs, rate, lead, usual_epochs, usual_rate = course
    if name == "interleaved":
        return _interleaved(policy, (epochs, rate, lead), states)
    if states != (None, None):
        raise InvalidArgument("--state and --state-clip-norm are for the method interleaved")
    if name not in WITH_PUBLIC_STEPS:
        if any(one is not None for one in (epochs, rate, lead)):
            raise InvalidArgument(
                "--public-epochs, --public-learning-rate and --lead are for the methods "
                + " and ".join(WITH_PUBLIC_STEPS)
            )
        return Method(name, policy)
    usual_lead = 1.0 if name == "twice" else PublicCourse().lead
    if name == "twice" and lead not in (None, 1.0):
        raise InvalidArgument("twice takes all public steps first; leave --lead out")
    public = PublicCourse(
        epochs=_first(epochs, usual_epochs),
        batch_size=batch_size,
        learning_rate=_first(rate, usual_rate),
        lead=_first(lead, usual_lead),
    )
    return Method(name, policy, public)


def _interleaved(
    policy: Policy | None,
    course: tuple[float | None, float | None, float | None],
    states: tuple[str | None, float | None],
) -> Method:
    from sfumato.core.errors import InvalidArgument
    from sfumato.training.methods import Method
    from sfumato.training.selective.interleaved_plan import Interleaving

    epochs, rate, lead = course
    if epochs is not None or lead is not None:
        raise InvalidArgument(
            "interleaved reads public and private stretches in turns; leave --public-epochs and "
            "--lead out"
        )
    usual = Interleaving()
    interleaving = Interleaving(
        state=usual.state if states[0] is None else states[0],
        state_clip_norm=_first(states[1], usual.state_clip_norm),
        public_learning_rate=rate,
    )
    return Method("interleaved", policy, interleaving=interleaving)


def _first(*values: float | None) -> float:
    return next(float(value) for value in values if value is not None)


def with_misses(method: Method, gold: Path | None) -> Method:
    """The method with what its policy misses on labelled text."""
    from dataclasses import replace

    from sfumato.core.errors import BadInput, InvalidArgument
    from sfumato.corpora.labelled import read_labelled
    from sfumato.policies.scoring import score
    from sfumato.training.selective.promise import Misses

    if gold is None:
        return method
    if method.policy is None:
        raise InvalidArgument("--gold measures a policy; give --policy, too")
    recall = score(method.policy, read_labelled(gold)).overall_recall
    if not recall.gold:
        raise BadInput(f"{gold} has no labelled span to measure the policy on")
    return replace(method, misses=Misses(recall.gold - recall.found, recall.gold))
