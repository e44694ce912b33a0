"""A model and its tokenizer: loaded or built from what a user typed, and saved again.

==================  ==============================================================
``lstm``            one recurrent layer, fresh weights
``gpt-small``       a small transformer in GPT-2's shape, fresh weights
``bert-small``      a small masked language model in BERT's shape, fresh weights
``bag-of-words``,   small classifiers with fresh weights, no language models
``cnn``, ``bilstm``
``t5-small-from-    a small encoder and decoder in T5's shape, fresh weights
scratch``
a folder            any Hugging Face causal or masked language model, model of
                    encoder and decoder, sequence classifier or tagger
a name on the hub   the same, fetched first
==================  ==============================================================

Weights are float32 whatever the type they are stored in: sums of clipped gradients are compared
with a bound, and noise is added to them, so they must not be rounded to half precision.

A name on the hub becomes a folder first (fetched, or found in the local cache); everything after
that works on the folder alone. Only the name of the model leaves the machine, and no code that
comes with a model is ever run.

Initial weights are drawn from a stream that is passed in, not from torch's global one. A model is
saved in Hugging Face's format: safetensors, configuration and tokenizer in one folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.catalog import entries
from sfumato.core.checks import extra, one_of
from sfumato.core.errors import (
    BadInput,
    InvalidArgument,
    OutputExists,
    StorageFailed,
)
from sfumato.core.pretrained import quiet, read_config, read_network
from sfumato.core.randomness import Randomness
from sfumato.core.settings import configure
from sfumato.models.bpe import default_tokenizer
from sfumato.models.hub import folder_of
from sfumato.models.kinds import (
    KINDS,
    ONLY_CLASSIFIERS,
    TAGGER,
    objective_of,
    only_classifies,
    read_text_network,
)
from sfumato.models.name import check_model, is_built_in
from sfumato.models.places import places_to_read, places_to_write
from sfumato.models.pooling import check_pooling, choose_pooling, set_pooling
from sfumato.models.provenance import write_provenance
from sfumato.models.token_heads import build_tagger, has_tagging_head, read_tagger
from sfumato.models.tokenizer import Tokenizer, has_tokenizer, load_tokenizer
from sfumato.statistics.class_tree import ClassTree

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# The setting of a saved classifier that says what separates the parts of its classes.
SEPARATOR = "sfumato_class_separator"
# The context of a network that states none.
CONTEXT = 256
_PROBE = 8


class Architecture(Protocol):
    """Settings of a network; the vocabulary comes from the tokenizer.

    If its language model is not a causal one, the class says so by ``kind`` (``models.kinds``).
    """

    def build(self, tokenizer: Tokenizer, classes: int | None) -> PreTrainedModel:
        """A network with fresh weights: a language model, or a classifier with ``classes``."""
        ...


@contextmanager
def draw_weights_from(randomness: Randomness) -> Iterator[None]:
    """Within this block, torch draws from ``randomness``; afterwards its own stream continues.

    Initial weights are public: they hold nothing of the data, and no guarantee depends on them.
    """
    import torch

    seed = int(randomness.integers(2**62, 1)[0])
    with torch.random.fork_rng(devices=[]):
        # Of this stream alone: ``torch.manual_seed`` also notes a seed for every kind of device,
        # with the stack of its caller, and keeps those notes for as long as the process lives.
        torch.default_generator.manual_seed(seed)
        yield


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A network, the tokenizer that belongs to it, and the most tokens a row may have.

    ``classes`` are the names of a classifier's classes in the order of its outputs. ``new`` are the
    names of weights that its folder lacked and that were drawn; ``fixed`` those of modules that
    stay in evaluation mode, because nothing in them is trained. ``tags`` are a tagger's labels in
    the order of its outputs (``text.tagging``). With a ``separator`` classes are paths in a tree.
    ``pooling`` is what the head reads
    of a text (``models.pooling``), if that was chosen. ``objective`` is what a language model was
    trained to predict, if that is not what is usual for its ``kind``.
    """

    network: PreTrainedModel
    tokenizer: Tokenizer
    context: int
    classes: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    pooling: str = ""
    kind: str = "causal"
    objective: str = ""
    tags: tuple[str, ...] = ()
    separator: str = ""

    @property
    def tree(self) -> ClassTree | None:
        """The tree of a classifier's classes, if they are paths in one."""
        return ClassTree(self.classes, self.separator) if self.separator else None

    def begin_training(self) -> Any:
        """The network in training mode, but for what is fixed."""
        network: Any = self.network.train()
        for name in self.fixed:
            network.get_submodule(name).eval()
        return network


