"""Kinds of networks, and of which kind a network is.

==============  ===========================================================================
``causal``      a language model that reads from left to right
``masked``      an encoder that predicts tokens at masked places (BERT)
``seq2seq``     an encoder that reads and a decoder that writes (T5, BART)
``classifier``  a network with a head for classes
``tagger``      a network with a head for the label of every token
==============  ===========================================================================

``read_text_network`` loads the second and the third from a folder, and tests that a decoder does
not see the token it should predict, and that an encoder sees both sides of a place.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.catalog import entries
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.json import read_object
from sfumato.core.pretrained import read_network
from sfumato.models.hub import folder_of
from sfumato.models.name import is_built_in

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CAUSAL, CLASSIFIER, MASKED, SEQ2SEQ = "causal", "classifier", "masked", "seq2seq"
TAGGER = "tagger"
KINDS = (CAUSAL, CLASSIFIER, MASKED, SEQ2SEQ, TAGGER)
# The setting of a saved network that says what it was trained to predict.
OBJECTIVE = "training_objective"
# Types of our own networks that have no other head.
ONLY_CLASSIFIERS = (
    "sfumato-bag-of-words",
    "sfumato-bilstm",
    "sfumato-cnn",
    "sfumato-t5-classifier",
)
_PROBE = 8
_AUTOMATIC = {
    SEQ2SEQ: ("AutoModelForSeq2SeqLM", "a model of encoder and decoder"),
    MASKED: ("AutoModelForMaskedLM", "a masked language model"),
}


def kind_of(spec: str) -> str:
    """The kind of a model, by the catalog or by its configuration; nothing is loaded.

    A network that could be either is a language model; only some of our own are never one.
    """
    if is_built_in(spec):
        return str(getattr(entries("models")[spec].load(), "kind", CAUSAL))
    return kind_in(folder_of(spec))


def kind_in(folder: Path) -> str:
    """The kind of a language model in a folder."""
    path = folder / "config.json"
    if not path.is_file():
        return CAUSAL  # whoever loads it says what is wrong
    config = read_object(path, "a configuration")
    named = config.get("architectures") or []
    heads = [str(one) for one in named] if isinstance(named, list) else []
    if config.get("model_type") in ONLY_CLASSIFIERS:
        return CLASSIFIER
    if config.get("is_encoder_decoder") is True:
        return SEQ2SEQ
    return MASKED if any(one.endswith("ForMaskedLM") for one in heads) else CAUSAL


def only_classifies(what: str) -> str:
    """What to say to somebody who wants to train a classifier, or read it, as a language model."""
    return (
        f"{what} is a classifier and predicts no words; give the labels that it shall tell apart, "
        "`classes=...`, or take lstm or gpt-small as a language model"
    )


def read_text_network(folder: Path, kind: str) -> PreTrainedModel:
    """A complete network of encoder and decoder, or a masked one."""
    automatic, what = _AUTOMATIC[kind]
    network, missing = read_network(automatic, folder, what, adapters=True)
    if missing:
        raise BadInput(
            f"{folder} is not {what} that is complete: it has no weights for {', '.join(missing)}"
        )
    probed = _decoder_looks_ahead if kind == SEQ2SEQ else _encoder_looks_back_only
    problem = probed(network)
    if problem:
        raise InvalidArgument(f"the model in {folder} {problem}")
    loaded: PreTrainedModel = network
    return loaded


def objective_of(network: Any) -> str:
    """What a saved network says that it was trained to predict; empty if it says nothing."""
    found = getattr(network.config, OBJECTIVE, "")
    return found if isinstance(found, str) else ""


def _decoder_looks_ahead(network: Any) -> str:
    tokens, changed = _probes(network)
    before, after = (
        _scores(network, input_ids=tokens, decoder_input_ids=one)[:-1] for one in (tokens, changed)
    )
    moved = bool((before - after).abs().max() > 1e-6 * before.abs().max())
    return "has a decoder that sees the words it should predict" if moved else ""


def _encoder_looks_back_only(network: Any) -> str:
    tokens, changed = _probes(network)
    before, after = (_scores(network, input_ids=one)[:-1] for one in (tokens, changed))
    moved = bool((before != after).any())
    return "" if moved else "does not see what follows a masked word; train it as a causal one"


def _probes(network: Any) -> tuple[Any, Any]:
    """A few tokens, and the same with another one at the end."""
    import torch

    size = network.config.vocab_size
    tokens = torch.arange(1, _PROBE + 1).remainder(size)[None]
    changed = tokens.clone()
    changed[0, -1] = (changed[0, -1] + 1) % size
    return tokens, changed


def _scores(network: Any, **inputs: Any) -> Any:
    import torch

    was_training = network.training
    network.eval()
    try:
        with torch.no_grad():
            found = network(**inputs).logits[0]
    finally:
        network.train(was_training)
    if found.isnan().any():
        raise BadInput("the model gives no finite numbers; its training may have diverged")
    return found
