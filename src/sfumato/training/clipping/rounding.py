"""Rounding errors of norms and sums, and a bound on a record that holds for every input.

Guarantee
    What a record adds to the computed sum of a batch, before its scale c, is no longer than
    ``MeasuredNorms.bounds``, whatever the record is: with terms that cancel, positions that repeat,
    numbers of any size. Scaled by C/bound it is no longer than C.

Why it holds
    A sum of n products, computed in any order, fused or not, differs from the true one by at most
    γ(n) = n·u/(1 − n·u) times the sum of the absolute products, with u half the distance from 1 to
    the next number (Higham 2002, "Accuracy and stability of numerical algorithms", section 3.1),
    and by at most n times the smallest normal number where products underflow. Hence, with the
    gradient G = Σ_t l_t r_tᵀ of a record over its places and A = Σ_t |l_t|·|r_t|, the norm of each
    outer product being |l_t|·|r_t|:

    - *formed*: Ĝ differs from G by at most γ(T)·A in norm, for T places.
    - *inner products*: every l_t·l_s is off by at most γ(m)·|l_t||l_s| (Cauchy–Schwarz), so
      Σ_{t,s} (l_t·l_s)(r_t·r_s) by at most (γ(m) + γ(n) + γ(T) + 4u)·A². Widths are summed
      ``WIDTH`` at a time, so m counts at most WIDTH + m/WIDTH. Repeated places have equal errors,
      which add up: A² grows as T², and nothing less would do.
    - *squares* have no cancellation: their sum over a width n is off by a share of γ(n).
    - *the scaled sum* is computed in products of at most ``PRODUCT`` places, of which there are at
      most ``PRODUCTS``. Each of a record's terms passes through no more than CHAIN additions, so
      what the record adds is off by at most γ(CHAIN)·A. Where a record's gradient was formed and
      kept, the sum is over formed gradients, and it is off by γ(CHAIN)·‖Ĝ‖.

    ``square`` is the computed square of the norm, ``doubt`` bounds how far the true one may be
    above it, and ``size`` is A. So no record adds more than √(square + doubt) + γ(2·CHAIN)·size,
    half of which is for the sum and half for having formed the gradient from at most CHAIN places;
    more places are in the doubt. Records whose doubt exceeds ``DOUBT`` times their square are
    measured again from their formed gradient, whose error is a multiple of A and not of A².

A scale must not depend on other records
    Whether a gradient is formed, kept or never formed depends on the shape of the batch. If the
    bound depended on that, one more record could change the scales of all others, and for records
    that were made to cancel, the sum by many times the clipping norm. So the bound is the same
    function of a record's own norm and its own A, with public constants, however it was measured:
    norms are enlarged by half of ``DOUBT``, and by the larger of ``DRIFT`` and γ(2·CHAIN)·A, even
    where less would be enough. For ordinary text A is 3 to 11 times the norm at 128 to 256 tokens,
    and this costs 0.9 % of the clipping norm; it costs 1.2 % where A is 20 times the norm.

Care
    A sum in floating point also rounds what the other records have contributed, and does so
    differently when a record is missing. The same holds for their norms, within the half of
    ``DOUBT`` that is allowed for it. For ordinary records this changes some millionths of the
    clipping norm. For a batch full of records that were made to cancel it can be more; the
    guarantee does not cover that, as it does not cover the lowest bits of the noise. Products must
    be computed in the precision of their factors: ``refuse_coarse_products``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sfumato.core.errors import InvalidArgument

# Positions in one product of a scaled sum, and the largest number of such products in a sum.
PRODUCT, PRODUCTS = 2048, 512
CHAIN = PRODUCT + PRODUCTS + 8
# Numbers that are multiplied and summed at a time for an inner product.
WIDTH = 512
# Shares by which all squares and norms are enlarged, in single precision.
DOUBT, DRIFT = 0.012, 0.003
# A little more than 1, for the products of several small errors.
MORE = 1.02


@dataclass(frozen=True, eq=False)
class MeasuredNorms:
    """The square of each record's gradient norm, with bounds on its rounding error."""

    square: Tensor
    doubt: Tensor
    size: Tensor
    dtype: torch.dtype

    def norms(self) -> Tensor:
        """The norms as computed, in double precision."""
        return self.square.sqrt()

    def bounds(self) -> Tensor:
        """A bound on what each record adds to the computed sum, before its scale."""
        doubt, drift = shares(self.dtype)
        longest = torch.maximum(self.square * (1 + doubt), self.square + self.doubt).sqrt()
        return torch.maximum(
            longest * (1 + drift), longest + gamma(2 * CHAIN, self.dtype) * self.size
        )

    def uncertain(self) -> Tensor:
        """The records whose norm should be measured more closely."""
        return (self.doubt > shares(self.dtype)[0] * self.square).nonzero()[:, 0]

    def of(self, records: Tensor) -> MeasuredNorms:
        """Some of the records."""
        square, doubt, size = (one[records] for one in self.parts())
        return MeasuredNorms(square, doubt, size, self.dtype)

    def replaced(self, records: Tensor, closer: MeasuredNorms) -> MeasuredNorms:
        """With some of the records measured again."""
        pairs = zip(self.parts(), closer.parts(), strict=True)
        square, doubt, size = (one.index_copy(0, records, other) for one, other in pairs)
        return MeasuredNorms(square, doubt, size, self.dtype)

    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Square, doubt and size."""
        return self.square, self.doubt, self.size


def together(parts: Sequence[MeasuredNorms]) -> MeasuredNorms:
    """The gradient over several parameters: squares add up."""
    square, doubt, size = (
        torch.stack(one) for one in zip(*(part.parts() for part in parts), strict=True)
    )
    coarsest = max((one.dtype for one in parts), key=lambda dtype: torch.finfo(dtype).eps)
    return MeasuredNorms(square.sum(0), doubt.sum(0), size.square().sum(0).sqrt(), coarsest)


def one_after_another(parts: Iterable[MeasuredNorms]) -> MeasuredNorms:
    """The records of several measurements as one."""
    every = list(parts)
    columns = zip(*(one.parts() for one in every), strict=True)
    square, doubt, size = (torch.cat(column) for column in columns)
    return MeasuredNorms(square, doubt, size, every[0].dtype)


def gamma(additions: int, dtype: torch.dtype) -> float:
    """The largest relative error of a sum of so many terms, against the sum of absolute values.

    >>> gamma(1000, torch.float32) < 6.1e-5, gamma(1000, torch.float64) < 1.2e-13
    (True, True)
    """
    errors = additions * torch.finfo(dtype).eps / 2
    return MORE * errors / (1 - errors) if errors < 0.5 else math.inf


def shares(dtype: torch.dtype) -> tuple[float, float]:
    """The shares by which squares, and norms, are enlarged."""
    coarseness = torch.finfo(dtype).eps / torch.finfo(torch.float32).eps
    return DOUBT * coarseness, DRIFT * coarseness


def bound_formed(gradients: Tensor) -> MeasuredNorms:
    """The norms of gradients that are added to the sum as they are: (records, …, width)."""
    dtype, width = gradients.dtype, gradients.shape[-1]
    # The last axis in single precision, for speed; all further sums in double precision.
    lengths: Tensor = torch.linalg.vector_norm(gradients, dim=-1).double()
    squared = lengths.square().reshape(len(lengths), -1).sum(1)
    underflow = gradients[0].numel() * torch.finfo(dtype).tiny if len(gradients) else 0.0
    doubt = gamma(width + 8, dtype) * squared + underflow
    return MeasuredNorms(squared, doubt, (squared + doubt).sqrt(), dtype)


def bound_approximated(gradients: Tensor, size: Tensor, additions: int) -> MeasuredNorms:
    """The norms of gradients whose entries are sums of so many products, with A = ``size``."""
    like = bound_formed(gradients)
    # The errors of the first CHAIN additions are already part of the bound.
    error = gamma(max(0, additions + 4 - CHAIN), like.dtype) * size
    return MeasuredNorms(
        like.square, like.doubt + error * (2 * like.size + error), size, like.dtype
    )


def lengths(places: Tensor) -> Tensor:
    """The length at each position, (rows, places, width) to (rows, places), rounded up."""
    width, dtype = places.shape[-1], places.dtype
    computed: Tensor = torch.linalg.vector_norm(places, dim=-1).double()
    return computed * (1 + gamma(width + 2, dtype)) + math.sqrt(width * torch.finfo(dtype).tiny)


def weigh(weights: Tensor, rows: Tensor) -> Tensor:
    """Σ_i w_i·rows_i, so many rows at a time that rounding stays within CHAIN."""
    return add_up(one @ some for one, some in zip(*map(pieces, (weights, rows)), strict=True))


def multiply(left: Tensor, right: Tensor) -> Tensor:
    """LᵀR over all places, so many at a time that rounding stays within CHAIN."""
    pairs = zip(pieces(left), pieces(right), strict=True)
    return add_up(some.t() @ others for some, others in pairs)


def pieces(rows: Tensor) -> tuple[Tensor, ...]:
    """Rows in pieces of as many as one product may sum."""
    if len(rows) > PRODUCT * PRODUCTS:
        raise InvalidArgument(
            "the batch is so large that the rounding of its sum cannot be bounded; use "
            "smaller physical batches"
        )
    return torch.split(rows, PRODUCT)


def add_up(parts: Iterable[Tensor]) -> Tensor:
    """The sum of tensors that are needed for nothing else."""
    every = iter(parts)
    total = next(every)
    for one in every:
        total.add_(one)
    return total


@contextmanager
def fully() -> Iterator[None]:
    """Within this block, products are computed in the precision of their factors.

    A model may be called under autocast, and its rows are checked within that call.
    """
    with torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False):
        yield


def refuse_coarse_products() -> None:
    """Refuse settings of torch under which products are rounded more than their factors."""
    if any(torch.is_autocast_enabled(device) for device in ("cpu", "cuda")):
        raise InvalidArgument(
            "autocast is on: products would be rounded to fewer digits than the norms that clip "
            "them allow for; call backward outside of autocast"
        )
    backends: Any = torch.backends
    settings = {"torch.get_float32_matmul_precision()": torch.get_float32_matmul_precision()}
    if hasattr(backends, "fp32_precision"):  # torch before 2.9 has the one setting above
        settings |= {
            "torch.backends.fp32_precision": backends.fp32_precision,
            "torch.backends.mkldnn.matmul.fp32_precision": backends.mkldnn.matmul.fp32_precision,
            "torch.backends.cuda.matmul.fp32_precision": backends.cuda.matmul.fp32_precision,
        }
    for name, value in settings.items():
        if value not in ("highest", "ieee", "none"):
            raise InvalidArgument(
                f"{name} is {value!r}: products would be rounded to fewer digits than the norms "
                'that clip them allow for; call torch.set_float32_matmul_precision("highest")'
            )
