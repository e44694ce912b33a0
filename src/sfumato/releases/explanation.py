"""What would happen to one text, word by word; for the eyes of whoever owns the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sfumato.core.display import as_html
from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.by_type import MASK, ByType
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.mechanism import DocumentMechanism, Mechanism, StretchMechanism
from sfumato.mechanisms.selective import Selective, language_in
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.metrics.deniability import Estimate, keep_probabilities
from sfumato.metrics.rewriting import source_words_kept
from sfumato.releases.privatizer import TEXT, Privatizer, state
from sfumato.releases.tally import Tally
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans, Stretch, stretches
from sfumato.text.words import Words

REWRITTEN = "DOCUMENT"
ALL_OF_IT = "a new text takes the place of all of it"


@dataclass(frozen=True, slots=True)
class ExplainedWord:
    """One selected word, why it was selected and what became of it.

    A baseline replaces a stretch as a whole: then this is the stretch, and of its known words,
    level and probability there is nothing to say.
    """

    start: int
    end: int
    original: str
    replacement: str
    label: str
    rule: str
    reason: str
    known: bool | None = None
    kept: Estimate | None = None
    epsilon: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """A privatized text with an account of every selected word.

    ``drawn`` counts what was replaced under each part of the guarantee, as authors pay for it.
    """

    text: str
    words: tuple[ExplainedWord, ...]
    guarantee: Guarantee
    source_words_kept: float | None = None  # of a text that was rewritten
    drawn: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "text": self.text,
            "words": [word.as_dict() for word in self.words],
            "guarantee": self.guarantee.as_dict(),
            "sentence": self.guarantee.sentence(),
        } | (
            {} if self.source_words_kept is None else {"source_words_kept": self.source_words_kept}
        )

    def __repr__(self) -> str:
        # What it is about is private, and a representation ends up in logs.
        count = f"{len(self.words)} selected words" if len(self.words) != 1 else "1 selected word"
        return f"Explanation({count}; {self.guarantee.sentence()})"

    def _repr_html_(self) -> str:
        rows = [
            (word.original, word.label, word.reason, word.replacement,
             "" if word.kept is None else f"{word.kept.value:.2f}")
            for word in self.words
        ]  # fmt: skip
        heads = ("word", "found as", "because", "becomes", "stays with")
        return as_html(self.text, heads, rows, [self.guarantee.sentence()])


@dataclass(frozen=True, slots=True, repr=False)
class Focus:
    """A place of a text that is replaced: what stands there, what selected it, what replaces it.

    ``cause`` is what a policy found. ``stretch`` is there where a place is replaced as a whole, and
    has that mechanism; otherwise the place is a word, with a mechanism over word vectors. A text
    that is rewritten has one place, and neither.
    """

    start: int
    end: int
    text: str
    cause: Span
    mechanism: OverVocabulary | StretchMechanism | None = None
    stretch: Stretch | None = None

    @property
    def by_words(self) -> OverVocabulary | None:
        """The mechanism, if it replaces words one by one."""
        return self.mechanism if isinstance(self.mechanism, OverVocabulary) else None


def explain_text(privatizer: Privatizer, text: str, *, draws: int = 400) -> Explanation:
    """Privatize a text and give an account of it."""
    document, selective = Document(text), privatizer.selective
    causes = places_of(selective, document)
    result = selective.privatize([document], privatizer.randomness.stream(0))[0]
    edits = result.edited.edits
    originals = [text[edit.start : edit.end] for edit in edits]
    accounts = _accounts(privatizer, causes, originals, draws)
    guarantee = state(selective, Tally.of([result])).of_documents(TEXT)
    return Explanation(
        text=result.text,
        words=tuple(
            ExplainedWord(
                start=edit.start,
                end=edit.end,
                original=original,
                replacement=edit.replacement,
                label=cause.cause.label,
                rule=cause.cause.rule,
                reason=cause.cause.reason,
                **account,
            )
            for edit, original, cause, account in zip(
                edits, originals, causes, accounts, strict=True
            )
        ),
        guarantee=guarantee if privatizer.randomness.for_release else guarantee.reproducible(),
        source_words_kept=source_words_kept(text, result.text) if _rewrites(selective) else None,
        drawn=result.drawn,
    )


def _rewrites(selective: Selective | Levels) -> bool:
    return isinstance(selective, Selective) and selective.rewrites


def places_of(selective: Selective | Levels, document: Document) -> list[Focus]:
    """For each place that is replaced, in reading order, what selected it and what replaces it."""
    words = Words.of(document.text)
    if isinstance(selective, Levels):
        ranks = selective.ranks(document, words)
        found = [(one.policy.find(document), one.mechanism) for one in selective.levels]
    else:
        if isinstance(selective.mechanism, DocumentMechanism):
            whole = Span(0, len(document.text), REWRITTEN, "everything", ALL_OF_IT)
            return [Focus(0, len(document.text), document.text, whole)]
        spans = selective.policy.find(document)
        if isinstance(selective.mechanism, StretchMechanism | ByType):
            language = language_in(document, spans, words)
            found_there = stretches(spans, words, language)
            return _places_by_type(selective.mechanism, found_there, words)
        ranks = dict.fromkeys(spans.select(words), 0)
        found = [(spans, selective.mechanism)]
    places = []
    for index in sorted(ranks):
        spans, mechanism = found[ranks[index]]
        place = Span(words.starts[index], words.ends[index], "")
        cause = next(span for span in spans if span.overlaps(place))
        places.append(_word_at(words, index, cause, mechanism))
    return places


def _word_at(words: Words, index: int, cause: Span, mechanism: Mechanism) -> Focus:
    over = _over_vocabulary(mechanism)
    return Focus(words.starts[index], words.ends[index], words[index], cause, over)


def _places_by_type(
    mechanism: StretchMechanism | ByType, found: Sequence[Stretch], words: Words
) -> list[Focus]:
    """A place for each stretch, or for each of its words where these are replaced one by one."""
    places: list[Focus] = []
    for one in found:
        chosen = (
            mechanism.route(one.label, one.language) if isinstance(mechanism, ByType) else mechanism
        )
        if isinstance(chosen, StretchMechanism):
            cause = _tell_language(one) if chosen is MASK else one.cause
            places.append(Focus(one.start, one.end, one.text, cause, chosen, one))
        else:
            inside = Spans((one.cover,)).select(words)
            places += [_word_at(words, index, one.cause, chosen) for index in inside]
    return places


def _tell_language(stretch: Stretch) -> Span:
    """What was found, and that no word of the text's language could be put there."""
    told = f"masked: the text reads like '{stretch.language}', and has no word vectors"
    reason = stretch.cause.reason
    return replace(stretch.cause, reason=f"{reason}; {told}" if reason else told)


