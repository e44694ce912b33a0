"""A model and its tokenizer from what a user typed.

==================  ==============================================================
``lstm``            one recurrent layer, fresh weights
``gpt-small``       a small transformer in GPT-2's shape, fresh weights
a folder            any Hugging Face causal language model or sequence classifier
a name on the hub   the same, fetched first
==================  ==============================================================

Weights are float32 whatever the type they are stored in: sums of clipped gradients are compared
with a bound, and noise is added to them, so they must not be rounded to half precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.catalog import entries
from sfumato.core.checks import extra, one_of
from sfumato.core.config import configured
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.pretrained import read_config, read_network
from sfumato.core.randomness import Randomness
from sfumato.models.architecture import Architecture
from sfumato.models.hub import folder_of
from sfumato.models.initial import drawn_from
from sfumato.models.inspection import context_of, is_causal
from sfumato.models.naming import check_model, is_built_in
from sfumato.models.quiet import quiet
from sfumato.tokenizers.embedded import default_tokenizer
from sfumato.tokenizers.loading import has_tokenizer, load_tokenizer
from sfumato.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

KINDS = ("causal", "classifier")


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A network, the tokenizer that belongs to it, and the most tokens a row may have.

    ``classes`` are the names of a classifier's classes in the order of its outputs.
    """

    network: PreTrainedModel
    tokenizer: Tokenizer
    context: int
    classes: tuple[str, ...] = ()


def load_model(
    spec: str,
    *,
    randomness: Randomness,
    kind: str = "causal",
    classes: Sequence[str] = (),
    tokenizer: Tokenizer | None = None,
    settings: Mapping[str, object] | None = None,
) -> LoadedModel:
    """Build or load a model; ``settings`` are those of a built-in one.

    ``classes`` names the classes of a classifier with a new head. A tokenizer may be given for a
    model from scratch, or for a folder that has none.
    """
    one_of("kind", kind, KINDS)
    if kind == "causal" and classes:
        raise InvalidArgument("classes are for kind='classifier'; a language model has none")
    if len(set(classes)) != len(classes):
        raise InvalidArgument("classes must differ from each other")
    extra("transformers", needed_for="a model", extra="train")
    check_model(spec, settings or {})
    with quiet(), drawn_from(randomness):
        if is_built_in(spec):
            return _built(spec, kind, tuple(classes), tokenizer, settings or {})
        return _from_folder(folder_of(spec), kind, tuple(classes), tokenizer)


def _built(
    name: str,
    kind: str,
    classes: tuple[str, ...],
    tokenizer: Tokenizer | None,
    settings: Mapping[str, object],
) -> LoadedModel:
    component = entries("models")[name].load()
    architecture: Architecture = configured(component, settings)
    if kind == "classifier":
        _require_classes(classes)
    tokenizer = tokenizer or default_tokenizer()
    network = architecture.build(tokenizer, len(classes) if kind == "classifier" else None)
    _name_classes(network, classes)
    return LoadedModel(network, tokenizer, context_of(network, tokenizer), classes)


def _from_folder(
    folder: Path, kind: str, classes: tuple[str, ...], tokenizer: Tokenizer | None
) -> LoadedModel:
    register_own()
    config = read_config(folder)
    if tokenizer is None or has_tokenizer(folder):
        if tokenizer is not None:
            raise InvalidArgument(
                f"the model in {folder} has a tokenizer of its own; its weights mean nothing "
                "under another one"
            )
        tokenizer = load_tokenizer(folder)
    if kind == "causal":
        network = _causal(folder)
    else:
        network, classes = _classifier(folder, config, classes)
        network.config.pad_token_id = tokenizer.padding
    rows = len(network.get_input_embeddings().weight)  # type: ignore[arg-type]
    if tokenizer.size > rows:
        raise InvalidArgument(
            f"the tokenizer has {tokenizer.size} tokens, but the model in {folder} has "
            f"embeddings for {rows}"
        )
    return LoadedModel(network, tokenizer, context_of(network, tokenizer), classes)


def register_own() -> None:
    """Make our own kind of network known to Hugging Face's automatic classes."""
    from transformers import AutoConfig, AutoModelForCausalLM

    from sfumato.models.lstm_network import LstmConfig, LstmForCausalLM

    AutoConfig.register(LstmConfig.model_type, LstmConfig, exist_ok=True)
    AutoModelForCausalLM.register(LstmConfig, LstmForCausalLM, exist_ok=True)


def _causal(folder: Path) -> PreTrainedModel:
    network, missing = read_network("AutoModelForCausalLM", folder, "a causal language model")
    if missing:
        raise BadInput(
            f"{folder} is not a whole language model: it has no weights for {', '.join(missing)}"
        )
    if not is_causal(network):
        raise InvalidArgument(
            f"the model in {folder} sees the words it should predict (an encoder?); as a "
            "language model only causal ones are trained"
        )
    loaded: PreTrainedModel = network
    return loaded


def _classifier(
    folder: Path, config: Any, classes: tuple[str, ...]
) -> tuple[PreTrainedModel, tuple[str, ...]]:
    trained = any(name.endswith("ForSequenceClassification") for name in config.architectures or ())
    if trained:
        classes = _agreed(classes, tuple(config.id2label.values()), folder)
    else:
        _require_classes(classes)
    network, _ = read_network(
        "AutoModelForSequenceClassification", folder, "a classifier", classes=len(classes)
    )
    _name_classes(network, classes)
    return network, classes


def _agreed(given: tuple[str, ...], trained: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """The classes of a head that is already trained, under the names that were given."""
    unnamed = all(name == f"LABEL_{place}" for place, name in enumerate(trained))
    if not given or set(given) == set(trained):
        return trained
    if unnamed and len(given) == len(trained):
        return given
    raise InvalidArgument(
        f"the classifier in {folder} tells {len(trained)} classes apart ({', '.join(trained)}), "
        f"not {', '.join(given)}"
    )


def _require_classes(classes: tuple[str, ...]) -> None:
    if len(classes) < 2:
        raise InvalidArgument(
            f"a classifier with a new head needs the names of at least two classes, not "
            f"{len(classes)}; they are public, so they are not taken from the data"
        )


def _name_classes(network: PreTrainedModel, classes: tuple[str, ...]) -> None:
    if classes:
        network.config.id2label = dict(enumerate(classes))
        network.config.label2id = {name: place for place, name in enumerate(classes)}
