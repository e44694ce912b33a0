"""``sfumato.plan``: how much noise a private training run needs, without training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from sfumato.training.plan import Plan


def plan(
    examples: int,
    *,
    batch_size: int | Sequence[int],
    epochs: float,
    epsilon: float | None = None,
    noise_multiplier: float | None = None,
    noise_schedule: Sequence[float] = (1.0,),
    clipping: str = "fixed",
    delta: float | str = "auto",
    accountant: str = "pld",
    sampling: str = "auto",
    unit: str = "example",
    neighbors: str = "add-or-remove",
) -> Plan:
    """The plan with the least noise that keeps a level, or with the noise that is given.

    With several batch sizes, or a schedule of noise, training has stages of equal length, and every
    step is charged as it is. ``training.spending.compare_accountants`` compares accountants.
    """
    from sfumato.accounting.delta import privacy_units
    from sfumato.accounting.events import computable_noise
    from sfumato.training.clipping.clippers import choose_clipping
    from sfumato.training.plan import Plan, quietly
    from sfumato.training.sampling import sampling as sampling_named
    from sfumato.training.stages import Schedule

    if (epsilon is None) == (noise_multiplier is None):
        raise InvalidArgument("give either `epsilon=...` or `noise_multiplier=...`")
    if epsilon is not None and epsilon != math.inf:
        positive("epsilon", epsilon)
    sizes = (batch_size,) if isinstance(batch_size, int) else tuple(batch_size)
    way = sampling_named("poisson" if sampling == "auto" else sampling)
    stages = Schedule(epochs=epochs, batch_sizes=sizes, noise=tuple(noise_schedule)).stages(
        privacy_units("examples", examples), way
    )
    if noise_multiplier is not None:
        factor = computable_noise("noise_multiplier", noise_multiplier)
        stages = tuple(
            replace(one, noise_multiplier=one.noise_multiplier * factor) for one in stages
        )
    with quietly():  # what is returned says it
        made = Plan(
            units=examples,
            stages=stages,
            delta=delta,
            unit=unit,
            neighbors=neighbors,
            sampling=way,
            clipping=choose_clipping(clipping, 1.0, sizes),
            accountant=accountant,
        )
    return replace(made) if epsilon is None else made.with_epsilon(epsilon)
