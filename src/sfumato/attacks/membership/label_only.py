"""What an attacker learns who sees nothing but the label that a classifier gives.

A service may round its probabilities, or hide them. It still answers, and that is enough for two
signals.

- ``right``: whether the classifier gives a text its true label. A classifier that is right more
  often on its training texts than on others tells them apart by that alone; the advantage of this
  attacker is the gap between the two accuracies.
- ``share_kept``: how much a text can be changed until the classifier gives it another label. In
  altered copies a growing part of the words is deleted, or replaced by a word near it in public
  vectors; the share of the text and its copies that get the true label estimates how far the text
  is from where the answer changes. Training moves that border away from training texts.

Copy c of k alters a share c/(k + 1) of the words, the same share for every text, so that the shares
kept can be compared. Which words, and what becomes of them, is drawn; members and others alike.

Care
    A text without a word has no copies and gets a neutral score. Copies are as private as the text
    and are kept in memory only. Each takes a question to the classifier: k = 10 is ten times the
    cost of ``loss``.

Reference
    Yeom et al. 2018, "Privacy risk in machine learning", for the gap; Choquette-Choo et al. 2021,
    "Label-only membership inference attacks", for the distance and for altered copies; Li and Zhang
    2021, "Membership leakage in label-only exposures".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.attacks.attack import Done
from sfumato.attacks.membership.neighbors import near_words
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.space import Space

_GAPS = re.compile(r"[ \t]{2,}")


@dataclass(frozen=True, eq=False)
class Answers:
    """Whether each text gets its true label, and the share of it and its copies that do.

    A text without a word is NaN in both.
    """

    right: Floats
    kept: Floats | None = None


def ask(target: ModelTarget, documents: Sequence[Document], done: Done | None = None) -> Floats:
    """1 for each document that gets its true label, 0 for another; NaN for one without text."""
    from sfumato.training.evaluation import classify

    def tell(count: int) -> None:
        if done:
            done(count, len(documents))

    said = classify(target.model, documents, tell).documents
    return np.array([np.nan if one is None else float(one.truth == one.said) for one in said])


def ask_copies(
    target: ModelTarget,
    documents: Sequence[Document],
    copies: Sequence[Sequence[str]],
    done: Done | None = None,
) -> Floats:
    """The share of each document's copies that get its true label; NaN without a copy."""
    flat = [
        replace(one, text=text)
        for one, some in zip(documents, copies, strict=True)
        for text in some
    ]
    found = ask(target, flat, done) if flat else np.empty(0)
    ends = np.cumsum([len(some) for some in copies])[:-1]
    return np.array(
        [
            float(np.nan_to_num(part).mean()) if len(part) else np.nan
            for part in np.split(found, ends)
        ]
    )


def alter(
    texts: Sequence[str], space: Space, count: int, randomness: Randomness
) -> list[list[str]]:
    """``count`` copies of each text that has a word, the last ones altered most."""
    segmented = [Words.of(text) for text in texts]
    wanted = {word for words in segmented for word in words if _is_known(space, word)}
    near = near_words(sorted(wanted), space)
    shares = [(number + 1) / (count + 1) for number in range(count)]
    return [
        [_copy(words, share, near.get, randomness) for share in shares] if len(words) else []
        for words in segmented
    ]


def _is_known(space: Space, word: str) -> bool:
    return space.point_of(word) != space.unknown


def _copy(
    words: Words, share: float, near: Callable[[str], list[str] | None], randomness: Randomness
) -> str:
    """The text with that share of its words deleted or replaced; one word stays at least."""
    # A text of one word keeps it, but may have it replaced.
    altered = min(max(1, round(share * len(words))), max(1, len(words) - 1))
    places = randomness.choose(len(words), altered).tolist()
    drawn = randomness.uniform(2 * altered).reshape(2, -1).tolist()
    put = []
    for place, replaces, which in zip(places, *drawn, strict=True):
        choices = near(words[place]) or ()
        delete = replaces < 0.5 and len(words) > 1
        stays = words[place] if len(words) == 1 else ""
        put.append("" if delete else choices[int(which * len(choices))] if choices else stays)
    return _GAPS.sub(" ", words.replaced(places, put).text).strip()
