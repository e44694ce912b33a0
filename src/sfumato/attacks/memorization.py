"""Memorization: give a model the beginning of a training document, see whether it continues it.

The attacker holds the first tokens of a document (a letterhead, a salutation, the first line of a
record) and asks for the next ones. Three figures are measured: suffixes that are reproduced
exactly, those that are nearly so, and the probability that one is among a number of sampled
continuations. All are compared with a *twin* that was never trained on the text: what the twin
completes too is common language or a form letter, not memorized. Documents that begin alike are one
case with a number of copies, because repetition makes a model memorize.

How
    The beginning of each document is cut into a prefix, which the attacker knows, and a suffix,
    which they want. The greedy continuation equals the true suffix exactly if each true token is
    the likeliest one after the true tokens before it, so one forward pass over the window decides.
    The pass also gives the probability p of the suffix: n sampled continuations contain it with
    probability 1 − (1 − p)^n, so nothing has to be sampled. Only near misses need the greedy
    continuation itself.

Care
    Causal language models read from left to right, so only prefixes are tried; corrupted spans, as
    in encoder–decoder models, are not. Only the start of a document is tried; other parts may be
    memorized better or worse.

Reference
    Carlini et al. 2023, "Quantifying memorization across neural language models"; Ponomareva et al.
    2022, "Training text-to-text transformers with privacy guarantees"; Ippolito et al. 2023,
    "Preventing generation of verbatim memorization gives a false sense of privacy" (near misses);
    Hayes et al. 2024, "Measuring memorization through probabilistic discoverable extraction" (the
    probability among n samples).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done, Inputs, Needs
from sfumato.attacks.model_target import (
    ModelTarget,
    is_model,
    make_untrained_twin,
    not_a_model,
    open_model,
)
from sfumato.core.checks import at_least, between
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.metrics.reconstruction import longest_common
from sfumato.models.tokenizer import Tokenizer
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.shares import mean_share, paired_difference, share_of
from sfumato.text.document import Document

if TYPE_CHECKING:
    import torch

    from sfumato.models.load import LoadedModel

TOKENS_AT_ONCE = 4096
COPIES = ((1, 1), (2, 9), (10, None))
MOST_TRIES = 10**12
# Documents on which two tokenizers are compared.
TOKENIZED = 200


@dataclass(frozen=True, eq=False)
class Windows:
    """The first tokens of different documents, one row each, and how many documents share them."""

    tokens: NDArray[np.int64]
    copies: NDArray[np.int64]
    prefix: int
    too_short: int

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def suffixes(self) -> NDArray[np.int64]:
        """The tokens that the attacker wants."""
        return self.tokens[:, self.prefix :]


@dataclass(frozen=True, kw_only=True)
class Cutting:
    """The lengths of the two parts in tokens, and the largest number of documents."""

    prefix: int
    suffix: int
    most: int


def cut(
    documents: Sequence[Document], tokenizer: Tokenizer, cutting: Cutting, randomness: Randomness
) -> Windows:
    """The beginnings of the documents that are long enough; a random sample if there are many."""
    length = cutting.prefix + cutting.suffix
    rows = tokenizer.encode_many([document.text for document in documents])
    # Documents that begin alike are one case with several copies.
    counts = Counter(row[:length].astype(np.int64).tobytes() for row in rows if len(row) >= length)
    if not counts:
        raise BadInput(
            f"none of the {len(documents):,} documents has {length} tokens; take shorter parts, "
            "such as `settings={'prefix': 10, 'suffix': 10}`"
        )
    kept = list(counts)
    if len(kept) > cutting.most:
        kept = [kept[place] for place in randomness.choose(len(kept), cutting.most).tolist()]
    return Windows(
        tokens=np.stack([np.frombuffer(one, dtype=np.int64) for one in kept]),
        copies=np.array([counts[one] for one in kept], dtype=np.int64),
        prefix=cutting.prefix,
        too_short=sum(len(row) < length for row in rows),
    )


@dataclass(frozen=True, eq=False)
class Recalled:
    """For each window: whether the suffix was reproduced, the share that was, and its ln p."""

    exact: NDArray[np.bool_]
    alike: NDArray[np.float64]
    log_probability: NDArray[np.float64]

    def within(self, tries: int) -> NDArray[np.float64]:
        """The probability of each suffix to be among so many sampled continuations."""
        # 1 − (1 − p)^n, without loss of digits for a small p; p = 1 gives 1.
        with np.errstate(divide="ignore"):
            missed = np.log1p(-np.exp(np.minimum(self.log_probability, 0.0)))
            chances: NDArray[np.float64] = -np.expm1(tries * missed)
        return chances


def recall(model: LoadedModel, windows: Windows, done: Done | None = None) -> Recalled:
    """Measure a model on the suffix of every window."""
    import torch

    start = [] if model.tokenizer.begin is None else [model.tokenizer.begin]
    width = len(start) + windows.tokens.shape[1]
    at_once = max(1, TOKENS_AT_ONCE // width)
    parts: list[tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]] = []
    model.network.eval()
    for first in range(0, len(windows), at_once):
        some = torch.from_numpy(windows.tokens[first : first + at_once])
        begun = torch.cat([torch.tensor([start], dtype=torch.int64).repeat(len(some), 1), some], 1)
        parts.append(_of_some(model, begun, windows.tokens.shape[1] - windows.prefix))
        if done:
            done(min(first + at_once, len(windows)), len(windows))
    exact, alike, logs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Recalled(exact, alike, logs)


def _of_some(
    model: LoadedModel, rows: torch.Tensor, suffix: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    import torch

    from sfumato.models.generate import greedy_tokens

    wanted = rows[:, -suffix:]
    with torch.no_grad():
        logits = model.network(input_ids=rows[:, :-1]).logits[:, -suffix:, : model.tokenizer.size]
    logs = logits.double().log_softmax(2).gather(2, wanted[:, :, None])[:, :, 0].sum(1)
    if logs.isnan().any():
        raise BadInput("the model gives no finite numbers; its training may have diverged")
    exact = (logits.argmax(2) == wanted).all(1)
    alike = np.ones(len(rows))
    missed = (~exact).nonzero()[:, 0]
    if len(missed):
        said = greedy_tokens(model, rows[missed, :-suffix], suffix)
        alike[missed.numpy()] = [
            longest_common(one.tolist(), other.tolist()) / suffix
            for one, other in zip(said, wanted[missed], strict=True)
        ]
    return exact.numpy(), alike, logs.numpy()


@dataclass(frozen=True)
class TrainedOn:
    """The text that a model was trained on, and a model of the same kind that was not."""

    members: tuple[Document, ...]
    reference: ModelTarget | None = None


@dataclass(frozen=True, kw_only=True)
class Memorization:
    """Complete the beginnings of training documents.

    ``prefix`` tokens are given and ``suffix`` tokens wanted; ``near`` is the share of the suffix
    (as a common subsequence) that counts as a near match; ``tries`` is the number of sampled
    continuations; at most ``most`` different documents are tried.
    """

    name: ClassVar[str] = "memorization"
    target: ClassVar[str] = "model"
    needs: ClassVar[Needs] = Needs(inputs=("members", "references"))

    prefix: int = 50
    suffix: int = 50
    near: float = 0.8
    tries: int = 100
    most: int = 500

    def __post_init__(self) -> None:
        for name in ("prefix", "suffix", "tries", "most"):
            at_least(name, getattr(self, name), 1)
        between("tries", self.tries, 1, MOST_TRIES)
        between("near", self.near, 0.0, 1.0)

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a language model and its training text; None if nothing is."""
        lacking = not_a_model(inputs.target)
        if lacking is None and inputs.members is None:
            lacking = "`members=FILE` is missing, the text the model was trained on"
        # Only folders are accepted; a name would be searched for elsewhere.
        strange = [path for path in inputs.references[:1] if not is_model(path)]
        if lacking is None and strange:
            lacking = (
                f"the reference {strange[0]} is neither the folder of a run nor of a model; train "
                "one on other text: `sfumato.train(TEXT, RUN, epsilon=inf)`"
            )
        return lacking

    def opened(self, inputs: Inputs) -> tuple[ModelTarget, TrainedOn]:
        """The model, the documents, and the first of the references."""
        if inputs.members is None:
            raise InvalidArgument("members are missing")
        target = _causal(open_model(inputs.target))
        twin = _causal(open_model(inputs.references[0])) if inputs.references else None
        if twin is not None and twin.digest == target.digest:
            raise InvalidArgument(
                "the reference is the target itself, which was trained on the members"
            )
        return target, TrainedOn(tuple(inputs.documents(inputs.members)), twin)

    def score(
        self, target: ModelTarget, data: TrainedOn, randomness: Randomness, done: Done | None = None
    ) -> Scores:
        """How much of the documents is reproduced, compared with the twin."""
        with time_block() as watch:
            windows = self._windows(target, data, randomness.stream(0))
            mine = recall(target.model, windows, _half(done, 0))
            twin = data.reference or make_untrained_twin(target, randomness.stream(1))
            theirs = recall(twin.model, windows, _half(done, 1))
            scores = self._scores(windows, mine, theirs, data.reference)
        return watch.stamp(scores)

    def _windows(self, target: ModelTarget, data: TrainedOn, randomness: Randomness) -> Windows:
        asked = [target] if data.reference is None else [target, data.reference]
        room = min(one.model.context - (one.model.tokenizer.begin is not None) for one in asked)
        if self.prefix + self.suffix > room:
            raise InvalidArgument(
                f"prefix={self.prefix} and suffix={self.suffix} do not fit into the model's "
                f"context of {room} tokens; set them lower"
            )
        cutting = Cutting(prefix=self.prefix, suffix=self.suffix, most=self.most)
        if data.reference is not None:
            _same_tokens(target, data.reference, data.members)
        return cut(data.members, target.model.tokenizer, cutting, randomness)

    def _scores(
        self,
        windows: Windows,
        mine: Recalled,
        theirs: Recalled,
        reference: ModelTarget | None,
    ) -> Scores:
        figures, null = self._figures(mine), self._figures(theirs)
        above = paired_difference("exact above the twin", mine.exact, theirs.exact)
        return Scores(
            attack=self.name,
            knowledge=(
                f"The attacker holds the model and the first {self.prefix} tokens of training "
                f"documents, and wants the next {self.suffix}."
            ),
            figures=(*figures, above, *_by_copies(windows.copies, mine.exact)),
            chance={one.metric: one.value for one in null} | {above.metric: 0.0},
            control=Control(
                what="the twin, " + _kind(reference) + ", on the same documents", figures=null
            ),
            notes=self._notes(windows),
            details={
                "copies": windows.copies.tolist(),
                "exact": mine.exact.tolist(),
                "alike": mine.alike.tolist(),
                "log_probability": mine.log_probability.tolist(),
            },
        )

    def _figures(self, found: Recalled) -> tuple[Measured, ...]:
        return (
            share_of("exact", found.exact),
            share_of("near", found.alike >= self.near),
            mean_share(f"met in {self.tries} tries", found.within(self.tries)),
        )

    def _notes(self, windows: Windows) -> tuple[str, ...]:
        notes = [
            f"Near means that {self.near:.0%} of the suffix is reproduced in order; documents that "
            "begin alike are one case, with the number of its copies."
        ]
        if windows.too_short:
            notes.append(
                f"{windows.too_short:,} documents have fewer than {self.prefix + self.suffix} "
                "tokens and were left out."
            )
        return tuple(notes)


