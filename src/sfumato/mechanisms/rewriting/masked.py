"""Draw every token of a document anew, by what a masked language model expects at its place.

Guarantee
    Any two documents are told apart by a factor of at most exp(ε), up to a probability of δ, with
    the ε that ``least_level`` proves for ``tokens`` draws of range R = window/temperature among the
    V public outcomes. Without a ``delta`` that is tokens·e(R, V). Nothing else shows, not even how
    long a document is.

Why it holds
    Every document has exactly ``tokens`` places: what is longer is cut, and what is shorter has
    empty places behind its end. At each place one of V public outcomes is drawn: a token, or
    nothing at all. Where a token stood, the model's scores decide that it gives for the document
    with this place masked, and nothing counts as the least; at an empty place nothing counts as the
    best and every token as the least. In both cases scores are recentred and cut to a window of
    width R (``token_law.py``), whatever the document is, and draws are right in proportion
    (``draw.py``). That is a ``BoundedRange`` release of ``tokens`` draws. *All* places are charged,
    though two documents may differ in one word only: that word is read at every other place.

    The new text is spelled from what was drawn, by the tokenizer alone. No token comes back as it
    was because it is frequent, a sign or a part of a word, because it was cut off or is unknown to
    the model; and letters are as large as those that were drawn. The model reads all places of one
    document together, and no two documents.

Care
    As for ``temperature``: a range below ln V writes noise whatever the model, a level of hundreds
    is what the method costs, and the ``vocabulary`` must be public. The model sees the words around
    a place as they were, so at such levels much of a text can be read off its new one. Draws at
    different places do not know of each other: a text is less fluent than one that is written from
    left to right.

Reference
    Meisenbacher, Chevli, Vladika and Matthes 2024, "DP-MLM: Differentially private text rewriting
    using masked language models". Its published code leaves stop words, signs and words whose mask
    was cut off as they are, and copies capitals (``verify --exhibit kept-stop-words``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.arrays import Floats, Points
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rewriting.by_tokens import ByTokens, readable
from sfumato.mechanisms.rewriting.token_law import OnTokens, few_tokens
from sfumato.mechanisms.rows import log_normalized
from sfumato.models.filling import Filler, load_filler
from sfumato.policies.identity import Identity

_NOT_COPIED = ("filler", "law")


@dataclass(frozen=True, kw_only=True)
class Masked(ByTokens):
    """Draw each token anew with the masked language model in the folder ``model``.

    ``tokens`` is how many places every document has: what is longer is cut. ``window`` is the width
    to which scores are cut, ``temperature`` what they are divided by, all public. Give ``epsilon``
    in the place of ``window``, and the window is as wide as the level allows. ``vocabulary`` is a
    file of public text: its ``vocabulary_size`` most frequent tokens, all of them if that is not
    given, are the tokens that may be written.
    """

    @cached_property
    def filler(self) -> Filler:
        """The model, loaded at the first use."""
        return _filler(self.model)

    @property
    def scoring(self) -> Filler:
        """The model that is asked."""
        return self.filler

    @property
    def nothing(self) -> int:
        """The number by which nothing is drawn: that of the mask, which is never written."""
        return self.filler.mask

    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        """One new text for each document, with draws of its own."""
        return [self._written(one, randomness.stream(place)) for place, one in enumerate(documents)]

    def log_chances(self, document: str, texts: Sequence[str]) -> Floats:
        """The log-probability of each text as what this document becomes.

        It is summed over all ways in which the tokens of a text can stand among places at which
        nothing was drawn. A text is cut into tokens anew, which need not be those that were drawn;
        a token that is none of the public ones counts as the unlikeliest. So this is the law up to
        spelling.
        """
        logs = log_normalized(self.law.logs(self._scores(self._read(document))))
        column = {int(token): place for place, token in enumerate(self.law.tokens)}
        wanted = [self._read(one) for one in texts]
        width = max(map(len, wanted), default=0)
        places = np.full((len(texts), width), -1)
        for row, tokens in enumerate(wanted):
            places[row, : len(tokens)] = [column.get(one, -1) for one in tokens]
        # Entry j of a row: that the places so far have said the first j tokens of the text.
        said = np.full((len(texts), width + 1), -np.inf)
        said[:, 0] = 0.0
        for row in logs:
            chances = np.where(places < 0, row.min(), row[places])
            spoken = said[:, :-1] + chances
            said += row[column[self.nothing]]
            said[:, 1:] = np.logaddexp(said[:, 1:], spoken)
        found: Floats = said[np.arange(len(texts)), [len(one) for one in wanted]]
        return found

    def points(self) -> tuple[PointMechanism, ...]:
        """The law at the first place of a few public documents, as a mechanism on points."""
        few = few_tokens(self.law, self.nothing)
        # A token twice: the first is masked, and the second is read. One token stands alone.
        texts = [[one] if one == self.nothing else [one, one] for one in few.tokens.tolist()]
        alone = next(one for one in few.tokens.tolist() if one != self.nothing)
        rows = [[alone] if one == [self.nothing] else one for one in texts] + [[]]
        scores = np.vstack([self._scores(row)[:1] for row in rows])
        decode = self.filler.tokenizer.decode
        names = [
            "nothing" if one == self.nothing else repr(decode([one])) for one in few.tokens.tolist()
        ]
        return (OnTokens(law=few, model=self.filler.name, names=tuple(names), scores=scores),)

    def identity(self) -> Identity:
        """All that decides how it draws; the model and its tokens are public."""
        numbers = (self.law.window, self.temperature, self.tokens, self.delta)
        decides = (self.filler.digest, self.tokens_digest)
        return Identity((type(self).__qualname__, tuple(map(float, numbers)), decides))

    def __getstate__(self) -> dict[str, Any]:
        # A model is large: whoever gets a copy reads it again.
        return {name: value for name, value in vars(self).items() if name not in _NOT_COPIED}

    def _written(self, document: str, randomness: Randomness) -> str:
        scores = self._scores(self._read(document))
        drawn = [int(self.law.draw(row, randomness)[0]) for row in scores]
        # Only what was drawn goes on from here: spelling never learns the document.
        return readable(self.filler.tokenizer.decode([one for one in drawn if one != self.nothing]))

    def _read(self, text: str) -> list[int]:
        """The tokens of a text that have a place."""
        return [int(one) for one in self.filler.tokenizer.encode(text)[: self.tokens]]

    def _scores(self, tokens: Sequence[int]) -> Floats:
        """Scores at every place of a document; a token is least where nothing stood, and v. v."""
        found = self.filler.score_places(tokens)
        found[:, self.nothing] = -np.inf
        empty = np.full((self.tokens - len(tokens), found.shape[1]), -np.inf)
        empty[:, self.nothing] = 0.0
        return np.vstack([found, empty])

    def _needs(self) -> str:
        return "a masked language model is needed, such as BERT"

    def _also(self) -> int | None:
        return self.nothing

    def _scope(self) -> str:
        count = len(self.law.tokens)
        return (
            f"every document, cut or filled up to {self.tokens:,} places, at each of which one of "
            f"{count:,} public outcomes is drawn"
        )

    def _refuse_unfit(self, allowed: Points) -> None:
        """Refuse a model that cannot read so much, or gives no numbers for public tokens."""
        before, after = self.filler.tokenizer.frame
        room = self.filler.context - len(before) - len(after)
        if self.tokens > room:
            raise InvalidArgument(
                f"tokens={self.tokens:,} is more than the {room:,} that this model can read; give "
                "that or less"
            )
        if self.nothing not in allowed:
            raise BadInput(f"the model {self.filler.name} has no score for its own mask")
        told = allowed[allowed != self.nothing]
        # As many tokens as a document may have: whether that fails must not depend on a document.
        longest = [int(told[0])] * self.tokens
        if not np.isfinite(self.filler.score_places(longest, [0])[:, told]).all():
            raise BadInput(
                f"the model {self.filler.name} gives scores that are not finite, for a row of one "
                "public token; is it a whole model?"
            )


@lru_cache(maxsize=1)
def _filler(folder: str) -> Filler:
    return load_filler(Path(folder))
