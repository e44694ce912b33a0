"""Re-identification of rewritten documents: which original a new text was made from.

The attacker has all originals in random order and assigns to each rewritten document the one that
fits best. Nothing of the old text need stand in the new one for that: what a text is about may be
enough.

Figures
    ``re-identified by meaning``: the original whose vector has the largest cosine with that of the
    rewritten document, by a sentence encoder (``encoder``) or by public word vectors.
    ``re-identified by words``: by the words that both have in common, rare ones first, as
    ``matching`` does. ``re-identified by law``: with the public ``pool`` that sentences were drawn
    from, the probability of the rewritten document for each original is known, and the original
    with the largest one is taken: the guess of maximum likelihood, document by document. The same
    with the ``model`` that wrote the documents (and its ``prompt`` and ``vocabulary``, if it had
    any): there tokens are read off the text, so it is that guess up to spelling. That asks the
    model about every original, and one that writes from left to right about every document beside
    every original. Of texts that an autoencoder writes from a noisy vector the law is not known.
    ``re-identified by likelihood``: the same for a file of any mechanism, with a public language
    model (``reader``) that reads the original and then expects the rewritten document more or less;
    it is asked about every document beside every original.

    Whoever looks at one rewritten document alone is not right more often. Whoever looks at all of
    them may be: each original belongs to one of them, so what is taken by one is not left for
    another.

Control
    The same attack with rewritten documents that were assigned to other originals at random. Chance
    is one in the number of documents, n.

What a level proves
    With pure ε-DP for any two *documents*, and nothing else that shows: a guess from one rewritten
    document is right with probability e^ε/(e^ε + n − 1) at most, and any guess, from all of them,
    with e^2ε/(e^2ε + n − 1).

    First: let P_j be the law for original j. The best guess is right with Σ_y max_j P_j(y)/n. Where
    m is the largest of the n probabilities of y, the others are m·e^−ε at least, so their sum is
    m·(1 + (n − 1)·e^−ε) at least; summed over y it is n. Second: among all assignments, exchange
    the original of one document with that of another. Two factors of the probability change, each
    by e^ε at most, and the exchange maps assignments one to one: given all outputs, an original is
    at most e^2ε times as likely as each of the n − 1 others.

    Nothing of this follows where ε is that of a *sentence* (a document of k sentences has k·ε), nor
    where something shows beside it: how many sentences there are may tell every document, at a
    level of 0. Then no bound is printed.

Reference
    Mattern, Weggenmann and Kerschbaum 2022, "The limits of word level differential privacy", and
    Utpala, Hooker and Chen 2023, "Locally differentially private document generation using zero
    shot prompting", attack rewritten text by its author; here the unit is the document itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sfumato.accounting.events import LARGEST_RANGE
from sfumato.accounting.guessing import Level, most_guessed
from sfumato.attacks.attack import Done, Inputs, Needs
from sfumato.attacks.rewriting_laws import chances_of
from sfumato.attacks.stretches.matching import choose_documents, match, share_of_best
from sfumato.attacks.stretches.places import fold
from sfumato.attacks.text_target import (
    lacks_originals,
    read_side_file,
    refuse_other_originals,
    side_path,
)
from sfumato.catalog import entries
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.json import read_number
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead, settings_of
from sfumato.guarantees.guarantee import Notion
from sfumato.guarantees.wording import at_most
from sfumato.mechanisms.rewriting.by_tokens import MOST_TOKENS, ByTokens
from sfumato.mechanisms.rewriting.candidates import Candidates
from sfumato.mechanisms.rewriting.sentences import Sentences
from sfumato.mechanisms.rewriting.temperature import PROMPT, Temperature
from sfumato.mechanisms.selective import MISSING_LEAK
from sfumato.metrics.rewriting import read_encoder, source_words_kept
from sfumato.releases.sidefile import OTHER_FIELDS_LEAK, UNDECIDED_LEAK
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.power import tells_from
from sfumato.statistics.ranking import derangement
from sfumato.text.document import Document
from sfumato.vectors.means import unit_rows

BY_MEANING, BY_WORDS = "re-identified by meaning", "re-identified by words"
BY_LAW, BY_LIKELIHOOD = "re-identified by law", "re-identified by likelihood"
# Rewritten documents that a model reads at once; memory follows this.
READ_TOGETHER = 64
FEWEST = 2


@dataclass(frozen=True, eq=False, repr=False)
class Rewritten:
    """Rewritten documents, what is proven about them, and the settings that made them."""

    documents: tuple[Document, ...]
    epsilon: float | None = None
    unit: str = "document"
    settings: Mapping[str, Any] = field(default_factory=dict)
    # Whether ε is for any two documents, without δ, and nothing shows beside it.
    bounds_documents: bool = False
    leaks: tuple[str, ...] = ()
    # ε between any two documents, where a smaller one is stated for a sentence.
    document_epsilon: float | None = None

    def __repr__(self) -> str:
        return f"Rewritten({len(self.documents)} documents)"


@dataclass(frozen=True, kw_only=True)
class Reidentification:
    """Assign rewritten documents to originals by what they are about.

    At most ``documents`` documents are attacked, drawn at random, and matched among each other.
    ``encoder`` is the folder of a sentence encoder. ``pool`` is the public file that sentences were
    drawn from; ``model`` the folder of the language model that drew tokens, ``prompt`` what it read
    and ``vocabulary`` the public file that its tokens are from. ``reader`` is the folder of any
    language model, which is asked how likely the first ``read_tokens`` tokens of a rewritten
    document are after each original.
    """

    documents: int = 500
    encoder: FileToRead = ""
    pool: FileToRead = ""
    model: FileToRead = ""
    prompt: str = PROMPT
    vocabulary: FileToRead = ""
    reader: FileToRead = ""
    read_tokens: int = 32

    name: ClassVar[str] = "reidentification"
    target: ClassVar[str] = "text"
    needs: ClassVar[Needs] = Needs(inputs=("originals",))

    def __post_init__(self) -> None:
        at_least("documents", self.documents, FEWEST)
        at_least("read_tokens", self.read_tokens, 1, MOST_TOKENS)

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a rewritten file and its originals; None if nothing is."""
        return lacks_originals(inputs)

    def opened(self, inputs: Inputs) -> tuple[Rewritten, list[Document]]:
        """The rewritten documents with what is known of them, and the originals."""
        assert inputs.originals is not None  # noqa: S101  # see ``missing``
        settings, content = read_side_file(side_path(inputs.target))
        stated = content.get("guarantee") or {}
        level = read_number(stated["epsilon"]) if "epsilon" in stated else None
        told = settings.get("mechanism_settings") or {}
        beside = told.get("document_epsilon") if stated.get("unit") == "sentence" else None
        rewritten = Rewritten(
            documents=tuple(inputs.documents(inputs.target)),
            epsilon=level,
            unit=str(stated.get("unit", "document")),
            bounds_documents=_bounds_documents(stated),
            leaks=tuple(map(str, stated.get("leaks") or ())),
            document_epsilon=beside
            if isinstance(beside, float) and not _shown_by(stated)
            else None,
            settings={"mechanism": settings.get("mechanism"), **told},
        )
        return rewritten, inputs.documents(inputs.originals)

    def score(
        self,
        target: Rewritten,
        data: Sequence[Document],
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Match rewritten documents with originals; only the evaluation knows what belongs."""
        with time_block() as watch:
            refuse_other_originals(data, target.documents)
            chosen = choose_documents(len(data), self.documents, randomness.stream(0))
            after = [target.documents[number].text for number in chosen]
            before = [data[number].text for number in chosen]
            own = np.arange(len(chosen))
            strangers = derangement(len(chosen), randomness.stream(1))
            figures: list[Measured] = []
            blank: list[Measured] = []
            ways = self._ways(target)
            for number, (metric, way) in enumerate(ways.items()):
                fits = way(after, before)
                figures.append(share_of_best(metric, fits, own))
                blank.append(share_of_best(metric, fits, strangers))
                if done:
                    done(number + 1, len(ways))
            kept = _kept(before, after)
            scores = Scores(
                attack=self.name,
                knowledge="The attacker has the originals in random order, and knows that each "
                "rewritten document was made from one of them, and how.",
                figures=tuple(figures),
                chance=dict.fromkeys(ways, 1 / len(chosen)),
                control=Control(
                    what="the same attack, counted against originals that were assigned at random",
                    figures=tuple(blank),
                ),
                notes=_notes(len(chosen), len(data), target, kept),
                details={"documents": len(chosen), "source_words_kept": kept},
            )
        return watch.stamp(scores)

    def _ways(self, target: Rewritten) -> dict[str, Any]:
        ways: dict[str, Any] = {BY_MEANING: self._by_meaning, BY_WORDS: _by_words}
        if self.pool:
            mechanism = self._mechanism(target)
            ways[BY_LAW] = lambda after, before: chances_of(mechanism, after, before)
        if self.model:
            writer = self._writer(target)
            ways[BY_LAW] = lambda after, before: _read_all(writer, after, before)
        if self.reader:
            reader = self._reader()
            ways[BY_LIKELIHOOD] = lambda after, before: _read_all(reader, after, before)
        return ways

    def _by_meaning(self, after: Sequence[str], before: Sequence[str]) -> Floats:
        encoder = read_encoder(self.encoder)
        found: Floats = unit_rows(encoder(list(after))) @ unit_rows(encoder(list(before))).T
        return found

    def _reader(self) -> Temperature:
        """Any language model, its scores cut as little as can be: what it reads it expects."""
        return Temperature(
            model=self.reader,
            prompt=self.prompt,
            window=LARGEST_RANGE,
            temperature=1.0,
            tokens=self.read_tokens,
        )

    def _writer(self, target: Rewritten) -> ByTokens:
        told = target.settings
        kind = _drawing_tokens(told)
        # A masked model reads the document alone, so there is no prompt to know.
        own = {"prompt": self.prompt} if "prompt" in settings_of(kind) else {}
        made: ByTokens = kind(
            model=self.model,
            window=float(told["window"]),
            temperature=float(told["temperature"]),
            tokens=int(told["tokens"]),
            vocabulary=self.vocabulary,
            vocabulary_size=told.get("vocabulary_size") if self.vocabulary else None,
            vocabulary_field=str(told.get("vocabulary_field", "text")),
            **own,
        )
        made.refuse_told(told)
        return made

    def _mechanism(self, target: Rewritten) -> Sentences | Candidates:
        told = target.settings
        made = (
            self._candidates(told)
            if told.get("mechanism") == "candidates"
            else self._sentences(told)
        )
        if made.text_pool.digest != told.get("pool_digest"):
            raise BadInput(
                "these are not the pool and the encoder that the file was made with; name both: "
                "`settings={'pool': FILE, 'encoder': FOLDER}`"
            )
        return made

    def _sentences(self, told: Mapping[str, Any]) -> Sentences:
        _refuse_another(told, "sentences", "pool")
        return Sentences(
            pool=self.pool,
            encoder=self.encoder,
            beta=float(told["beta"]),
            low=float(told["low"]),
            high=float(told["high"]),
            most=told.get("most"),
            fill=told.get("fill") is True,
            pool_field=str(told.get("pool_field", "text")),
        )

    def _candidates(self, told: Mapping[str, Any]) -> Candidates:
        return Candidates(
            pool=self.pool,
            encoder=self.encoder,
            beta=float(told["beta"]),
            score=str(told["score"]),
            most=int(told["most"]),
            low=float(told["low"]),
            high=float(told["high"]),
            components=int(told["components"]),
            projections=int(told["projections"]),
            pool_field=str(told.get("pool_field", "text")),
        )


def _read_all(model: ByTokens, after: Sequence[str], before: Sequence[str]) -> Floats:
    """The log-probability of each rewritten document (row) after each original (column)."""
    starts = range(0, len(after), READ_TOGETHER)
    parts = [after[start : start + READ_TOGETHER] for start in starts]
    columns = [np.concatenate([model.log_chances(one, part) for part in parts]) for one in before]
    return np.stack(columns, axis=1)


def _drawing_tokens(told: Mapping[str, Any]) -> type[Any]:
    """The class that drew tokens by a model's scores; a side file names it, and runs no code."""
    name, known = str(told.get("mechanism")), entries("mechanisms")
    kind = known[name].load() if name in known else None
    if isinstance(kind, type) and issubclass(kind, ByTokens):
        return kind
    raise InvalidArgument(
        "a model whose law is known is one that draws tokens, of the mechanisms 'temperature' and "
        f"'masked', and this file was made by {name!r}: leave out the setting 'model'"
    )


def _refuse_another(told: Mapping[str, Any], wanted: str, setting: str) -> None:
    if told.get("mechanism") != wanted:
        raise InvalidArgument(
            f"a {setting} is what the mechanism {wanted!r} has, and this file was made by "
            f"{told.get('mechanism')!r}: leave out the setting {setting!r}"
        )


def _by_words(after: Sequence[str], before: Sequence[str]) -> Floats:
    return match([set(fold(one)) for one in after], [set(fold(one)) for one in before])


def _kept(before: Sequence[str], after: Sequence[str]) -> float | None:
    shares = [source_words_kept(*pair) for pair in zip(before, after, strict=True)]
    known = [one for one in shares if one is not None]
    return float(np.mean(known)) if known else None


def most_right(epsilon: float, documents: int) -> tuple[float, float]:
    """How often a guess is right at most: from one rewritten document, and from all of them.

    >>> most_right(0.0, 8)
    (0.125, 0.125)
    """
    alike = [1 / documents] * documents
    alone, together = (most_guessed(Level(one), alike) for one in (epsilon, 2 * epsilon))
    return alone, together


def _bounds_documents(stated: Mapping[str, Any]) -> bool:
    """Whether a stated level is one for any two documents, and all that an output tells."""
    of_documents = stated.get("unit") == "document" and not stated.get("delta")
    pure = stated.get("notion") in (Notion.PURE_DP.value, Notion.INDEPENDENT.value)
    # Texts that are missing are no documents, and other fields are not looked at here.
    return of_documents and pure and not _shown_by(stated)


def _shown_by(stated: Mapping[str, Any]) -> list[str]:
    return _shown(stated.get("leaks") or ())


def _shown(leaks: Sequence[str]) -> list[str]:
    apart = (MISSING_LEAK, OTHER_FIELDS_LEAK, UNDECIDED_LEAK)
    return [one for one in leaks if one not in apart]


def _tell_bound(target: Rewritten, chosen: int) -> str:
    level = target.epsilon if target.bounds_documents else target.document_epsilon
    if level is not None:
        alone, together = most_right(level, chosen)
        more = f"For any two documents ε ≤ {at_most(level, 4)}. "
        return (
            f"{'' if target.bounds_documents else more}So a guess from one rewritten document is "
            f"right in {at_most(alone, 3)} of all cases at most, and one from all of them together "
            f"in {at_most(together, 3)}."
        )
    if target.unit != "document":
        why = f"the level is for one {target.unit}, and a document costs the sum over all of its"
    else:
        why = "the level is not for any two documents alike, without a δ"
    shown = _shown(target.leaks)
    beside = f"; besides, this shows: {'; '.join(shown)}" if shown else ""
    return f"No bound on these shares follows: {why}{beside}."


def _notes(chosen: int, whole: int, target: Rewritten, kept: float | None) -> tuple[str, ...]:
    notes = [
        f"With {chosen:,} documents a true share of {tells_from(1 / chosen, chosen):.2g} would be "
        "told from chance with a probability of 95 %.",
    ]
    if target.epsilon is not None and kept is not None:
        notes.append(
            f"What is proven: ε ≤ {at_most(target.epsilon, 4)} for one {target.unit}; source words "
            f"kept: {kept:.2f}."
        )
    if target.epsilon is not None:
        notes.append(_tell_bound(target, chosen))
    if chosen < whole:
        notes.append(f"{chosen:,} of {whole:,} documents were attacked.")
    return tuple(notes)