def _over_vocabulary(mechanism: Mechanism) -> OverVocabulary:
    if not isinstance(mechanism, OverVocabulary):
        raise InvalidArgument("only mechanisms over word vectors can be explained word by word")
    return mechanism


def _accounts(
    privatizer: Privatizer, causes: Sequence[Focus], originals: Sequence[str], draws: int
) -> list[dict[str, Any]]:
    """What can be said of each word besides: whether it is known, its level, if it stays."""
    stays: dict[int, dict[str, Estimate]] = {}
    accounts: list[dict[str, Any]] = []
    for cause, original in zip(causes, originals, strict=True):
        mechanism = cause.by_words
        if mechanism is None:
            accounts.append({})
            continue
        if id(mechanism) not in stays:
            mine = [
                word
                for other, word in zip(causes, originals, strict=True)
                if other.mechanism is mechanism
            ]
            stream = privatizer.randomness.stream(1 + len(stays))
            stays[id(mechanism)] = keep_probabilities(mechanism.points, mine, draws, stream)
        known = mechanism.points.space.point_of(original) != mechanism.points.space.unknown
        accounts.append(
            {
                "known": known,
                "kept": _kept(mechanism, stays[id(mechanism)][original], known=known),
                "epsilon": mechanism.guarantee().epsilon,
            }
        )
    return accounts


def _kept(mechanism: OverVocabulary, estimate: Estimate, *, known: bool) -> Estimate:
    if known:
        return estimate
    certain = 1.0 if mechanism.unknown == "keep" else 0.0
    return Estimate(certain, certain, certain, estimate.draws)
