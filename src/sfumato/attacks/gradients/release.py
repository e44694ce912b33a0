"""What somebody sees who observes one step of training: the noisy sum of a batch's gradients.

How
    The gradient of every record's loss is computed by itself, with dropout off, as training defines
    that loss (the mean over a document's own tokens, or the loss of its label). What the step makes
    of the gradients is computed by the very code that trains (``training.clipping``): the same
    clipping, the same noise. Only weights that are trained, and have an influence on the loss, have
    a part in it.

Care
    A release that is computed here is for an attack on texts one may read; it is never given out.
    Records are computed one at a time, so memory is that of two gradients whatever the batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sfumato.accounting.directional import match_kappa
from sfumato.attacks.gradients.step import Step
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.metrics.reconstruction import without_special
from sfumato.models.load import LoadedModel
from sfumato.text.document import Document
from sfumato.training.batches import PhysicalBatch, physical_batches
from sfumato.training.clipping.clippers import Automatic, Flat
from sfumato.training.clipping.directional import DirectionalRelease, PerRecordRelease
from sfumato.training.clipping.release import GaussianRelease, GradientRelease, StepNoise
from sfumato.training.records import Cut, TokenRecords, make_labeled_records, make_language_records
from sfumato.training.row_losses import row_losses

Gradient = dict[str, Tensor]
"""A tensor for every trained parameter, by its name."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What the attacker holds: the model, and what one step released of its batch.

    ``gradient`` is the noisy sum in units of the bound: no record is longer than 1. ``labels`` are
    the classes of the batch's documents, for a classifier, and ``lengths`` how many tokens each
    has, special ones included; an attack that uses them says so.
    """

    model: LoadedModel
    gradient: Gradient = field(repr=False)
    step: Step
    labels: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()

    @property
    def dimension(self) -> int:
        """How many numbers were released."""
        return sum(one.numel() for one in self.gradient.values())

    def mean(self) -> Gradient:
        """The sum divided by the number of records."""
        return {name: one / self.step.batch for name, one in self.gradient.items()}


@dataclass(frozen=True, eq=False)
class Batch:
    """Documents as a model reads them: a row each, of at most ``tokens`` tokens."""

    model: LoadedModel
    rows: tuple[PhysicalBatch, ...] = field(repr=False)

    @classmethod
    def of(cls, model: LoadedModel, documents: Sequence[Document], tokens: int) -> Batch:
        """Tokenize and cut; a classifier's documents need their labels."""
        records = make_records(model, documents, tokens)
        rows = (
            row
            for place in range(len(records))
            for group in physical_batches(records, [place], most_tokens=records.context)
            for row in group
        )
        made = cls(model, tuple(rows))
        if len(made.rows) != len(documents):
            raise BadInput("a document holds no text; leave it out")
        return made

    def __len__(self) -> int:
        return len(self.rows)

    def texts(self) -> list[list[int]]:
        """The tokens of every document that the model reads, without special ones."""
        special = special_tokens(self.model)
        return [without_special(row.input_ids[0].tolist(), special) for row in self.rows]

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many tokens the model reads of every document."""
        return tuple(row.input_ids.shape[1] for row in self.rows)

    @property
    def labels(self) -> tuple[int, ...]:
        """The class of every document; empty for a language model."""
        if not self.model.classes:
            return ()
        return tuple(int(row.labels[0]) for row in self.rows)


def make_records(model: LoadedModel, documents: Sequence[Document], tokens: int) -> TokenRecords:
    """A record for every document, cut to ``tokens`` tokens."""
    cut = Cut(context=min(tokens, model.context), unit="example", long="truncate")
    if model.classes:
        return make_labeled_records(documents, model.tokenizer, cut, model.classes)
    return make_language_records(documents, model.tokenizer, cut)


def special_tokens(model: LoadedModel) -> frozenset[int]:
    """Tokens that are no part of a text: padding, begin and end, [CLS] and [SEP]."""
    tokenizer = model.tokenizer
    before, after = tokenizer.frame
    ends = [one for one in (tokenizer.begin, tokenizer.end) if one is not None]
    added = (tokenizer.padding, *ends, *before, *after)
    return frozenset({*map(int, tokenizer.backend.all_special_ids), *added})


def trained_parameters(network: Any) -> Gradient:
    """The parameters that a step changes, by name."""
    found = {name: one for name, one in network.named_parameters() if one.requires_grad}
    if not found:
        raise InvalidArgument("no parameter of the model is trained, so a step releases nothing")
    return found


def gradient_of(model: LoadedModel, row: PhysicalBatch) -> Gradient:
    """The gradient of one record's loss; without parameters that have no influence on it."""
    network: Any = model.network
    network.eval()
    parameters = trained_parameters(network)
    with torch.enable_grad():
        loss = row_losses(network, row.inputs(), row.labels, row.weights).sum()
    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    return {
        name: one.detach().contiguous()
        for name, one in zip(parameters, found, strict=True)
        if one is not None
    }


