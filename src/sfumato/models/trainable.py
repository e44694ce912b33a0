"""Which weights of a network are trained: all, its last layers, its head, biases, or additions.

===============  =======================================================================
``all``          every weight
``last:K``       the last K layers, and the head
``head``         what stands after the last layer: BERT's pooler and classifier, GPT-2's
                 last normalization and its scores
``bias``         every bias, and a classifier's head; what enters a layer need not be
                 kept for the backward pass then
``lora``         low-rank factors beside matrices, and a classifier's head (``lora``)
``adapter:SIZE`` small layers inside the network, and a classifier's head (``adapters``)
===============  =======================================================================

Frozen weights are not recorded, not clipped and have no noise; they do not count among the
dimensions of directional noise. Their modules stay in evaluation mode, so that they are one fixed
function of a text: without dropout, the same in every epoch.

Where the head begins is tested, not looked up: a trial on a few tokens shows which modules are
called after the last layer.

Care
    Frozen weights are published as they are. If they were trained on the same private text, that is
    not covered by any guarantee of the training.

Reference
    For biases Ben Zaken et al. 2022, "BitFit: simple parameter-efficient fine-tuning for
    transformer-based masked language-models"; with differential privacy Bu et al. 2022,
    "Differentially private bias-term fine-tuning of foundation models".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import InvalidArgument
from sfumato.models.lora import Lora

if TYPE_CHECKING:
    from torch import nn

ADAPTER, ALL, BIAS, HEAD, LAST, LORA = "adapter", "all", "bias", "head", "last", "lora"
# The size of adapters unless one is given.
SIZE = 64
_TRIAL = 6


@dataclass(frozen=True)
class Trainable:
    """A choice of weights; ``layers`` are those of ``last:K``, ``size`` is that of adapters.

    >>> Trainable.read("last:2"), str(Trainable.read("last:2"))
    (Trainable(part='last', layers=2, size=0), 'last:2')
    >>> str(Trainable.read("adapter")), str(Trainable.read("adapter:16"))
    ('adapter:64', 'adapter:16')
    """

    part: str = ALL
    layers: int = 0
    size: int = 0

    @classmethod
    def read(cls, text: str) -> Trainable:
        """From what a user writes."""
        part, colon, count = text.partition(":")
        if text == ADAPTER:
            return cls(ADAPTER, size=SIZE)
        if part in (ADAPTER, LAST) and count.isascii() and count.isdigit() and int(count) > 0:
            return cls(LAST, int(count)) if part == LAST else cls(ADAPTER, size=int(count))
        if colon or part not in (ALL, BIAS, HEAD, LORA):
            raise InvalidArgument(
                f"`trainable={text!r}` must be all, head, bias, lora, adapter, adapter:SIZE or "
                "last:K, such as last:2 for the last two layers"
            )
        return cls(part)

    @classmethod
    def choose(cls, text: str | None, lora_rank: int | None) -> Trainable:
        """What was asked for; factors if only their rank was given."""
        if text is None:
            return cls(ALL if lora_rank is None else LORA)
        chosen = cls.read(text)
        if lora_rank is not None and chosen.part != LORA:
            raise InvalidArgument(
                f"`lora_rank={lora_rank}` trains low-rank factors, and `trainable={text!r}` "
                "something else; give one of them"
            )
        return chosen

    @property
    def whole(self) -> bool:
        """Whether every weight is trained."""
        return self.part == ALL

    def rank(self, lora_rank: int | None) -> int | None:
        """The rank of the factors, if there are any."""
        return (lora_rank or Lora().rank) if self.part == LORA else None

    def freeze(self, network: Any, new: Sequence[str] = ()) -> tuple[str, ...]:
        """Freeze everything else; the names of the modules that stay in evaluation mode.

        ``new`` are the names of weights that were drawn; biases and adapters are trained together
        with these. Low-rank factors and adapters are attached elsewhere (``models.lora``,
        ``models.adapters``).
        """
        if self.part in (ADAPTER, BIAS):
            _freeze_but(network, self.part, new)
            return ()
        if self.part not in (HEAD, LAST):
            return ()
        parts = NetworkParts.of(network)
        if self.layers > len(parts.layers):
            raise InvalidArgument(
                f"`trainable='{self}'`: the model has {len(parts.layers)} layers; for all of its "
                "weights take `trainable='all'`"
            )
        kept = (*parts.layers[len(parts.layers) - self.layers :], *parts.head)
        trained = {one for name in kept for one in network.get_submodule(name).parameters()}
        # A matrix that is also the input embedding is used before the layers that are trained.
        trained -= parts.shared
        for one in network.parameters():
            one.requires_grad_(one in trained)
        return _fixed(network, parts, kept)

    def __str__(self) -> str:
        number = {LAST: self.layers, ADAPTER: self.size}.get(self.part)
        return self.part if number is None else f"{self.part}:{number}"


@dataclass(frozen=True, eq=False)
class NetworkParts:
    """The names of a network's layers in order, and of the modules after the last of them.

    ``body`` are the single modules that are only called before the last layer ends; ``shared`` are
    weights of the head that the network also uses there.
    """

    layers: tuple[str, ...]
    head: tuple[str, ...]
    body: tuple[str, ...]
    shared: frozenset[Any]

    @classmethod
    def of(cls, network: Any) -> NetworkParts:
        """Found by a trial on a few tokens."""
        layers = _layers(network)
        last = network.get_submodule(layers[-1])
        before, after = _called(network, last)
        head = tuple(name for name in after if name not in before)
        earlier = {
            one for name in before for one in network.get_submodule(name).parameters(recurse=False)
        }
        own = {
            one for name in head for one in network.get_submodule(name).parameters(recurse=False)
        }
        if not own - earlier:
            raise InvalidArgument(
                "the head of this model is its input embedding, or has no weights of its own; it "
                "can only be trained together with the whole model, `trainable='all'`"
            )
        body = tuple(name for name in before if name not in after)
        return cls(layers, head, body, frozenset(own & earlier))


def _freeze_but(network: Any, part: str, new: Sequence[str]) -> None:
    """Train biases or adapters, a classifier's head, and what was drawn; freeze the rest."""
    from sfumato.models.adapters import adapters_of, weights_to_train

    if part == BIAS:
        small = {
            one
            for name, one in network.named_parameters()
            if name.rpartition(".")[2].startswith("bias") and one.dim() == 1
        }
    else:
        small = {one for adapter in adapters_of(network).values() for one in adapter.parameters()}
    full = set(weights_to_train(network, new))
    if not small - full:
        raise InvalidArgument(
            f"`trainable={part!r}`: this model has no {'biases' if part == BIAS else 'adapters'} "
            "before its head; take `trainable='lora'` or `trainable='all'`"
        )
    for one in network.parameters():
        one.requires_grad_(one in small or one in full)


