"""Weights that a dishonest server hands out so that gradients show the text.

What is planted
    A network in the shape of GPT-2 with ReLU. Embeddings of tokens and positions are random, and
    one coordinate of the state is kept free for the gradient. The first matrix of a feed-forward
    layer asks all its units the same question, ⟨probe, x⟩ for the normalized state x of a place,
    each unit with a threshold of its own: a *bank* of bins. All units write to the free coordinate,
    and the head reads that coordinate alone. So the gradient of a unit's weights is the sum of the
    states x above its threshold, times a number that is nearly the same for all places.

What makes the signal large
    - The signs with which units write are + − − + − + + − …, each run the reverse of the one before
      (Thue and Morse), so their sum is about zero in the forward pass and the weights may be large.
      The attacker knows the signs.
    - Embeddings are large, so their own gradients are small; normalization makes up for it.
    - A classifier is wrong about its last place alone. Its last attention therefore looks at all
      places alike, with a large factor, and hands the gradient on to every place. A language model
      predicts the token for padding everywhere: it is wrong at every place, always in the same
      direction.

    With published weights the units write with weights of 1e-4 and one sign, which leaves about
    3e-8 of the norm of a classifier's gradient to them, and its last attention is off, so that one
    place is seen.

Care
    Nothing here looks at a document: weights are chosen before, by an attacker who knows the
    vocabulary.

Reference
    Fowl et al. 2023, "Decepticons: Corrupted transformers breach privacy in federated learning for
    language models".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.core.checks import at_least
from sfumato.core.pretrained import quiet
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel

# Standard deviation of the coordinates of embeddings, of tokens and of positions each.
EMBEDDING = 4.0
# With which units write, and with which the gradient is handed on to every place.
WRITES, HANDED_ON = 4.0, 60.0
# The length of the probe. It scales what units pass on, but not the gradient of their weights.
PROBE = 0.02
# The share of units whose thresholds are below all that the probe can say: they see every place.
SEE_ALL = 1 / 16
# The score of padding in a planted language model: far above those of all other tokens.
PADDING_SCORE = 16.0
FREE = -1
_SHARE_OF_TOKENS = 4096


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The size of the planted network."""

    width: int = 256
    layers: int = 4

    def __post_init__(self) -> None:
        at_least("width", self.width, 8)
        at_least("layers", self.layers, 2)


@dataclass(frozen=True, eq=False)
class Banks:
    """What the server remembers of the units it planted.

    ``names`` are the feed-forward layers whose units are bins, ``thresholds`` rise from unit to
    unit and layer to layer, and ``signs`` are those with which units write.
    """

    names: tuple[str, ...]
    probe: Tensor = field(repr=False)
    thresholds: Tensor = field(repr=False)
    signs: Tensor = field(repr=False)


@dataclass(frozen=True, eq=False)
class Planted(LoadedModel):
    """A planted model, with what the server remembers of it."""

    banks: Banks | None = None

    def states(self, tokens: Tensor, place: int) -> Tensor:
        """What the units see of tokens at a place: normalized, without the free coordinate."""
        body: Any = self.network.transformer
        return _normalized((body.wte.weight[tokens] + body.wpe.weight[place]).detach())


def plant(model: LoadedModel, shape: Shape, context: int, randomness: Randomness) -> Planted:
    """A dishonest model with the tokenizer and the classes of an honest one."""
    network = _build(model, shape, context)
    drawn = _Draws(randomness)
    with torch.no_grad():
        for one in network.parameters():
            one.zero_()
        for module in network.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.weight.fill_(1.0)
        body = network.transformer
        for table in (body.wte.weight, body.wpe.weight):
            table.copy_(EMBEDDING * drawn.normal(*table.shape))
            # Without a mean, so that normalization leaves the free coordinate at zero.
            table[:, :FREE] -= table[:, :FREE].mean(1, keepdim=True)
            table[:, FREE] = 0.0
        probe = drawn.normal(1, shape.width)[0]
        probe[FREE] = 0.0
        probe *= PROBE / probe.norm()
        _read_one_coordinate(network, model)
        # In a classifier, places mix in the last block; its units see the last place alone.
        blocks = range(shape.layers - 1 if model.classes else shape.layers)
        thresholds = _thresholds(_asked(body, probe, drawn), 4 * shape.width * len(blocks))
        banks = _plant_banks(body, blocks, probe, thresholds)
    return Planted(network, model.tokenizer, context, model.classes, banks=banks)


