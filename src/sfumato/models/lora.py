"""Low-rank adaptation: train two thin matrices beside each chosen one, and freeze the rest.

Guarantee
    None of its own; the guarantee is that of the training. Fewer weights are trained, so less noise
    is added in total.

Care
    The base model is published as it is. If it was trained on the same private text, that is not
    covered. A classifier's new head is trained in full, because it starts from nothing, and so is
    a pooler that the model's folder has no weights for.

Reference
    Hu et al. 2022, "LoRA: low-rank adaptation of large language models"; Yu et al. 2022,
    "Differentially private fine-tuning of language models".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import at_least, between, extra, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.load import draw_weights_from

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class Lora:
    """Settings: ``rank`` of the factors, ``alpha`` their scale (the product counts alpha/rank).

    ``targets`` are the ends of the names of the layers to adapt. By default these are the usual
    ones of the architecture (the attention's queries and values, for GPT-2 its joint projection).
    ``head`` also trains the output layer of a language model; that of a classifier is always
    trained.
    """

    rank: int = 8
    alpha: float = 16.0
    dropout: float = 0.0
    targets: tuple[str, ...] = ()
    head: bool = False

    def __post_init__(self) -> None:
        at_least("rank", self.rank, 1)
        positive("alpha", self.alpha)
        between("dropout", self.dropout, 0, 1)

    def attach(
        self, network: PreTrainedModel, randomness: Randomness, new: Sequence[str] = ()
    ) -> PeftModel:
        """The same network with factors beside the chosen layers; only these can be trained.

        ``new`` are the names of weights that were drawn, and are trained in full.
        """
        extra("peft", needed_for="LoRA", extra="train")
        from peft import LoraConfig, get_peft_model

        head = _head(network, wanted=self.head)
        full = list(dict.fromkeys([*([head] if head else []), *_outside(new, head)]))
        chosen = [one for one in _choose(network, self.targets) if one not in full]
        config = LoraConfig(
            r=self.rank,
            lora_alpha=self.alpha,  # type: ignore[arg-type]  # any number will do
            lora_dropout=self.dropout,
            target_modules=chosen,
            modules_to_save=full or None,
            fan_in_fan_out=_are_transposed(network, chosen),
        )
        with draw_weights_from(randomness):
            return get_peft_model(network, config)


def is_adapted(network: Any) -> bool:
    """Whether low-rank factors are attached."""
    from peft import PeftModel

    return isinstance(network, PeftModel)


def merge_adapter(network: PeftModel) -> PreTrainedModel:
    """A plain network with the factors merged into the weights; the given one is not changed."""
    plain: PreTrainedModel = deepcopy(network).merge_and_unload()
    return plain


def _outside(new: Sequence[str], head: str | None) -> Iterator[str]:
    """The modules of new weights that are not in the head."""
    for weight in new:
        module = weight.rpartition(".")[0]
        if head is None or not f"{module}.".startswith(f"{head}."):
            yield module


def _choose(network: PreTrainedModel, targets: tuple[str, ...]) -> list[str]:
    """The full names of the layers to adapt."""
    ends = targets or _usual(network)
    layers = _adaptable(network)
    chosen = [name for name in layers if any(f".{name}".endswith(f".{end}") for end in ends)]
    if not chosen:
        known = sorted({name.rpartition(".")[2] for name in layers})
        raise InvalidArgument(
            f"targets={','.join(ends)!r} fits no layer that LoRA can adapt; this model has "
            f"{', '.join(known)}"
        )
    return chosen


def _usual(network: PreTrainedModel) -> tuple[str, ...]:
    from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as USUAL

    kind = network.config.model_type
    ends = USUAL.get(kind)
    if not isinstance(ends, list | tuple):
        known = sorted({name.rpartition(".")[2] for name in _adaptable(network)})
        raise InvalidArgument(
            f"no layers are usual for LoRA in a model of type {kind!r}; name them with targets, "
            f"out of {', '.join(known)}"
        )
    return tuple(ends)


def _adaptable(network: PreTrainedModel) -> dict[str, Any]:
    """All linear layers except the head."""
    from torch.nn import Linear
    from transformers.pytorch_utils import Conv1D

    outside = {id(network.get_output_embeddings())}
    return {
        name: module
        for name, module in network.named_modules()
        if isinstance(module, Linear | Conv1D) and id(module) not in outside
    }


def _are_transposed(network: PreTrainedModel, chosen: list[str]) -> bool:
    """Whether the matrices are stored transposed, as in GPT-2; peft needs to know."""
    from transformers.pytorch_utils import Conv1D

    return all(isinstance(network.get_submodule(name), Conv1D) for name in chosen)


def _head(network: PreTrainedModel, *, wanted: bool) -> str | None:
    """The name of the layer that is trained in full, if there is one."""
    for name in ("score", "classifier"):
        if hasattr(network, name):
            return name
    if not wanted:
        return None
    output = network.get_output_embeddings()
    if output.weight is network.get_input_embeddings().weight:
        raise InvalidArgument(
            "head=True: the output layer of this model is its input embedding; it can only be "
            "trained together with the whole model"
        )
    return str(next(name for name, module in network.named_modules() if module is output))
