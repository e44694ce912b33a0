"""Anchors: gradients of public text, whose main directions are a basis for private ones.

Guarantee
    None of its own: a basis is a function of public text and of released weights, so it costs
    nothing.

Why it holds
    ``AnchorSteps`` is asked before each private step, outside of its recording. It takes some
    public records, computes the gradient of each at the weights as they are, and gives the release
    the directions in which these gradients are longest together: the first singular vectors, from
    the inner products of the anchors with each other. No private record is at hand.

Care
    Whether a text is public is not checked, only that it is not the private text: neither the same
    documents, nor one of the longer ones among them. Anchors for a classifier need labels; public
    text has none that mean the same, so every class is given in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.files.apart import Marks
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.models.load import LoadedModel, draw_weights_from
from sfumato.text.document import Document
from sfumato.training.batches import physical_batches
from sfumato.training.clipping.embedded import EmbeddedRelease
from sfumato.training.processes.sums import add_up
from sfumato.training.processes.team import current_team, own_stream
from sfumato.training.records import TokenRecords
from sfumato.training.row_losses import row_losses

# Directions that are so much shorter than the first are rounding errors.
SHORTEST = 1e-5
_WHY = (
    "a basis of private gradients would show them without noise. Name a file that is public, in "
    "the setting public"
)


def read_public(path: str, field: str, private: Sequence[Document]) -> list[Document]:
    """The documents of a public file that hold text, unless they are private ones."""
    found = [one for one in Source.of(path, Layout(field=field)).documents() if one.text.strip()]
    if not found:
        raise BadInput(f"public={path!r} holds no text; name a file with public text")
    marks = Marks.of(one.text for one in private)
    for number, one in enumerate(found, start=1):
        if marks.place(one.text) is not None:
            raise InvalidArgument(
                f"public={path!r}: document {number:,} with text is also a document of the private "
                f"corpus; {_WHY}"
            )
    if {one.text.strip() for one in found} <= {one.text.strip() for one in private}:
        raise InvalidArgument(f"public={path!r} has the documents of the private corpus; {_WHY}")
    return found


def label_in_turn(documents: Sequence[Document], classes: Sequence[str]) -> list[Document]:
    """The same documents, each with one of the classes, in turn."""
    return [
        replace(one, labels=(classes[number % len(classes)],))
        for number, one in enumerate(documents)
    ]


class AnchorSteps:
    """Gives a release its basis before each private step."""

    def __init__(
        self,
        model: LoadedModel,
        records: TokenRecords,
        release: EmbeddedRelease,
        counts: tuple[int, int],
        randomness: Randomness,
    ) -> None:
        self.model, self.records, self.release = model, records, release
        self.dimensions, self.anchors = counts
        self.team = current_team()
        self._randomness = randomness

    def reach(self, step: int, of: int) -> tuple[()]:  # noqa: ARG002  # every step is like another
        """Compute the basis of private step ``step``, which is not interrupted."""
        drawn = self._randomness.stream(step)
        order = np.argsort(drawn.stream(0).uniform(len(self.records)))[: self.anchors]
        records, members = self.records.drawn(order, drawn.stream(1))
        with draw_weights_from(own_stream(self.team, drawn.stream(2))):
            gradients = [
                self._gradient(records, int(member))
                if place % self.team.size == self.team.rank
                else self._nothing()
                for place, member in enumerate(members)
            ]
        # Each process of a team has some of them, and all need the same basis.
        everything = [one for gradient in gradients for one in gradient.values()]
        add_up(self.team, everything, torch.zeros(0), 0.0)
        self.release.basis = main_directions(gradients, self.dimensions)
        return ()

    def state(self) -> dict[str, Any]:
        """Nothing: what a step needs follows from its number."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """There is nothing to restore."""

    def _gradient(self, records: TokenRecords, member: int) -> dict[str, Tensor]:
        """The gradient of one public record, by parameter."""
        network: Any = self.model.network
        trained = {name: one for name, one in network.named_parameters() if one.requires_grad}
        total = self._nothing()
        groups = physical_batches(records, np.array([member]), most_tokens=records.context)
        for rows in (rows for group in groups for rows in group):
            loss = row_losses(network, rows.inputs(), rows.labels, rows.weights).sum()
            found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
            for name, one in zip(trained, found, strict=True):
                if one is not None:
                    total[name] += one
        return total

    def _nothing(self) -> dict[str, Tensor]:
        """Zeros in the place of a gradient."""
        named = self.model.network.named_parameters()
        return {name: torch.zeros(one.shape).to(one) for name, one in named if one.requires_grad}


def main_directions(gradients: Sequence[Mapping[str, Tensor]], count: int) -> dict[str, Tensor]:
    """The first singular vectors of some gradients, by parameter; zeros where there are fewer.

    Gradients that are not finite, or all zero, have no directions.
    """
    rows = {name: torch.stack([one[name] for one in gradients]) for name in gradients[0]}
    wide = [one.flatten(1).double() for one in rows.values()]
    among = torch.stack([one @ one.t() for one in wide]).sum(0)
    if not bool(among.isfinite().all()):
        return {name: one.new_zeros(count, *one.shape[1:]) for name, one in rows.items()}
    squares, vectors = torch.linalg.eigh(among)
    lengths = squares.clamp(min=0.0).sqrt().flip(0)[:count]
    kept = lengths > SHORTEST * max(float(lengths[0]), torch.finfo(torch.float32).tiny)
    found = vectors.flip(1)[:, :count].t() / lengths.clamp(min=1e-300)[:, None]
    scale = among.new_zeros(count, len(gradients))
    scale[: len(found)] = torch.where(kept[:, None], found, 0.0)
    return {
        name: (scale @ numbers).to(one).view(count, *one.shape[1:])
        for (name, one), numbers in zip(rows.items(), wide, strict=True)
    }