def release(batch: Batch, step: Step, randomness: Randomness) -> Seen:
    """What one step on a batch releases."""
    if len(batch) != step.batch:
        raise InvalidArgument(f"there are {len(batch)} documents for a step of {step.batch}")
    sums: Gradient = {}
    mechanism: GradientRelease | None = None
    noise = StepNoise(0.0, randomness)
    for place, row in enumerate(batch.rows):
        gradient = gradient_of(batch.model, row)
        if not sums:
            sums = {name: torch.zeros_like(one) for name, one in gradient.items()}
            dimension = sum(one.numel() for one in sums.values())
            mechanism = _mechanism(step, dimension)
            noise = StepNoise(_multiplier(step, dimension), randomness)
        own = StepNoise(noise.multiplier, randomness.stream(place))
        parts = gradient.items() if mechanism is None else mechanism.contribute_whole(gradient, own)
        for name, one in parts:
            sums[name] += one
    if mechanism is not None:
        last = StepNoise(noise.multiplier, randomness.stream(len(batch)))
        mechanism.finish(list(sums.values()), float(step.batch), last)
        for one in sums.values():
            one.div_(mechanism.sensitivity)
    return Seen(batch.model, sums, step, batch.labels, batch.lengths)


def in_double(model: LoadedModel) -> LoadedModel:
    """The same model in double precision; the given one is not changed."""
    network: Any = deepcopy(model.network)
    return replace(model, network=network.double())


def _mechanism(step: Step, dimension: int) -> GradientRelease | None:
    """The code of training that bounds gradients and adds noise; None leaves them whole."""
    if step.bound == "whole":
        return None
    if step.bound == "clipped":
        return GaussianRelease(Flat(step.clip_norm))
    if step.bound == "automatic":
        return GaussianRelease(Automatic(step.clip_norm))
    if step.noise == "directional":
        return DirectionalRelease(dimension, step.batch)
    return PerRecordRelease(step.batch)


def _multiplier(step: Step, dimension: int) -> float:
    """The noise multiplier with which that code adds the step's noise."""
    if not step.sigma:
        return 0.0
    if step.noise == "directional":
        return math.sqrt(dimension) / match_kappa(step.sigma, dimension)
    if step.bound == "direction" and step.noise == "gaussian":
        # Of the noise for every record; here the sum has that of one.
        return step.sigma / math.sqrt(step.batch)
    return step.sigma


def choose_documents(
    data: Sequence[Document], most: int, randomness: Randomness, *, labeled: bool
) -> list[Document]:
    """Different texts, at most so many of them; labels only where they are known."""
    different = list({one.text: one for one in data if one.text.strip()}.values())
    if len(different) > most:
        places = np.sort(randomness.choose(len(different), most)).tolist()
        different = [different[place] for place in places]
    return different if labeled else [replace(one, labels=()) for one in different]
