"""Token numbers that a network can read: those that its table of embeddings has rows for.

Guarantee
    A tokenizer that was fitted to a network gives no text a number that the network has no row for,
    so no text makes a run fail, or be spared, by a token in it.

Why it holds
    Some folders have tokens that were added to the tokenizer and never to the weights: that is so
    even for ordinary models, with a token for pictures, or for padding. Looking such a number up is
    an error, and whether it comes up would tell what a private text says. So it is read as the
    unknown token, or as padding where there is none; its text is as good as unknown to the network.

Care
    Public text is another matter: a prompt with such a token is refused, and so is a model whose
    mask is one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfumato.models.tokenizer import Tokenizer


def fit_tokenizer(tokenizer: Tokenizer, network: Any) -> Tokenizer:
    """The tokenizer, which from here on gives numbers that the network has rows for."""
    return replace(tokenizer, rows=embedding_rows(network))


def embedding_rows(network: Any) -> int | None:
    """How many numbers a network has embeddings for; None if nothing says so."""
    try:
        table = network.get_input_embeddings()
    except NotImplementedError:
        table = None
    weights = getattr(table, "weight", None)
    if weights is not None:
        return len(weights)
    stated = getattr(network.config, "vocab_size", None)
    return None if stated is None else int(stated)
