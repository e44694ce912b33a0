"""The options of ``train`` that choose a method: what is private, and what is paid for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
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
PolicyKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy-key",
        metavar="FILE",
        help="A secret key of 16 bytes or more: guarantees of runs under the same key tell whether "
        "their policies (a word list, a pattern) were the same, and add up then.",
    ),
]
PublicEpochsOption = Annotated[
    float | None,
    typer.Option(
        "--public-epochs",
        help="Passes over the masked text (2 × --epochs for selective, --epochs for twice, unless "
        "given).",
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
        help="Share of the public steps taken before the first private one (all unless given; "
        "twice takes no other).",
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


def with_key(method: Method, path: Path | None) -> Method:
    """The method with the key under which its policy can be recognized."""
    from dataclasses import replace

    from sfumato.core.errors import InvalidArgument
    from sfumato.core.keys import Key

    if path is None:
        return method
    if method.policy is None:
        raise InvalidArgument("--policy-key tells policies apart; give --policy, too")
    return replace(method, policy_key=Key.from_file(path))


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