def load_model(  # noqa: PLR0913  # what is loaded, and how it is read
    spec: str,
    *,
    randomness: Randomness,
    kind: str = "causal",
    classes: Sequence[str] = (),
    tokenizer: Tokenizer | None = None,
    settings: Mapping[str, object] | None = None,
    pooling: str | None = None,
) -> LoadedModel:
    """Build or load a model of a ``kind``; ``settings`` are those of a built-in one.

    ``classes`` names the classes of a classifier with a new head, or the types that a tagger with a
    new head finds, and ``pooling`` what a classifier's head reads of a text; by default what the
    folder of an encoder says, else what is usual for it. A tokenizer may be given for a model from
    scratch, or for a folder that has none.
    """
    one_of("kind", kind, KINDS)
    if kind not in ("classifier", TAGGER) and classes:
        raise InvalidArgument("classes are for kind='classifier'; a language model has none")
    check_pooling(pooling, kind)
    if len(set(classes)) != len(classes):
        named = "the types of a tagger" if kind == TAGGER else "classes"
        raise InvalidArgument(f"{named} must differ from each other")
    extra("transformers", needed_for="a model", extra="train")
    check_model(spec, settings or {})
    with quiet(), draw_weights_from(randomness):
        if is_built_in(spec):
            built = _build(spec, kind, tuple(classes), tokenizer, settings or {})
            return built if pooling is None else _pooled(built, pooling)
        return _from_folder(folder_of(spec), kind, tuple(classes), tokenizer, pooling)


def _pooled(model: LoadedModel, pooling: str) -> LoadedModel:
    set_pooling(model.network, pooling)
    return replace(model, pooling=pooling)


def _build(
    name: str,
    kind: str,
    classes: tuple[str, ...],
    tokenizer: Tokenizer | None,
    settings: Mapping[str, object],
) -> LoadedModel:
    component = entries("models")[name].load()
    architecture: Architecture = configure(component, settings)
    own = getattr(component, "kind", "causal")
    tokenizer = tokenizer or default_tokenizer()
    if own == "classifier" != kind:
        raise InvalidArgument(only_classifies(name))
    if kind == TAGGER:
        network, tags = build_tagger(name, architecture, tokenizer, classes)
        return LoadedModel(network, tokenizer, context_of(network, tokenizer), kind=kind, tags=tags)
    if kind == "classifier":
        _require_classes(classes)
    elif kind != own:
        raise InvalidArgument(f"{name} is a model of kind {own!r}, not {kind!r}")
    network = architecture.build(tokenizer, len(classes) if kind == "classifier" else None)
    slice_losses(network)
    _name_classes(network, classes)
    return LoadedModel(network, tokenizer, context_of(network, tokenizer), classes, kind=kind)


