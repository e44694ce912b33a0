"""Shadows with a chosen share of a property, trained on an attacker's own text.

The text is split at random into questions, which every model is asked, and two halves. Each half
has shadows of its own, as many with the low share as with the high one. So a shadow that plays the
target in the evaluation has no document in common with the shadows from which the attacker learned,
as a target has none: otherwise single documents would be recognized in the place of the property.

Shadows are trained as the target was, on as many documents if the text has enough, and with its
noise: an attacker knows the method. Only what a run's ``config.json`` says is used.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done
from sfumato.attacks.membership.shadows import (
    UNSEEDED,
    ShadowKind,
    recipe_of,
    shadow_folder,
    train_shadow,
)
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.arrays import Floats, Integers
from sfumato.core.errors import BadInput, StorageFailed
from sfumato.core.files import replace_file
from sfumato.core.randomness import Randomness
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.models.tokenizer import Tokenizer
    from sfumato.training.request import Request

HALVES = 2
# Of a half that would be used up by each shadow, all shadows would be the same.
USED = 0.75
FEWEST_DOCUMENTS = 4

Ask = Callable[[ModelTarget], Floats]
"""What a model answers to the questions, as a row of numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class PublicText:
    """Documents that an attacker has, and which of them have the property."""

    documents: tuple[Document, ...]
    has: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if len(self.documents) != len(self.has):
            raise BadInput("it must be known of every document whether it has the property")

    def __repr__(self) -> str:
        return f"PublicText({len(self.documents)} documents)"


@dataclass(frozen=True, kw_only=True)
class ShadowPlan:
    """``count`` shadows in all, the two shares, and the most documents and questions to take."""

    shares: tuple[float, float]
    count: int
    documents: int
    questions: int


@dataclass(frozen=True, eq=False)
class Draws:
    """The documents of each shadow, and of the questions.

    ``high`` says which shadows have the high share, ``half`` from which half of the text they are.
    """

    questions: Integers
    chosen: Integers
    high: NDArray[np.bool_]
    half: Integers
    seeds: Integers


def noisy_recipe(target: ModelTarget) -> tuple[Request, bool]:
    """How the target was trained, and whether that is with its noise."""
    from sfumato.training.clipping.clippers import Clipping

    settings: dict[str, Any] = dict(target.settings or {})
    tokenizer: Tokenizer = target.model.tokenizer
    recipe = recipe_of(settings, tokenizer)
    plan = settings["plan"]
    noises = [stage.get("noise_multiplier", 0.0) for stage in plan["stages"]]
    if settings.get("method") != "private" or not all(noises):
        return recipe, False
    privacy = replace(
        recipe.privacy,
        epsilon=float(settings["epsilon"]),
        delta=float(plan["delta"]),
        noise_schedule=tuple(one / noises[0] for one in noises),
        clipping=Clipping(**plan["clipping"]),
        accountant=plan["accountant"],
    )
    return replace(recipe, privacy=privacy), True


def draw_shadows(public: PublicText, plan: ShadowPlan, randomness: Randomness) -> Draws:
    """Questions, halves, and the documents of each shadow."""
    sides = [np.flatnonzero(public.has == one) for one in (True, False)]
    asked, rest = [], []
    for number, side in enumerate(sides):
        order = side[np.argsort(randomness.stream(number).uniform(len(side)), kind="stable")]
        taken = min(plan.questions // 2, len(side) // 5)
        asked.append(order[:taken])
        rest.append((order[taken:][0::2], order[taken:][1::2]))
    size = _size(rest, plan)
    draw = randomness.stream(2)
    chosen, high, half = [], [], []
    for number in range(plan.count):
        which, is_high = number % HALVES, number // HALVES % 2 == 1
        share = plan.shares[1] if is_high else plan.shares[0]
        counts = round(share * size), size - round(share * size)
        parts = [
            rest[side][which][draw.choose(len(rest[side][which]), count)]
            for side, count in enumerate(counts)
        ]
        chosen.append(np.sort(np.concatenate(parts)))
        high.append(is_high)
        half.append(which)
    seeds = (
        np.full(plan.count, UNSEEDED, dtype=np.int64)
        if randomness.for_release
        else draw.integers(2**31, plan.count)
    )
    return Draws(
        np.concatenate(asked), np.array(chosen), np.array(high), np.array(half, np.int64), seeds
    )


def _size(rest: list[tuple[Integers, Integers]], plan: ShadowPlan) -> int:
    """The documents of a shadow: as many as wanted, or as the smaller half has enough of."""
    needed = (plan.shares[1], 1 - plan.shares[0])
    there = [USED * min(map(len, halves)) for halves in rest]
    most = min(
        int(has / share) if share else plan.documents
        for has, share in zip(there, needed, strict=True)
    )
    size = min(plan.documents, most)
    if size < FEWEST_DOCUMENTS or round(size * plan.shares[0]) == round(size * plan.shares[1]):
        counts = [sum(map(len, halves)) for halves in rest]
        raise BadInput(
            f"{counts[0]:,} documents of the other text have the property and {counts[1]:,} have "
            f"not: too few to train models with shares of {plan.shares[0]:g} and "
            f"{plan.shares[1]:g}; give more text, or other `shares`"
        )
    return size


def answers_of_shadows(  # noqa: PLR0913  # what to train, on what, where, what to ask
    recipe: Request,
    public: PublicText,
    plan: ShadowPlan,
    folder: Path,
    ask: Callable[[Integers], Ask],
    randomness: Randomness,
    done: Done | None = None,
) -> tuple[Draws, Floats]:
    """Train the shadows that are missing; what each answers to the questions, row by row."""
    about = {"shares": plan.shares, "documents": plan.documents, "questions": plan.questions}
    flags = {"has": np.packbits(public.has).tobytes().hex()}
    kind = ShadowKind("properties", plan.count, about | flags)
    place = shadow_folder(folder / "shadows", recipe, public.documents, kind)
    draws = _keep(place, public, plan, randomness)
    measure = ask(draws.questions)
    rows = []
    for number, chosen in enumerate(draws.chosen):
        documents = [public.documents[one] for one in chosen.tolist()]
        rows.append(
            measure(train_shadow(recipe, documents, place, number, int(draws.seeds[number])))
        )
        if done:
            done(number + 1, plan.count + 1)
    return draws, np.array(rows)


def _keep(place: Path, public: PublicText, plan: ShadowPlan, randomness: Randomness) -> Draws:
    """What was drawn for this folder; drawn and saved at the first call."""
    path = place / "draws.npz"
    if not path.is_file():
        drawn = draw_shadows(public, plan, randomness)
        with replace_file(path, private=True) as stream:
            np.savez(stream, **_arrays(drawn))
    try:
        with np.load(path, allow_pickle=False) as content:
            kept = Draws(**{name: content[name] for name in Draws.__dataclass_fields__})
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        raise StorageFailed(f"{path} is damaged; delete {place} to train again") from None
    if len(kept.chosen) != plan.count or kept.chosen.max(initial=0) >= len(public.documents):
        raise StorageFailed(f"{path} belongs to other text; delete {place} to train again")
    return kept


def _arrays(drawn: Draws) -> Mapping[str, Any]:
    return {name: getattr(drawn, name) for name in Draws.__dataclass_fields__}