@dataclass(frozen=True, eq=False)
class _Draws:
    """Random tensors; initial weights are public."""

    randomness: Randomness

    def normal(self, rows: int, columns: int) -> Tensor:
        drawn = self.randomness.noise(rows * columns)
        return torch.from_numpy(drawn).float().reshape(rows, columns)

    def some(self, population: int, most: int) -> Tensor:
        if population <= most:
            return torch.arange(population)
        return torch.from_numpy(self.randomness.choose(population, most))


def _build(model: LoadedModel, shape: Shape, context: int) -> Any:
    from transformers import GPT2Config, GPT2ForSequenceClassification, GPT2LMHeadModel

    labels: dict[str, Any] = {"num_labels": len(model.classes)} if model.classes else {}
    config = GPT2Config(
        vocab_size=model.tokenizer.size,
        n_positions=context,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=1,
        activation_function="relu",
        tie_word_embeddings=False,
        pad_token_id=model.tokenizer.padding,
        bos_token_id=model.tokenizer.begin,
        eos_token_id=model.tokenizer.end,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        **labels,
    )
    with quiet():
        if model.classes:
            return GPT2ForSequenceClassification(config)
        return GPT2LMHeadModel(config)


def _read_one_coordinate(network: Any, model: LoadedModel) -> None:
    """Let the head read the free coordinate, and hand its gradient on to every place."""
    last = network.transformer.ln_f
    last.weight.zero_()
    if model.classes:
        last.weight[FREE] = 1.0
        # Classes pull in different directions, so whatever the label is, there is a gradient.
        network.score.weight[:, FREE] = torch.linspace(-1.0, 1.0, len(model.classes))
        attention = network.transformer.h[-1].attn
        width = network.config.n_embd
        # Queries and keys are zero, so all places weigh the same.
        attention.c_attn.weight[width + FREE, 3 * width + FREE] = HANDED_ON
        attention.c_proj.weight[FREE, FREE] = 1.0
        return
    last.weight[FREE] = HANDED_ON
    last.bias[FREE] = PADDING_SCORE
    network.lm_head.weight[model.tokenizer.padding, FREE] = 1.0


def _normalized(states: Tensor) -> Tensor:
    found = functional.layer_norm(states, states.shape[-1:])
    found[..., FREE] = 0.0
    return found


def _asked(body: Any, probe: Tensor, drawn: _Draws) -> Tensor:
    """What the probe says of many tokens at many places."""
    tokens = drawn.some(len(body.wte.weight), _SHARE_OF_TOKENS)
    places = body.wpe.weight
    return torch.cat([_normalized(body.wte.weight[tokens] + one) @ probe for one in places])


def _thresholds(values: Tensor, count: int) -> Tensor:
    """Thresholds between which equally many values lie, and some below all of them."""
    ordered = values.double().sort().values
    below = max(1, int(SEE_ALL * count))
    places = torch.linspace(0, len(ordered) - 1, count - below, dtype=torch.float64)
    low = ordered[0] - PROBE * torch.arange(below, 0, -1) / below
    return torch.cat([low, ordered[places.long()]]).float()


def _plant_banks(body: Any, blocks: range, probe: Tensor, thresholds: Tensor) -> Banks:
    """Deal thresholds to the units of all blocks, one block after the other."""
    each = len(thresholds) // len(blocks)
    signs = torch.tensor([(-1.0) ** place.bit_count() for place in range(each)])
    for block, own in zip(blocks, thresholds.reshape(-1, each), strict=True):
        layer = body.h[block]
        layer.ln_2.weight[FREE] = 0.0
        layer.mlp.c_fc.weight.copy_(probe[:, None].expand(-1, each))
        layer.mlp.c_fc.bias.copy_(-own)
        layer.mlp.c_proj.weight[:, FREE] = WRITES * signs
    names = tuple(f"transformer.h.{block}.mlp.c_fc" for block in blocks)
    return Banks(names, probe, thresholds, signs.repeat(len(blocks)))
