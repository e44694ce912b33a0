"""Gaussian noise for the sum of a batch, from the stream that was passed in.

Noise for millions of parameters takes time, so it is drawn by several threads, each piece of the
sum from a stream of its own. With a seed the noise does not depend on the number of threads.

Care
    Numbers are drawn and scaled in double precision and rounded to the precision of the parameter
    when they are added. Floating-point numbers are not real numbers: the lowest bits of a sum can
    in principle tell which sums were possible. This is true of every implementation of DP-SGD in
    floating point, and is not covered by the guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from sfumato.core.randomness import Randomness

_NUMBERS_AT_A_TIME = 1 << 17


def add_noise(totals: Iterable[Tensor], deviation: float, randomness: Randomness) -> None:
    """Add independent noise of the given standard deviation to every coordinate, in place.

    ``randomness`` must be a stream that is used for nothing else: pieces take the streams below it.
    """
    pieces = [
        piece for total in totals for piece in torch.split(total.view(-1), _NUMBERS_AT_A_TIME)
    ]

    def fill(index: int) -> None:
        drawn = randomness.stream(index).noise(len(pieces[index]))
        drawn *= deviation
        if pieces[index].device.type == "cpu":
            values = pieces[index].numpy()
            np.add(values, drawn, out=values, casting="same_kind")
        else:
            pieces[index].add_(torch.from_numpy(drawn).to(pieces[index]))

    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        list(threads.map(fill, range(len(pieces))))
