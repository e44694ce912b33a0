"""Let a language model write a document anew, each token drawn at a temperature.

Guarantee
    Any two documents are told apart by a factor of at most exp(ε), up to a probability of δ, with
    the ε that ``least_level`` proves for ``tokens`` draws of range R = window/temperature among the
    V public tokens. Without a ``delta`` that is tokens·e(R, V).

Why it holds
    The model reads the document (after a public prompt) and what it has written so far, and nothing
    else. Each token is drawn by the law of ``token_law.py``, whose scores lie in a window of width
    R whatever was read; the draws are right in proportion (``draw.py``). They are ``tokens`` draws,
    each of which may depend on those before it: a ``BoundedRange`` release. The end of a text is a
    token like any other, and after it nothing is drawn for the document: fewer draws cost no more,
    so a short output tells nothing beyond the level. How many tokens there may be is public, and
    not taken from the document.

    Documents share no draw. With ``batch=1`` each is read by itself. In a larger batch the last
    digits of its scores depend on the others, which the guarantee then names. A model for which
    more than digits would, or that keeps something of what it has read, is refused as far as that
    is known or shows in a trial with public rows (``models.row_independence``).

Care
    A level of several hundreds proves nothing that anybody would call private: it is what this
    method costs, and is printed with what it keeps. The probability of the best token is at most
    e^R/(e^R + V − 1), so a range below ln V writes noise whatever the model; a smaller
    ``vocabulary`` helps. That must be public, and chosen without looking at the text: which tokens
    it has shows in every output. Top-k, top-p and beams take the support from the document and are
    refused, and so are penalties for repetition, which leave the window.

Reference
    Mattern, Weggenmann and Kerschbaum 2022, "The limits of word level differential privacy";
    Utpala, Hooker and Chen 2023, "Locally differentially private document generation using zero
    shot prompting" (DP-Prompt), whose published code samples without clipping, and so proves
    nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.arrays import Floats, Points
from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rewriting.by_tokens import ByTokens, readable
from sfumato.mechanisms.rewriting.token_law import OnTokens, few_tokens
from sfumato.mechanisms.rows import log_normalized
from sfumato.models.row_independence import refuse_coupled_rows
from sfumato.models.writing import Writer, load_writer
from sfumato.policies.identity import Identity

PROMPT = "Document: {}\nParaphrase of the document:"
BATCH_LEAK = (
    "the last digits of a document's scores, which depend on the documents that are read in a "
    "batch with it"
)
_NOT_COPIED = ("writer", "law")
# The shape of the trial that a model must pass; here, that of a batch follows its documents.
_TRIAL_ROWS, _TRIAL_WIDTH = 8, 32
# Each takes what may be written from what was read, or moves scores out of their window.
_REFUSED = {
    "top_k": "keeps the k best tokens of each document and makes all others impossible",
    "top_p": "keeps the best tokens of each document and makes all others impossible",
    "min_p": "makes tokens impossible that are unlikely for the document",
    "beams": "keeps the best of several texts, and so is no draw at all",
    "repetition_penalty": "moves scores out of their window",
}


@dataclass(frozen=True, kw_only=True)
class Temperature(ByTokens):
    """Write each document anew with the language model in the folder ``model``.

    ``window`` is the width to which scores are cut, ``temperature`` what they are divided by, and
    ``tokens`` the most tokens of an output, all public. Give ``epsilon`` in the place of
    ``window``, and the window is as wide as the level allows. ``prompt`` is what the model reads,
    {} being the document; special tokens in it (of a chat, say) count as such, in a document never.
    ``vocabulary`` is a file of public text: its ``vocabulary_size`` most frequent tokens, all of
    them if that is not given, are the tokens that may be written. ``batch`` documents are read at
    once.
    """

    prompt: str = field(default=PROMPT, repr=False)
    batch: int = 1
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    beams: int | None = None
    repetition_penalty: float | None = None

    def __post_init__(self) -> None:
        self._refuse_supports()
        super().__post_init__()
        at_least("batch", self.batch, 1)
        if self.prompt.count("{}") != 1:
            raise InvalidArgument("prompt must hold {} once, where the document stands")

    def _refuse_supports(self) -> None:
        for name, reason in _REFUSED.items():
            if getattr(self, name) is not None:
                raise InvalidArgument(
                    f"{name} {reason}: nothing could be proven any more; leave it out. A public "
                    "vocabulary, `settings={'vocabulary': FILE}`, does no such harm"
                )

    @cached_property
    def writer(self) -> Writer:
        """The model, loaded at the first use."""
        found = _writer(self.model)
        refuse_coupled_rows(found, rows=min(self.batch, _TRIAL_ROWS), width=_TRIAL_WIDTH)
        return found

    @property
    def scoring(self) -> Writer:
        """The model that writes."""
        return self.writer

    def guarantee(self) -> Guarantee:
        """The level of one document."""
        stated = super().guarantee()
        return stated.leaking(BATCH_LEAK) if self.batch > 1 else stated

    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:
        """One new text for each document, with draws of its own."""
        streams = [randomness.stream(place) for place in range(len(documents))]
        written: list[str] = []
        for start in range(0, len(documents), self.batch):
            some = slice(start, start + self.batch)
            written += self._written(documents[some], streams[some])
        return written

    def log_chances(self, document: str, texts: Sequence[str]) -> Floats:
        """The log-probability of each text as what this document becomes.

        A text is cut into tokens anew, which need not be those that were drawn; a token that is
        none of the public ones counts as the unlikeliest. So this is the law up to spelling.
        """
        tokenizer = self.writer.tokenizer
        row = self._row(tokenizer.encode(document).tolist())
        places = {int(token): place for place, token in enumerate(self.law.tokens)}
        end = [] if tokenizer.end is None else [tokenizer.end]
        wanted = [[*one.tolist(), *end][: self.tokens] for one in tokenizer.encode_many(texts)]
        found = np.zeros(len(texts))
        state = self.writer.begin([row] * len(texts))
        for step in range(max(map(len, wanted), default=0)):
            logs = log_normalized(self.law.logs(state.scores))
            following = [one[step] if step < len(one) else tokenizer.padding for one in wanted]
            for place, token in enumerate(following):
                if step < len(wanted[place]):
                    known = places.get(token)
                    row_of = logs[place]
                    found[place] += row_of.min() if known is None else row_of[known]
            state.step(following)
        return found

    def points(self) -> tuple[PointMechanism, ...]:
        """The law over a few public tokens, each a document, as a mechanism on points."""
        few = few_tokens(self.law)
        rows = [self._row([int(one)]) for one in few.tokens] + [self._row([])]
        scores = np.vstack([self.writer.begin([row]).scores for row in rows])
        names = tuple(repr(self.writer.tokenizer.decode([one])) for one in few.tokens.tolist())
        return (OnTokens(law=few, model=self.writer.name, names=names, scores=scores),)

    def public_facts(self) -> dict[str, Any]:
        """What may be told of the model, its prompt and its tokens: they are public."""
        prompt = "default" if self.prompt == PROMPT else "another one"
        return {**super().public_facts(), "prompt": prompt}

    def refuse_told(self, told: Mapping[str, Any]) -> None:
        """Refuse another model, prompt or tokens than those that a side file tells of."""
        self._refuse_model(told)
        if (self.prompt == PROMPT) != (told.get("prompt") == "default"):
            raise BadInput(
                "the model read another prompt; name that one, `settings={'prompt': TEXT}`, or "
                "leave it out if it was the default"
            )
        self._refuse_tokens(told)

    def identity(self) -> Identity:
        """All that decides how it draws; the model, its prompt and its tokens are public."""
        numbers = (self.law.window, self.temperature, self.tokens, self.delta, self.batch)
        decides = (self.prompt, self.writer.digest, self.tokens_digest)
        return Identity((type(self).__qualname__, tuple(map(float, numbers)), decides))

    def __getstate__(self) -> dict[str, Any]:
        # A model is large: whoever gets a copy reads it again.
        return {name: value for name, value in vars(self).items() if name not in _NOT_COPIED}

    def _written(self, documents: Sequence[str], streams: Sequence[Randomness]) -> list[str]:
        tokenizer = self.writer.tokenizer
        encoded = [one.tolist() for one in tokenizer.encode_many(list(documents))]
        state = self.writer.begin([self._row(one) for one in encoded])
        said: list[list[int]] = [[] for _ in documents]
        ended = [False] * len(documents)
        for step in range(self.tokens):
            for place, stream in enumerate(streams):
                if ended[place]:
                    continue
                token = int(self.law.draw(state.scores[place], stream)[0])
                ended[place] = token == tokenizer.end
                if not ended[place]:
                    said[place].append(token)
            if all(ended) or step == self.tokens - 1:
                break
            # Rows that have ended read on, for nobody.
            state.step([row[-1] if row else tokenizer.padding for row in said])
        return [readable(tokenizer.decode(one)) for one in said]

    def _row(self, document: Sequence[int]) -> list[int]:
        """What the model reads: the prompt, with as much of the document as there is room for."""
        tokenizer = self.writer.tokenizer
        before, after = map(tokenizer.encode_public, self.prompt.split("{}", maxsplit=1))
        if self.writer.reads_apart:
            first, last = tokenizer.frame
            before, after = [*first, *before], [*after, *last]
            room = self.writer.context - len(before) - len(after)
        else:
            if tokenizer.begin is not None and before[:1] != [tokenizer.begin]:
                before = [tokenizer.begin, *before]
            room = self.writer.context - len(before) - len(after) - self.tokens
        if room < 1:
            raise InvalidArgument(
                f"the prompt and {self.tokens} tokens leave no room for a document in the "
                f"{self.writer.context} tokens that the model reads; give fewer of both"
            )
        return [*before, *document[:room], *after] or [tokenizer.padding]

    def _needs(self) -> str:
        return "a language model is needed that writes"

    def _also(self) -> int | None:
        return self.writer.tokenizer.end

    def _scope(self) -> str:
        count = len(self.law.tokens)
        return (
            f"every document, written anew in at most {self.tokens:,} tokens of {count:,} public "
            "ones"
        )

    def _refuse_unfit(self, allowed: Points) -> None:
        """Refuse a model that cannot write so much, or gives no numbers for the prompt alone."""
        if self.tokens > self.writer.longest:
            raise InvalidArgument(
                f"tokens={self.tokens:,} is more than the {self.writer.longest:,} that the decoder "
                "of this model has places for; give that or less"
            )
        if not np.isfinite(self.writer.begin([self._row([])]).scores[0, allowed]).all():
            raise BadInput(
                f"the model {self.writer.name} gives scores that are not finite, for the prompt "
                "alone; is it a whole model?"
            )


@lru_cache(maxsize=1)
def _writer(folder: str) -> Writer:
    return load_writer(Path(folder))
