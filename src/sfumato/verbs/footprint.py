"""``sfumato.footprint``: what a training step needs in memory, before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sfumato.core.checks import at_least, extra
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from sfumato.training.footprint import Footprint


def footprint(
    model: str,
    *,
    rows: int = 4,
    places: int = 256,
    trainable: str | None = None,
    lora_rank: int | None = None,
    recompute: str = "nothing",
    precision: str = "float32",
    optimizer: str = "adam",
    settings: Mapping[str, object] | None = None,
) -> Footprint:
    """What a private step of a language model needs in memory and arithmetic.

    ``model`` is a known shape (gpt2, gpt2-medium, gpt2-large, llama-2-7b, mistral-7b), a built-in
    model with its ``settings``, or a folder, of which only the configuration is read. A batch of
    ``rows`` rows of ``places`` tokens is computed at a time; the other arguments are those of
    ``train``. The step is run on tensors without numbers, which takes a minute for a large model
    and hardly any memory.
    """
    extra("torch", needed_for="a model", extra="train")
    from sfumato.core.randomness import Randomness
    from sfumato.models.adapters import Adapters
    from sfumato.models.lora import Lora
    from sfumato.models.precision import set_precision
    from sfumato.models.recomputing import recompute as compute_again
    from sfumato.models.shapes import shape_of
    from sfumato.models.trainable import Trainable
    from sfumato.training.footprint import measure_footprint
    from sfumato.training.settings import Course

    at_least("rows", rows, 1)
    at_least("places", places, 2)
    course = Course(optimizer=optimizer, recompute=recompute, precision=precision)
    trained = Trainable.choose(trainable, lora_rank)
    network, drawn = shape_of(model, settings), Randomness.secure()
    context = getattr(network.config, "max_position_embeddings", None) or places
    if places > context:
        raise InvalidArgument(
            f"`places={places}` are more than the {context:,} that a row of this model can have"
        )
    if trained.size:
        Adapters(size=trained.size).attach(network, drawn)
    elif (rank := trained.rank(lora_rank)) is not None:
        network = Lora(rank=rank).attach(network, drawn)
    else:
        trained.freeze(network)
    compute_again(network, recompute)
    set_precision(network, precision)
    return measure_footprint(network, course, rows, places)
