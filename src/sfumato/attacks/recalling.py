"""Cut documents into what an attacker knows and what they want, and ask a model for the latter.

The greedy answer of a model equals the hidden tokens exactly if each of them is the likeliest one
after the true ones before it, so one forward pass over question and answer decides. The pass also
gives the probability p of the answer: n sampled answers contain it with probability 1 − (1 − p)^n,
so nothing has to be sampled. Only near misses need the greedy answer itself.

How a model is asked
    As it was trained. A causal one goes on after what is known. One that fills in spans reads what
    is known with a sentinel in the place of what is hidden, and answers after this sentinel; where
    a decoder writes, it is the decoder that does. A masked one reads a mask in each hidden place,
    and answers all of them at once: there p is the product over places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done
from sfumato.core.checks import one_of
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.metrics.reconstruction import longest_common
from sfumato.models.sentinels import sentinels_of
from sfumato.models.tokenizer import Tokenizer
from sfumato.text.document import Document

if TYPE_CHECKING:
    import torch

    from sfumato.models.load import LoadedModel

PREFIX, SPAN = "prefix", "span"
WAYS = (PREFIX, SPAN)
TOKENS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class Cutting:
    """The lengths of what is known and what is wanted, in tokens; at most ``most`` documents.

    ``by`` a prefix, what is wanted follows what is known; by a span, it stands in the middle.
    """

    prefix: int
    suffix: int
    most: int
    by: str = PREFIX

    def __post_init__(self) -> None:
        one_of("by", self.by, WAYS)

    @property
    def before(self) -> int:
        """How many known tokens stand before what is wanted."""
        return self.prefix if self.by == PREFIX else (self.prefix + 1) // 2

    @property
    def length(self) -> int:
        """Of the whole window."""
        return self.prefix + self.suffix


@dataclass(frozen=True, eq=False)
class Windows:
    """The first tokens of different documents, one row each, and how many documents share them.

    ``rarity`` is, for each row, the mean over its wanted tokens of −ln of the share of documents
    that hold the token. ``every`` are all beginnings, also those that are not tried.
    """

    tokens: NDArray[np.int64]
    copies: NDArray[np.int64]
    rarity: NDArray[np.float64]
    cutting: Cutting
    too_short: int
    every: frozenset[bytes] = frozenset()

    def __len__(self) -> int:
        return len(self.tokens)

    def only(self, chosen: NDArray[np.bool_]) -> Windows:
        """Some of the rows."""
        return replace(
            self,
            tokens=self.tokens[chosen],
            copies=self.copies[chosen],
            rarity=self.rarity[chosen],
        )

    @property
    def wanted(self) -> NDArray[np.int64]:
        """The tokens that the attacker wants."""
        before = self.cutting.before
        return self.tokens[:, before : before + self.cutting.suffix]

    @property
    def known(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Those before and after them."""
        before = self.cutting.before
        return self.tokens[:, :before], self.tokens[:, before + self.cutting.suffix :]


def cut(
    documents: Sequence[Document], tokenizer: Tokenizer, cutting: Cutting, randomness: Randomness
) -> Windows:
    """The beginnings of the documents that are long enough; a random sample if there are many."""
    rows = tokenizer.encode_many([document.text for document in documents])
    long_enough = [row[: cutting.length] for row in rows if len(row) >= cutting.length]
    # Documents that begin alike are one case with several copies.
    counts = Counter(row.astype(np.int64).tobytes() for row in long_enough)
    if not counts:
        raise BadInput(
            f"none of the {len(documents):,} documents has {cutting.length} tokens; take shorter "
            "parts, such as `settings={'prefix': 10, 'suffix': 10}`"
        )
    kept = list(counts)
    if len(kept) > cutting.most:
        kept = [kept[place] for place in randomness.choose(len(kept), cutting.most).tolist()]
    tokens = np.stack([np.frombuffer(one, dtype=np.int64) for one in kept])
    wanted = tokens[:, cutting.before : cutting.before + cutting.suffix]
    return Windows(
        tokens=tokens,
        copies=np.array([counts[one] for one in kept], dtype=np.int64),
        rarity=_rarity(rows, wanted),
        cutting=cutting,
        too_short=len(rows) - len(long_enough),
        every=frozenset(counts),
    )


def _rarity(rows: Sequence[NDArray[Any]], wanted: NDArray[np.int64]) -> NDArray[np.float64]:
    held = Counter(token for row in rows for token in np.unique(row).tolist())
    numbers, places = np.unique(wanted, return_inverse=True)
    shares = np.array([held[int(token)] / len(rows) for token in numbers])
    found: NDArray[np.float64] = -np.log(shares)[places.reshape(wanted.shape)].mean(1)
    return found


@dataclass(frozen=True, eq=False)
class Recalled:
    """For each window: whether the answer was reproduced, the share that was, and its ln p."""

    exact: NDArray[np.bool_]
    alike: NDArray[np.float64]
    log_probability: NDArray[np.float64]

    def within(self, tries: int) -> NDArray[np.float64]:
        """The probability of each answer to be among so many sampled ones."""
        # 1 − (1 − p)^n, without loss of digits for a small p; p = 1 gives 1.
        with np.errstate(divide="ignore"):
            missed = np.log1p(-np.exp(np.minimum(self.log_probability, 0.0)))
            chances: NDArray[np.float64] = -np.expm1(tries * missed)
        return chances


@dataclass(frozen=True, eq=False)
class _Asked:
    """What a model is given, and where its answer stands.

    ``read`` is for an encoder, if there is one; after ``given`` the answer follows. If all of it is
    answered ``at_once``, that is where the masks are in what is given.
    """

    given: NDArray[np.int64]
    read: NDArray[np.int64] | None = None
    at_once: slice | None = None

    def places(self, wanted: int) -> int:
        """The most places of one side."""
        written = int(self.given.shape[1]) + (0 if self.at_once else wanted)
        return max(written, 0 if self.read is None else int(self.read.shape[1]))