def _from_folder(
    folder: Path,
    kind: str,
    classes: tuple[str, ...],
    tokenizer: Tokenizer | None,
    pooling: str | None,
) -> LoadedModel:
    from sfumato.models.adapters import restore_adapters

    register_own()
    config = read_config(folder)
    if tokenizer is None or has_tokenizer(folder):
        if tokenizer is not None:
            raise InvalidArgument(
                f"the model in {folder} has a tokenizer of its own; its weights are useless "
                "with another one"
            )
        tokenizer = load_tokenizer(folder)
    new: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    if kind != "classifier" and config.model_type in ONLY_CLASSIFIERS:
        raise InvalidArgument(only_classifies(f"the model in {folder}"))
    if kind != TAGGER and has_tagging_head(config):
        raise InvalidArgument(
            f"the model in {folder} is a tagger, which labels tokens; take a model with another "
            "head, or the one that the tagger was made of"
        )
    if kind == TAGGER:
        network, tags, new = read_tagger(folder, config, classes)
        classes = ()
    elif kind == "classifier":
        network, classes, new = _classifier(folder, config, classes)
        network.config.pad_token_id = tokenizer.padding
    else:
        network = _causal(folder) if kind == "causal" else read_text_network(folder, kind)
        slice_losses(network)
    rows = len(network.get_input_embeddings().weight)  # type: ignore[arg-type]
    if tokenizer.size > rows:
        raise InvalidArgument(
            f"the tokenizer has {tokenizer.size} tokens, but the model in {folder} has "
            f"embeddings for {rows}"
        )
    restore_adapters(network, folder)
    read = ""
    if kind == "classifier":
        read = choose_pooling(network, folder, pooling, trained=_has_trained_head(config))
    context = context_of(network, tokenizer)
    trained_for = "" if kind in ("classifier", TAGGER) else objective_of(network)
    return LoadedModel(
        network,
        tokenizer,
        context,
        classes,
        new,
        pooling=read,
        kind=kind,
        objective=trained_for,
        tags=tags,
        separator=str(getattr(network.config, SEPARATOR, "")) if classes else "",
    )


def mark_separator(model: LoadedModel, separator: str) -> LoadedModel:
    """The classifier, whose classes are paths in a tree; it says so also when it is saved."""
    marked = replace(model, separator=separator)
    if marked.tree is not None:  # an error if they are none
        setattr(model.network.config, SEPARATOR, separator)
    return marked


def slice_losses(network: PreTrainedModel) -> None:
    """Let GPT-2 and T5 compute losses in slices; they return what their output layer does."""
    from torch import nn
    from transformers import GPT2LMHeadModel, T5ForConditionalGeneration

    from sfumato.models.output_layer import OutputLayer

    # Other networks may do something with the scores afterwards, such as capping them.
    known = (GPT2LMHeadModel, T5ForConditionalGeneration)
    if isinstance(network, known) and type(network) in known and type(network.lm_head) is nn.Linear:
        sliced = OutputLayer(1, 1, bias=False)
        sliced.in_features, sliced.out_features = (
            network.lm_head.in_features,
            network.lm_head.out_features,
        )
        sliced.weight = network.lm_head.weight  # the same tensor: it stays tied to the embedding
        network.lm_head = sliced


def register_own() -> None:
    """Register our own networks with Hugging Face's Auto classes."""
    from transformers import (
        AutoConfig,
        AutoModelForCausalLM,
        AutoModelForSequenceClassification,
    )

    from sfumato.models.bag_network import BagForSequenceClassification
    from sfumato.models.bilstm_network import BiLstmForSequenceClassification
    from sfumato.models.cnn_network import CnnForSequenceClassification
    from sfumato.models.encoder_classifier import (
        EncoderForSequenceClassification,
    )
    from sfumato.models.lstm_network import LstmConfig, LstmForCausalLM

    AutoConfig.register(LstmConfig.model_type, LstmConfig, exist_ok=True)
    AutoModelForCausalLM.register(LstmConfig, LstmForCausalLM, exist_ok=True)
    for network in (
        BagForSequenceClassification,
        BiLstmForSequenceClassification,
        CnnForSequenceClassification,
        EncoderForSequenceClassification,
    ):
        config: Any = network.config_class
        AutoConfig.register(config.model_type, config, exist_ok=True)
        AutoModelForSequenceClassification.register(config, network, exist_ok=True)


