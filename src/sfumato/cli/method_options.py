"""The options of ``train`` that choose a method: what is private, and what is paid for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sfumato.policies.policy import Policy
    from sfumato.training.methods import Method

MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="private|selective|twice|redacted|plain",
        help="DP-SGD on everything; DP-SGD only where --policy finds something, plain steps on the "
        "masked rest; first on masked text, then DP-SGD on what was masked; on masked text alone; "
        "no privacy.",
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
PublicEpochsOption = Annotated[
    float | None,
    typer.Option(
        "--public-epochs",
        help="Passes over the masked text (selective, twice). [default: as --epochs]",
    ),
]
PublicRateOption = Annotated[
    float | None,
    typer.Option(
        "--public-learning-rate", help="Step size on the masked text. [default: --learning-rate]"
    ),
]
LeadOption = Annotated[
    float | None,
    typer.Option(
        "--lead",
        help="Share of the public steps taken before the first private one. [default: 0.5 for "
        "selective, 1 for twice]",
    ),
]


def level_for(method: str, epsilon: float | None) -> float:
    """The level, which some methods do not have."""
    from sfumato.core.errors import InvalidArgument
    from sfumato.training.methods import WITHOUT_NOISE

    if epsilon is None and method in WITHOUT_NOISE:
        return math.inf
    if epsilon is None:
        raise InvalidArgument(
            f"--epsilon is missing: the method {method} needs a level (or inf, for no privacy)"
        )
    return epsilon


def method_from(
    name: str, policy: Policy | None, course: Sequence[float | None], batch_size: int
) -> Method:
    """The method; ``course`` are public epochs, public learning rate and lead, as far as given.

    The defaults of the first two come after the given ones.
    """
    from sfumato.core.errors import InvalidArgument
    from sfumato.training.methods import WITH_PUBLIC_STEPS, Method
    from sfumato.training.selective.public_steps import PublicCourse

    epochs, rate, lead, usual_epochs, usual_rate = course
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


def _first(*values: float | None) -> float:
    return next(float(value) for value in values if value is not None)
