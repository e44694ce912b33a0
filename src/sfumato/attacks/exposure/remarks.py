"""What a reader must know to judge the figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sfumato.attacks.exposure import figures
from sfumato.attacks.exposure.extrapolated import DOUBTFUL
from sfumato.attacks.exposure.found import Batch


def remarks(batches: Sequence[Batch], samples: int) -> list[str]:
    """Sentences about the reach of the methods that were used."""
    found = [one for batch in batches for one in batch.found]
    bits = ", ".join(f"{one:.2f}" for one in sorted({one.space.bits for one in found}))
    said = [f"The largest exposure possible is {bits} bits, by the number of possible secrets."]
    if any(batch.method == "sampled" for batch in batches):
        said.append(
            f"A sample of {samples:,} candidates cannot show more than "
            f"{math.log2(samples + 1):.2f} bits."
        )
    said += _about_the_law(batches)
    if any(figure.low is None for figure in figures.means(found)):
        said.append("A mean over one canary, or over canaries all alike, has no interval.")
    if not any(one.planted.repetitions for one in found):
        said.append("No canary was planted: all of them are controls.")
    return said


def _about_the_law(batches: Sequence[Batch]) -> Iterator[str]:
    fits = [batch.fit for batch in batches if batch.fit is not None]
    if fits and min(fits) < DOUBTFUL:
        yield (
            "The scores do not follow the fitted skew-normal law "
            f"(p = {min(fits):.2g}): do not rely on the extrapolated figures."
        )
    elif fits:
        yield f"The scores look skew-normal where the sample shows them (p = {min(fits):.2g})."
    beyond = sum(one.beyond for batch in batches for one in batch.found)
    if beyond:
        yield (
            f"Extrapolated exposures beyond the reach of the sample: {beyond}. They rest on the "
            "tail of the fitted law alone."
        )