def _causal(folder: Path) -> PreTrainedModel:
    network, missing = read_network(
        "AutoModelForCausalLM", folder, "a causal language model", adapters=True
    )
    if missing:
        raise BadInput(
            f"{folder} is not a complete language model: it has no weights for {', '.join(missing)}"
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
) -> tuple[PreTrainedModel, tuple[str, ...], tuple[str, ...]]:
    """The network, its classes, and the weights that were drawn because the folder has none."""
    if _has_trained_head(config):
        classes = _check_agreement(classes, tuple(config.id2label.values()), folder)
    else:
        _require_classes(classes)
    from sfumato.models.encoder_classifier import OF_T5, EncoderClassifierConfig

    # Of a T5 the encoder is taken; a classifier that somebody trained on all of it stays as it is.
    encoder_only = config.model_type == OF_T5 and not _has_trained_head(config)
    network, missing = read_network(
        "AutoModelForSequenceClassification",
        folder,
        "a classifier",
        classes=len(classes),
        # An encoder alone has lost the layers that adapters of its decoder stand beside.
        adapters=not encoder_only,
        as_kind=EncoderClassifierConfig.of if encoder_only else None,
    )
    _name_classes(network, classes)
    return network, classes, tuple(missing)


def _has_trained_head(config: Any) -> bool:
    return any(name.endswith("ForSequenceClassification") for name in config.architectures or ())


def _check_agreement(
    given: tuple[str, ...], trained: tuple[str, ...], folder: Path
) -> tuple[str, ...]:
    """The classes of a trained head, under the given names if they fit."""
    unnamed = all(name == f"LABEL_{place}" for place, name in enumerate(trained))
    if not given or set(given) == set(trained):
        return trained
    if unnamed and len(given) == len(trained):
        return given
    raise InvalidArgument(
        f"the classifier in {folder} has {len(trained)} classes ({', '.join(trained)}), "
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


def save_model(model: LoadedModel, folder: Path) -> None:
    """Write the model; low-rank factors are merged, so the folder needs no other model.

    Adapters cannot be; they stand in a file of their own beside the weights (``models.adapters``).

    The folder appears only when it is complete.
    """
    if folder.exists():
        raise OutputExists(f"{folder} exists already")
    if not folder.parent.is_dir():
        raise StorageFailed(f"cannot write {folder}: there is no folder {folder.parent}")
    from sfumato.models.adapters import save_adapters, without_adapters
    from sfumato.models.lora import is_adapted, merge_adapter

    network: Any = model.network
    if is_adapted(network):
        network = merge_adapter(network)
    beside = folder.with_name(folder.name + ".unfinished")
    try:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        with quiet():
            network.save_pretrained(beside, state_dict=without_adapters(network))
            save_adapters(network, beside)
            model.tokenizer.backend.save_pretrained(beside)
        if model.tokenizer.guarantee is not None:
            write_provenance(model.tokenizer.guarantee, beside)
        beside.replace(folder)
    except OSError as error:
        problem = error.strerror or "writing failed"
        raise StorageFailed(f"cannot write {folder}: {problem}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def context_of(model: PreTrainedModel, tokenizer: Tokenizer) -> int:
    """The most tokens a row may have; of an encoder and a decoder, as read and as written."""
    config: Any = model.config
    if getattr(config, "is_encoder_decoder", False):
        read = getattr(config, "context", None) or places_to_read(model, CONTEXT)
        written = places_to_write(model) or read
        return int(min(read, written, tokenizer.backend.model_max_length))
    named = getattr(config, "context", None) or getattr(config, "max_position_embeddings", None)
    if named is None:
        return CONTEXT
    # RoBERTa and similar models number positions from after the padding index.
    skipped = (
        module.padding_idx + 1
        for name, module in model.named_modules()
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None
    )
    return int(min(named - next(skipped, 0), tokenizer.backend.model_max_length))


def is_causal(model: PreTrainedModel) -> bool:
    """Whether predictions do not depend on later tokens.

    This is tested, not looked up: an encoder can be loaded with a causal head, and then it sees the
    token that it should predict.
    """
    import torch

    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            tokens = torch.arange(_PROBE).remainder(model.config.vocab_size)[None]
            changed = tokens.clone()
            changed[0, -1] = (changed[0, -1] + 1) % model.config.vocab_size
            before, after = (model(input_ids=one).logits[0, :-1] for one in (tokens, changed))
    finally:
        model.train(was_training)
    if before.isnan().any():
        raise BadInput("the model gives no finite numbers; its training may have diverged")
    return bool((before - after).abs().max() <= 1e-6 * before.abs().max())
