"""Small models, a tokenizer that joins digits, and scoring without any tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers

from sfumato.attacks.exposure.candidates import Frame, SecretSpace
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary, PlantedCanary
from sfumato.models.bpe import SPECIAL, as_tokenizer, assemble_tokenizer
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.tokenizer import Tokenizer

TEMPLATE = "My ID is {}."
FRAME = Frame(". ", TEMPLATE)
SECRET = "4821"
PLANTED_TIMES = 12

SIZES: dict[str, dict[str, object]] = {
    "lstm": {"embedding": 8, "hidden": 8, "context": 64},
    "gpt-small": {"layers": 2, "width": 16, "heads": 2, "context": 64},
}


@cache
def bytes_only() -> Tokenizer:
    """Every character is a token, so every digit is."""
    return as_tokenizer(assemble_tokenizer([]), name="bytes")


@cache
def joining() -> Tokenizer:
    """Digits are joined with each other, with the space before and with the full stop behind."""
    merges = [("1", "2"), ("12", "3"), ("4", "5"), ("Ġ", "1"), ("Ġ", "4"), ("9", "9"), ("7", ".")]
    vocabulary: dict[str, int] = {}
    joined = (left + right for left, right in merges)
    for token in (*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), *joined):
        vocabulary.setdefault(token, len(vocabulary))
    backend = Backend(models.BPE(vocab=vocabulary, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return as_tokenizer(backend, name="joining")


def tiny(kind: str, tokenizer: Tokenizer, *, double: bool = False) -> LoadedModel:
    """A model with random weights, larger ones than usual so that it has opinions."""
    model = load_model(
        kind, randomness=Randomness.reproducible(4), tokenizer=tokenizer, settings=SIZES[kind]
    )
    with torch.no_grad():
        for parameter in model.network.parameters():
            parameter.mul_(4.0)
    if double:
        model.network.double()
    return model


@cache
def overfitted() -> LoadedModel:
    """A recurrent model that has read one canary far too often, and another number now and then."""
    model = load_model(
        "lstm",
        randomness=Randomness.reproducible(5),
        tokenizer=bytes_only(),
        settings={"embedding": 16, "hidden": 32, "context": 64},
    )
    texts = [f"Fine. My ID is {SECRET}. Bye."] * PLANTED_TIMES
    texts += ["No. I have 77 of 90.", "Now. My ID is lost."]
    rows = [[0, *bytes_only().encode(text).tolist(), 0] for text in texts]
    width = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    optimizer = torch.optim.Adam(model.network.parameters(), lr=0.02)
    model.network.train()
    for _ in range(120):
        logits = model.network(input_ids=tokens[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model


def target(model: LoadedModel) -> ModelTarget:
    return ModelTarget(model, "tiny")


def canaries(*planted: tuple[str, int], template: str = TEMPLATE) -> tuple[PlantedCanary, ...]:
    return tuple(PlantedCanary(Canary(template, secret), times) for secret, times in planted)


def every_text(space: SecretSpace, frame: Frame = FRAME) -> list[str]:
    return [frame.text(space.secret(number)) for number in range(space.size)]


def one_by_one(
    model: LoadedModel, texts: Sequence[str], *, up_to: str | None = None, mean: bool = False
) -> NDArray[np.float64]:
    """−log2 p of each text, read as a whole; up to the last token before ``up_to``, if given.

    This knows nothing of trees, prefixes and states. ``mean`` divides by the number of tokens.
    """
    tokenizer = model.tokenizer
    assert tokenizer.begin is not None
    rows, ends = [], []
    for text in texts:
        rows.append([tokenizer.begin, *(int(token) for token in tokenizer.encode(text))])
        end = len(text) if up_to is None else text.rindex(up_to)
        ends.append(sum(start < end for start, _ in tokenizer.places(text)))
    found = np.empty(len(rows))
    model.network.eval()
    for length in sorted(set(map(len, rows))):
        some = [place for place, row in enumerate(rows) if len(row) == length]
        for start in range(0, len(some), 500):
            block = some[start : start + 500]
            tokens = torch.tensor([rows[place] for place in block])
            with torch.no_grad():
                logs = model.network(input_ids=tokens[:, :-1]).logits.log_softmax(2)
            chosen = logs.gather(2, tokens[:, 1:, None])[:, :, 0].double()
            for row, place in enumerate(block):
                total = -float(chosen[row, : ends[place]].sum()) / math.log(2)
                found[place] = total / ends[place] if mean else total
    return found
