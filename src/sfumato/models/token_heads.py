"""Networks with a head for the label of every token: new ones, and those of a folder.

The labels are BIO for some types (``text.tagging``). Types are public and never taken from the
data. A network says its labels in its configuration, as every program of this kind expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import InvalidArgument
from sfumato.core.pretrained import read_network
from sfumato.text.tagging import OUTSIDE, bio, types_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_HEAD = "ForTokenClassification"


def build_tagger(
    name: str, architecture: Any, tokenizer: Any, types: Sequence[str]
) -> tuple[PreTrainedModel, tuple[str, ...]]:
    """A new network of a built-in architecture, and its labels."""
    if not hasattr(architecture, "build_tagger"):
        raise InvalidArgument(
            f"{name} has no head for the labels of tokens; for a tagger take bert-small, "
            "gpt-small, a folder or a name on the hub"
        )
    labels = _new_labels(types)
    network = architecture.build_tagger(tokenizer, len(labels))
    _name(network, labels)
    return network, labels


def read_tagger(
    folder: Path, config: Any, types: Sequence[str]
) -> tuple[PreTrainedModel, tuple[str, ...], tuple[str, ...]]:
    """A network of a folder, its labels, and the weights that were drawn as it has none."""
    labels = _own_labels(folder, config, types) if has_tagging_head(config) else _new_labels(types)
    network, missing = read_network(f"AutoModel{_HEAD}", folder, "a tagger", classes=len(labels))
    _name(network, labels)
    return network, labels, tuple(missing)


def has_tagging_head(config: Any) -> bool:
    """Whether a folder with this configuration holds a tagger."""
    return any(name.endswith(_HEAD) for name in config.architectures or ())


def _new_labels(types: Sequence[str]) -> tuple[str, ...]:
    if not types or not all(types) or OUTSIDE in types or len(set(types)) != len(types):
        raise InvalidArgument(
            "a tagger with a new head needs the names of the types that it finds, all different, "
            "such as PERSON and PLACE; they are public, so they are not taken from the data"
        )
    return bio(types)


def _own_labels(folder: Path, config: Any, types: Sequence[str]) -> tuple[str, ...]:
    labels = tuple(config.id2label[place] for place in sorted(config.id2label))
    try:
        known = types_of(labels)
    except InvalidArgument as error:
        raise InvalidArgument(f"the tagger in {folder}: {error}") from None
    if types and set(types) != set(known):
        raise InvalidArgument(
            f"the tagger in {folder} finds {', '.join(known)}, and not {', '.join(types)}"
        )
    return labels


def _name(network: Any, labels: tuple[str, ...]) -> None:
    network.config.id2label = dict(enumerate(labels))
    network.config.label2id = {name: place for place, name in enumerate(labels)}