def _by_copies(copies: NDArray[np.int64], exact: NDArray[np.bool_]) -> list[Measured]:
    """The share by the number of copies of a document, if that varies."""
    found = []
    for low, high in COPIES:
        chosen = (copies >= low) & (copies <= (np.inf if high is None else high))
        name = f"{low}" if low == high else f"{low} or more" if high is None else f"{low} to {high}"
        if chosen.any() and not chosen.all():
            plural = "copy" if name == "1" else "copies"
            found.append(share_of(f"exact, {name} {plural}", exact[chosen]))
    return found


def _same_tokens(target: ModelTarget, reference: ModelTarget, members: Sequence[Document]) -> None:
    """Refuse a reference with another tokenizer."""
    texts = [document.text for document in members[:TOKENIZED]]
    mine, theirs = target.model.tokenizer, reference.model.tokenizer
    pairs = zip(mine.encode_many(texts), theirs.encode_many(texts), strict=True)
    if (mine.size, mine.begin) != (theirs.size, theirs.begin) or not all(
        np.array_equal(*pair) for pair in pairs
    ):
        raise InvalidArgument("the reference has another tokenizer than the model")


def _kind(reference: ModelTarget | None) -> str:
    return "the same network untrained" if reference is None else "the given reference"


def _causal(target: ModelTarget) -> ModelTarget:
    if target.model.classes:
        raise InvalidArgument(
            "a classifier generates no text; memorization is measured on language models, "
            "classifier-extraction on classifiers"
        )
    return target


def _half(done: Done | None, which: int) -> Done | None:
    if done is None:
        return None
    return lambda reached, whole: done(which * whole + reached, 2 * whole)
