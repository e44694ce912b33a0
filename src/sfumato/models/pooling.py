"""What a classifier's head reads of a text: its first token, its last one, or the mean of all.

A network comes with one way: BERT's head reads the first place of the last layer, that of GPT-2 or
Llama the last one that is no padding. Sentence encoders such as MiniLM were trained for another:
the mean over all tokens, special ones included. A head that reads a place for which the encoder was
never trained learns less, as long as the encoder is frozen.

How
    What is to be read replaces the last layer's result at every place, so that the network's own
    head finds it wherever it looks. Normalization, pooler and scores stay the network's own, and so
    do the names of all weights. If a network reads that way by itself, nothing is changed.

Why this mixes no records
    A row's own places are selected or averaged, by the row's own attention mask. Padding has no
    part in it: its weight is zero, and so is its gradient. Training compares rows with other rows
    taken away (``training.clipping.row_checks``) as for any network.

The folder says it
    A sentence encoder's folder names its way (``1_Pooling/config.json``, as sentence-transformers
    writes it), which a new head takes unless another is asked for. A trained classifier names it in
    its configuration, as ``sfumato_pooling``.

Care
    Other programs do not know ``sfumato_pooling``: transformers alone would let the head read the
    place that is usual for its class, and give other scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import one_of
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.json import read_object

if TYPE_CHECKING:
    from torch import Tensor, nn

FIRST, LAST, MEAN = "first", "last", "mean"
POOLINGS = (FIRST, MEAN, LAST)
KEY = "sfumato_pooling"
# Where sentence-transformers writes it, and what its names are here.
STATED_IN = "1_Pooling/config.json"
_STATED = {
    "pooling_mode_cls_token": FIRST,
    "pooling_mode_mean_tokens": MEAN,
    "pooling_mode_lasttoken": LAST,
}
_STATED_TOO = {"cls": FIRST, "mean": MEAN, "lasttoken": LAST}


SAID = {
    FIRST: "the head reads the first token",
    MEAN: "the head reads the mean of all tokens",
    LAST: "the head reads the last token",
}


def check_pooling(pooling: str | None, kind: str) -> None:
    """Refuse an unknown name, and one for a language model."""
    if pooling is None:
        return
    one_of("pooling", pooling, POOLINGS)
    if kind != "classifier":
        if kind == "tagger":
            raise InvalidArgument(
                f"`pooling={pooling!r}` says what a classifier reads; a tagger reads every token. "
                "Leave it out"
            )
        raise InvalidArgument(
            f"`pooling={pooling!r}` says what a classifier reads; a language model reads every "
            "token. Leave it out, or give `classes=...`"
        )


def stated_pooling(folder: Path) -> str | None:
    """What the folder of a sentence encoder says; None if it says nothing that is known here.

    Several ways at once, a maximum or a weighted mean are not.
    """
    path = folder / STATED_IN
    if not path.is_file():
        return None
    said = read_object(path, "the pooling of a sentence encoder")
    if isinstance(said.get("pooling_mode"), str):
        return _STATED_TOO.get(said["pooling_mode"])
    wanted = [key for key in said if key.startswith("pooling_mode_") and said[key] is True]
    return _STATED.get(wanted[0]) if len(wanted) == 1 else None


def pool(states: Tensor, counted: Tensor, pooling: str) -> Tensor:
    """What is read of each row: (rows, width) of (rows, places, width).

    >>> import torch
    >>> states = torch.tensor([[[1.0], [3.0], [9.0]]])
    >>> [float(pool(states, torch.tensor([[1, 1, 0]]), one)) for one in POOLINGS]
    [1.0, 2.0, 3.0]
    """
    import torch

    real = counted.bool()
    if pooling == MEAN:
        # Whatever stands in the padding: it is left out, not multiplied by zero.
        kept = torch.where(real[..., None], states, 0.0)
        return kept.sum(1) / real.sum(1, keepdim=True).clamp(min=1).to(states)
    numbers = torch.arange(states.shape[1], device=states.device).expand(real.shape)
    last = torch.where(real, numbers, 0).argmax(1)
    places = real.int().argmax(1) if pooling == FIRST else last
    return states[torch.arange(len(states), device=states.device), places]


@dataclass(eq=False)
class Pooling:
    """Hooks of one network: one notes which places count, one replaces the last layer's result.

    They are methods of one object, so that a copy of the network has hooks of its own.
    """

    pooling: str
    _counted: Tensor | None = field(default=None, repr=False)

    def attach(self, network: Any) -> None:
        """From here on the head of this network reads what was asked for."""
        from sfumato.models.trainable import NetworkParts

        last = network.get_submodule(NetworkParts.of(network).layers[-1])
        # The inner network is always called as a module; low-rank factors call the outer one's
        # ``forward`` and would pass its hooks by.
        inner = network.base_model
        inner.register_forward_pre_hook(self.note, with_kwargs=True)
        inner.register_forward_hook(self.forget, always_call=True)
        last.register_forward_hook(self.replace)

    def note(self, module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Before a call: which places are no padding."""
        self._counted = named.get("attention_mask")
        if self._counted is None and len(given) > 1:
            order = list(signature(module.forward).parameters)
            place = order.index("attention_mask") if "attention_mask" in order else len(given)
            self._counted = given[place] if place < len(given) else None

    def replace(self, module: nn.Module, given: tuple[Any, ...], said: Any) -> Any:  # noqa: ARG002
        """After the last layer: the same for every place."""
        states: Tensor = said[0] if isinstance(said, tuple) else said
        counted = self._counted
        if counted is None:
            counted = states.new_ones(states.shape[:2])
        if counted.shape != states.shape[:2]:
            raise InvalidArgument(
                f"the pooling {self.pooling} needs an attention mask with a number for each place "
                f"of each row, {tuple(states.shape[:2])}, not {tuple(counted.shape)}"
            )
        read = pool(states, counted, self.pooling)[:, None].expand_as(states)
        return (read, *said[1:]) if isinstance(said, tuple) else read

    def forget(self, *_: object) -> None:
        """After a call, or an error in it: lengths of texts are private."""
        self._counted = None