def _fixed(network: Any, parts: NetworkParts, kept: tuple[str, ...]) -> tuple[str, ...]:
    """The modules before those that are trained: frozen ones, and those without weights."""
    within = tuple(f"{name}." for name in kept)
    without_weights = {
        name
        for name in parts.body
        if next(network.get_submodule(name).parameters(), None) is None
        and not name.startswith(within)
    }
    frozen = {
        name
        for name, module in network.named_modules()
        if (own := list(module.parameters())) and not any(one.requires_grad for one in own)
    }
    return tuple(sorted(frozen | without_weights))


def _layers(network: Any) -> tuple[str, ...]:
    """The names of the layers: the list of modules that has the most weights."""
    from torch import nn

    lists = {
        name: module
        for name, module in network.named_modules()
        if isinstance(module, nn.ModuleList) and len(module)
    }
    if not lists:
        raise InvalidArgument(
            "this model has no list of layers, so it cannot be said which are the last ones; take "
            "`trainable='all'`"
        )
    chosen = max(lists, key=lambda name: sum(one.numel() for one in lists[name].parameters()))
    return tuple(f"{chosen}.{number}" for number in range(len(lists[chosen])))


def _called(network: Any, last: nn.Module) -> tuple[list[str], list[str]]:
    """The single modules, and those with weights of their own, called before the last layer ends.

    Those that are called afterwards are the second list.
    """
    before: list[str] = []
    after: list[str] = []
    now = [before]
    hooks = [last.register_forward_hook(lambda *_: now.__setitem__(0, after))]
    for name, module in network.named_modules():
        single = next(module.children(), None) is None
        if name and (single or next(module.parameters(recurse=False), None) is not None):
            hooks.append(
                module.register_forward_pre_hook(lambda *_, name=name: now[0].append(name))
            )
    try:
        try_out(network)
    finally:
        for hook in hooks:
            hook.remove()
    return before, after


def try_out(network: Any) -> Any:
    """The outputs of a network for a few tokens, without gradients."""
    import torch

    with torch.no_grad(), in_evaluation(network):
        tokens = (torch.arange(_TRIAL) + 1).remainder(network.config.vocab_size)[None]
        apart = bool(getattr(network.config, "is_encoder_decoder", False))
        more = {"decoder_input_ids": tokens} if apart else {}
        return network(input_ids=tokens, attention_mask=torch.ones_like(tokens), **more)


@contextmanager
def in_evaluation(network: Any) -> Iterator[None]:
    """Within this block every module is in evaluation mode; afterwards each is as it was."""
    modes = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
