"""How many tokens a transformer can read: the places that its tables of positions have.

A configuration names the rows of such a table (``max_position_embeddings``). Models of RoBERTa's
kind begin to count after the number of their padding token, so the first rows are never used and
fewer tokens fit than there are rows. A text that is too long must be cut, and never fail: whether
a run fails would tell how long a text is.
"""

from __future__ import annotations

from typing import Any

_NAMES = ("max_position_embeddings", "max_encoder_position_embeddings", "n_positions")
_OF_DECODERS = ("max_decoder_position_embeddings", "max_position_embeddings")
_TABLE = "position_embeddings"


def places_to_read(network: Any, default: int) -> int:
    """The most tokens of a text that a network reads; ``default`` if nothing says so."""
    named = _first(network.config, _NAMES) or default
    return max(1, min([named, *_usable_rows(network)]))


def places_to_write(network: Any) -> int | None:
    """The most tokens that the decoder of an encoder-decoder model reads; None without a limit."""
    return _first(network.config, _OF_DECODERS)


def _first(config: Any, names: tuple[str, ...]) -> int | None:
    found = (getattr(config, name, None) for name in names)
    return next((int(one) for one in found if one), None)


def _usable_rows(network: Any) -> list[int]:
    """For each table of positions, its rows without those before the first that is used."""
    found = []
    for name, module in network.named_modules():
        rows = getattr(module, "num_embeddings", None)
        if name.rpartition(".")[2] == _TABLE and rows:
            padding = getattr(module, "padding_idx", None)
            found.append(int(rows) if padding is None else int(rows) - int(padding) - 1)
    return found
