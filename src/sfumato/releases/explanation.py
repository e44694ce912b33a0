"""What would happen to one text, word by word; for the eyes of whoever owns the text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sfumato.accounting.guarantee import Guarantee
from sfumato.core.errors import InvalidArgument
from sfumato.corpora.documents import Document
from sfumato.corpora.spans import Span
from sfumato.corpora.words import Words
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.metrics.deniability import Estimate, keep_probabilities
from sfumato.releases.privatizer import Privatizer


@dataclass(frozen=True, slots=True)
class ExplainedWord:
    """One selected word, why it was selected and what became of it."""

    start: int
    end: int
    original: str
    replacement: str
    label: str
    rule: str
    reason: str
    known: bool
    kept: Estimate

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A privatized text with an account of every selected word."""

    text: str
    words: tuple[ExplainedWord, ...]
    guarantee: Guarantee


def explained(privatizer: Privatizer, text: str, *, draws: int = 400) -> Explanation:
    """Privatize a text and give an account of it."""
    selective = privatizer.selective
    mechanism = selective.mechanism
    if not isinstance(mechanism, OverVocabulary):
        raise InvalidArgument("only mechanisms over word vectors can be explained word by word")
    document = Document(text)
    words = Words.of(document.text)
    spans = selective.policy.find(document)
    chosen = spans.select(words)
    originals = [words[index] for index in chosen]
    replacements = mechanism.privatize(originals, privatizer.randomness.stream(0))
    stays = keep_probabilities(mechanism.points, originals, draws, privatizer.randomness.stream(1))
    space = mechanism.points.space
    accounts = []
    for index, original, replacement in zip(chosen, originals, replacements, strict=True):
        place = Span(words.starts[index], words.ends[index], "")
        cause = next(span for span in spans if span.overlaps(place))
        known = space.point_of(original) != space.unknown
        accounts.append(
            ExplainedWord(
                start=place.start,
                end=place.end,
                original=original,
                replacement=replacement,
                label=cause.label,
                rule=cause.rule,
                reason=cause.reason,
                known=known,
                kept=_kept(mechanism, stays[original], known=known),
            )
        )
    return Explanation(
        text=words.replaced(chosen, replacements).text,
        words=tuple(accounts),
        guarantee=_guarantee(privatizer, mechanism.uncovered(originals)),
    )


def _kept(mechanism: OverVocabulary, estimate: Estimate, *, known: bool) -> Estimate:
    if known:
        return estimate
    certain = 1.0 if mechanism.unknown == "keep" else 0.0
    return Estimate(certain, certain, certain, estimate.draws)


def _guarantee(privatizer: Privatizer, uncovered: int) -> Guarantee:
    guarantee = privatizer.selective.guarantee(uncovered)
    return guarantee if privatizer.randomness.for_release else guarantee.reproducible()
