"""The tokens that a model reads around every text: an attacker knows them, nobody scores them."""

from __future__ import annotations

from sfumato.models.load import LoadedModel

Frame = tuple[tuple[int, ...], tuple[int, ...]]
"""The tokens before a text, and those after it."""


def frame_of(model: LoadedModel) -> Frame:
    """What is read before and after a text; the end that a language model predicts is not read."""
    if model.classes:
        return model.tokenizer.frame
    begin = model.tokenizer.begin
    return (() if begin is None else (begin,)), ()


def text_places(model: LoadedModel, length: int) -> range:
    """Where the text stands in a row of so many tokens."""
    before, after = frame_of(model)
    return range(len(before), max(len(before), length - len(after)))