def check_room(model: LoadedModel, cutting: Cutting) -> None:
    """Refuse what a model cannot be asked, or what is too long for it."""
    empty = Windows(
        tokens=np.zeros((1, cutting.length), dtype=np.int64),
        copies=np.ones(1, dtype=np.int64),
        rarity=np.zeros(1),
        cutting=cutting,
        too_short=0,
    )
    needed = _ask(model, empty).places(cutting.suffix)
    if needed > model.context:
        own = needed - (cutting.prefix + cutting.suffix)
        raise InvalidArgument(
            f"prefix={cutting.prefix} and suffix={cutting.suffix} do not fit into the model's "
            f"context of {model.context - max(0, own)} tokens; set them lower"
        )


def recall(model: LoadedModel, windows: Windows, done: Done | None = None) -> Recalled:
    """Measure a model on the hidden tokens of every window."""
    asked, wanted = _ask(model, windows), windows.wanted
    at_once = max(1, TOKENS_AT_ONCE // windows.tokens.shape[1])
    parts: list[tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]] = []
    model.network.eval()
    for first in range(0, len(windows), at_once):
        some = slice(first, first + at_once)
        read = None if asked.read is None else asked.read[some]
        part = _Asked(asked.given[some], read, asked.at_once)
        parts.append(_of_some(model, part, wanted[some]))
        if done:
            done(min(first + at_once, len(windows)), len(windows))
    exact, alike, logs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Recalled(exact, alike, logs)


def _ask(model: LoadedModel, windows: Windows) -> _Asked:
    """What the model is given, as it was trained."""
    from sfumato.models.generate import decoder_start
    from sfumato.training.objectives import choose_objective

    objective = choose_objective(model.objective or None, model.kind)
    name = "" if objective is None else objective.name
    before, after = windows.known
    tokenizer, rows = model.tokenizer, len(windows)

    def always(*tokens: int | None) -> NDArray[np.int64]:
        given = [one for one in tokens if one is not None]
        return np.tile(np.array(given, dtype=np.int64), (rows, 1))

    def framed(*parts: NDArray[np.int64]) -> NDArray[np.int64]:
        first, last = tokenizer.frame
        return np.concatenate([always(*first), *parts, always(*last)], axis=1)

    if name == "masked":
        masks = always(*[tokenizer.backend.mask_token_id] * windows.cutting.suffix)
        start = len(tokenizer.frame[0]) + before.shape[1]
        answers = slice(start, start + windows.cutting.suffix)
        return _Asked(framed(before, masks, after), at_once=answers)
    if name == "spans":
        sentinel = always(sentinels_of(tokenizer)[0])
        if model.kind == "seq2seq":
            start = always(decoder_start(model.network, tokenizer))
            return _Asked(np.concatenate([start, sentinel], 1), framed(before, sentinel, after))
        begin, end = always(tokenizer.begin), always(tokenizer.end)
        return _Asked(np.concatenate([begin, before, sentinel, after, end, sentinel], 1))
    if windows.cutting.by == SPAN:
        raise InvalidArgument(
            "by='span' asks for tokens in the middle, and this model was trained to go on after a "
            "text; take `settings={'by': 'prefix'}`"
        )
    if model.kind == "seq2seq":
        return _Asked(always(decoder_start(model.network, tokenizer)), framed(before))
    return _Asked(np.concatenate([always(tokenizer.begin), before], 1))


def _of_some(
    model: LoadedModel, asked: _Asked, wanted: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    import torch

    answers = torch.from_numpy(np.ascontiguousarray(wanted))
    network: Any = model.network
    with torch.no_grad():
        logits, go_on = _read(network, asked, answers)
        logits = logits[..., : model.tokenizer.size]
        logs = logits.double().log_softmax(2).gather(2, answers[:, :, None])[:, :, 0].sum(1)
        if logs.isnan().any():
            raise BadInput("the model gives no finite numbers; its training may have diverged")
        exact = (logits.argmax(2) == answers).all(1)
        alike = np.ones(len(answers))
        missed = (~exact).nonzero()[:, 0]
        if len(missed):
            said = logits[missed].argmax(2) if go_on is None else go_on(model, missed)
            alike[missed.numpy()] = [
                longest_common(one.tolist(), other.tolist()) / len(other)
                for one, other in zip(said, answers[missed], strict=True)
            ]
    return exact.numpy(), alike, logs.numpy()


GoOn = Callable[["LoadedModel", "torch.Tensor"], "torch.Tensor"]


def _read(network: Any, asked: _Asked, answers: torch.Tensor) -> tuple[torch.Tensor, GoOn | None]:
    """The scores at the places of the answers, and how to write the greedy ones of some rows."""
    import torch

    from sfumato.models.generate import greedy_answers, greedy_tokens

    given, count = torch.from_numpy(asked.given), answers.shape[1]
    if asked.at_once is not None:
        everything = torch.ones_like(given)
        return network(input_ids=given, attention_mask=everything).logits[:, asked.at_once], None
    row = torch.cat([given, answers], 1)[:, :-1]
    if asked.read is None:
        logits = network(input_ids=row).logits[:, -count:]
        return logits, lambda model, some: greedy_tokens(model, given[some], count)
    read = torch.from_numpy(np.ascontiguousarray(asked.read))
    logits = network(input_ids=read, decoder_input_ids=row, use_cache=False).logits[:, -count:]
    return logits, lambda model, some: greedy_answers(model, read[some], given[some], count)
