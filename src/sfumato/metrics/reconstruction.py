"""Scores of a reconstructed text against its reference.

=================  =====================================================================
``rouge_n``        runs of n words in common, as precision, recall and F1
``rouge_l``        the longest common subsequence of words, as precision, recall and F1
``common_share``   that subsequence over the longer text, which some papers call ROUGE-L
``jaccard``        words in both among words in either, as sets (both empty: 1)
``token_accuracy`` the share of the reference's tokens that are at the same position
``meteor``         words in common, including stems and synonyms, with a penalty for order
=================  =====================================================================

An empty reconstruction scores 0 against anything but an empty reference. Special tokens that a
model adds are not part of a text: ``without_special`` removes them first. A batch that was
reconstructed in unknown order is matched with its references by ``assign_best`` before it is
scored.

Reference
    Lin 2004, "ROUGE" (ROUGE-N and ROUGE-L with words cut at everything but letters and digits,
    lower-cased, not stemmed; the same numbers as the ``rouge-score`` package gives). For METEOR,
    Banerjee and Lavie 2005, as NLTK computes it.

Care
    Synonyms for METEOR come from WordNet, which is data and not part of a package. Without it the
    score would be another one under the same name, so an error is raised that says where WordNet is
    looked for. NLTK stems the words that differ before it asks WordNet, so synonyms whose stem is
    not a word ("automobile" becomes "automobil") are not found, and the score is a little too low.
    NLTK also refuses a data folder that other accounts may write to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import at_least, extra
from sfumato.core.errors import BadInput, MissingModel
from sfumato.text.words import Words

_SEPARATORS = re.compile(r"[^a-z0-9]+")

CompareTexts = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def rouge_n(reconstruction: str, reference: str, length: int) -> Overlap:
    """ROUGE-N of one text against another, for runs of ``length`` words.

    Two texts that have no run of that length are compared as a whole.

    >>> round(rouge_n("the cat lay on a mat", "The cat sat on the mat.", 1).f1, 3)
    0.667
    >>> round(rouge_n("the cat lay on a mat", "The cat sat on the mat.", 2).f1, 3)
    0.2
    """
    at_least("length", length, 1)
    found, wanted = (
        Counter(zip(*(words[start:] for start in range(length)), strict=False))
        for words in (_words(reconstruction), _words(reference))
    )
    if not found and not wanted:
        both = float(_words(reconstruction) == _words(reference))
        return Overlap(both, both, both)
    return _overlap((found & wanted).total(), found.total(), wanted.total())


def rouge_l(reconstruction: str, reference: str) -> Overlap:
    """ROUGE-L of one text against another.

    >>> rouge_l("the cat lay on a mat", "The cat sat on the mat.").f1
    0.6666666666666666
    """
    found, wanted = _words(reconstruction), _words(reference)
    return _overlap(longest_common(found, wanted), len(found), len(wanted))


def common_share(reconstruction: str, reference: str) -> float:
    """The longest common subsequence over the length of the longer text.

    >>> common_share("the cat lay on a mat and purred", "The cat sat on the mat.")
    0.5
    """
    found, wanted = _words(reconstruction), _words(reference)
    if not found and not wanted:
        return 1.0
    return longest_common(found, wanted) / max(len(found), len(wanted))


def longest_common(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The length of the longest common subsequence, by rapidfuzz's bit-parallel algorithm."""
    extra("rapidfuzz", needed_for="ROUGE-L", extra="attack")
    from rapidfuzz.distance import LCSseq

    return int(LCSseq.similarity(first, second))


def jaccard(reconstruction: str, reference: str) -> float:
    """The overlap of the sets of words.

    >>> jaccard("a b c", "b c d"), jaccard("", ""), jaccard("", "a")
    (0.5, 1.0, 0.0)
    """
    found, wanted = set(_words(reconstruction)), set(_words(reference))
    either = found | wanted
    return len(found & wanted) / len(either) if either else 1.0


def token_accuracy(reconstruction: Sequence[int], reference: Sequence[int]) -> float:
    """The share of the reference's tokens that are at the same position.

    >>> token_accuracy([5, 7, 9], [5, 8, 9, 2])
    0.5
    """
    if not len(reference):
        return float(not len(reconstruction))
    right = sum(one == other for one, other in zip(reconstruction, reference, strict=False))
    return right / len(reference)


def without_special(tokens: Iterable[int], special: Iterable[int]) -> list[int]:
    """Tokens without special ones, such as padding and the end of a document."""
    left_out = set(special)
    return [int(token) for token in tokens if int(token) not in left_out]


def assign_best(
    reconstructions: Sequence[str], references: Sequence[str], score: CompareTexts | None = None
) -> list[str]:
    """The reconstructions in the order of the references that maximizes the sum of scores.

    The order of the rows of a reconstructed batch is unknown. A reference without a reconstruction
    gets an empty one. ``score`` defaults to the F1 of ROUGE-L.

    >>> assign_best(["a dog ran"], ["it rained", "the dog ran"])
    ['', 'a dog ran']
    """
    if len(reconstructions) > len(references):
        raise BadInput(
            f"there are {len(reconstructions)} reconstructions for {len(references)} references; "
            "there must not be more"
        )
    by = score or (lambda one, other: rouge_l(one, other).f1)
    table = [[by(one, other) for other in references] for one in reconstructions]
    chosen = assign_rows(np.array(table).reshape(len(reconstructions), len(references)))
    return ["" if place is None else reconstructions[place] for place in chosen]


def assign_rows(scores: NDArray[np.float64]) -> list[int | None]:
    """For each column one of the rows, all different, such that the sum of scores is largest.

    >>> assign_rows(np.array([[0.2, 0.9, 0.1]]))
    [None, 0, None]
    """
    extra("scipy", needed_for="putting a batch in order", extra="attack")
    from scipy.optimize import linear_sum_assignment

    chosen: list[int | None] = [None] * scores.shape[1]
    for row, column in zip(*linear_sum_assignment(scores, maximize=True), strict=True):
        chosen[column] = int(row)
    return chosen


def _words(text: str) -> list[str]:
    return [word for word in _SEPARATORS.split(text.lower()) if word]


def _overlap(common: int, found: int, wanted: int) -> Overlap:
    """Of so many in common; two empty texts are equal."""
    if not found or not wanted:
        both = float(found == wanted)
        return Overlap(both, both, both)
    precision, recall = common / found, common / wanted
    return Overlap(precision, recall, _harmonic(precision, recall))


def _harmonic(precision: float, recall: float) -> float:
    together = precision + recall
    return 2 * precision * recall / together if together else 0.0


def meteor(reconstruction: str, reference: str) -> float:
    """METEOR of one text against another, between 0 and 1."""
    wordnet = require_wordnet()
    from nltk.translate.meteor_score import single_meteor_score

    found = [word.lower() for word in Words.of(reconstruction)]
    wanted = [word.lower() for word in Words.of(reference)]
    if not found or not wanted:
        return float(not found and not wanted)
    return float(single_meteor_score(wanted, found, wordnet=wordnet))


def require_wordnet() -> Any:
    """WordNet, or an error that says how to get it."""
    extra("nltk", needed_for="METEOR", extra="attack")
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        # The library's message is a page long.
        pass
    else:
        return wordnet
    raise MissingModel(
        "METEOR needs WordNet, which was not found: set NLTK_DATA to a folder that holds "
        "corpora/wordnet.zip and that nobody else may write to (python -m nltk.downloader wordnet "
        "fetches it); ROUGE-L and Jaccard need no data"
    )