def own_pooling(network: Any) -> str | None:
    """The place that a network's own head reads, tried out; None if it is neither end."""
    from sfumato.models.head import HeadOnly

    try:
        head = HeadOnly.of(network)
    except InvalidArgument:  # it has no list of layers, or no head of its own
        return None
    return None if head is None else head.place


def set_pooling(network: Any, pooling: str) -> None:
    """Let the head of a fresh or loaded classifier read this; refuse a network that cannot."""
    one_of("pooling", pooling, POOLINGS)
    own = own_pooling(network)
    if own is None:
        raise InvalidArgument(
            f"`pooling={pooling!r}`: the head of this model reads neither the first nor the last "
            "place of its last layer, so nothing else can be put there; leave it out"
        )
    if own != pooling:
        Pooling(pooling).attach(network)
        setattr(network.config, KEY, pooling)
    elif hasattr(network.config, KEY):
        delattr(network.config, KEY)


def restore_pooling(network: Any) -> str:
    """Let a network read what its configuration says; empty if it says nothing."""
    said = getattr(network.config, KEY, None)
    if said is None:
        return ""
    if said not in POOLINGS:
        raise BadInput(
            f"the model's configuration has {KEY} = {str(said)[:40]!r}, which is none of "
            f"{', '.join(POOLINGS)}; it is damaged, or of another version"
        )
    Pooling(said).attach(network)
    return str(said)


def choose_pooling(network: Any, folder: Path, asked: str | None, *, trained: bool) -> str:
    """Set what the head of a loaded classifier reads; what it is, or empty for the usual.

    A trained head reads what it was trained on. A new one reads what was asked for, else what the
    folder of the encoder says.
    """
    if trained:
        said = restore_pooling(network)
        if asked is not None and asked != (said or own_pooling(network)):
            raise InvalidArgument(
                f"`pooling={asked!r}`: the classifier in {folder} has a head that was trained on "
                f"{said or own_pooling(network) or 'something else'}, and is useless with another; "
                "leave it out"
            )
        return said
    if asked is not None:
        set_pooling(network, asked)
        return asked
    stated = stated_pooling(folder)
    if stated is None or own_pooling(network) is None:
        return ""
    set_pooling(network, stated)
    return stated
