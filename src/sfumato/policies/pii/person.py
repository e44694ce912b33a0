"""Names of people: by the words around them, by a list, and by an earlier mention.

A name that was found once is found again wherever it stands with a capital in the same document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, cast

from sfumato.policies.pii.accounts import find_accounts
from sfumato.policies.pii.around import Cued, find_cued_around, may_act
from sfumato.policies.pii.capitals import Chain, Forms, find_chains, speaker_tags
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.introductions import find_introduced
from sfumato.policies.pii.judging import Name, idle_words, judge, lasting, without_joining
from sfumato.policies.pii.listed import names_in
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.small_names import find_small

_Judged = dict[tuple[str, str], Name | None]
_Listed = list[tuple[int, int, tuple[str, ...]]]


@dataclass(frozen=True)
class Person:
    """Somebody's name."""

    label: ClassVar[str] = "PERSON"

    def where(self, page: Page) -> Iterable[int]:
        """All documents: names stand everywhere."""
        return range(len(page.texts))

    def find(self, reading: Reading) -> Iterator[Found]:
        """Names after a cue and listed names, then the same names wherever else they stand."""
        text, known, found = reading.text, set[str](), set[tuple[int, int]]()
        tags = speaker_tags(text)
        memory = reading.page.memory
        forms = cast("Forms", memory.setdefault(("chains", tags), {}))
        judged = cast("_Judged", memory.setdefault("names", {}))
        chains = find_chains(text, tags, forms, idle_words())
        for rule, reason, (start, reached) in _cued(reading, chains):
            end = without_joining(text, start, reached)
            stretch = text[start:end], rule
            if stretch not in judged:
                judged[stretch] = judge(*stretch)
            name = judged[stretch]
            if name and name.first not in tags:
                known.update(name.lasting)
                last = end - 2 * text.endswith("'s", start + 3, end)
                found.add((start, last))
                yield Found(start, last, self.label, rule, reason)
        for chain in chains:
            for first, last, words in _listed(chain):
                known.update(words)
                start, end = chain.start + chain.words[first].start, chain.end_of(last)
                found.add((start, end))
                yield Found(start, end, self.label, "person-listed", "stands in a list of names")
        for start, end in find_accounts(reading):
            reason = "stands in a field for the name of an account"
            yield Found(start, end, self.label, "person-account", reason)
        for start, end in _again(chains, known) if known else ():
            if (start, end) not in found:
                reason = "a name found elsewhere in the document"
                yield Found(start, end, self.label, "person-again", reason)


def _cued(reading: Reading, chains: list[Chain]) -> Iterator[Cued]:
    yield from find_introduced(reading)
    yield from find_small(reading)
    for chain in chains:
        words = chain.words
        if len(words) > 1 or may_act(chain.text, chain.start + words[0].end):
            yield from find_cued_around(chain)


def _listed(chain: Chain) -> _Listed:
    """First and last word of every listed name of a chain, and by which words it is known again."""
    form = chain.form
    if form.known is None:
        form.known = [
            (first, last, tuple(lasting(word.plain for word in form.words[first : last + 1])))
            for first, last in names_in(form.words)
        ]
    return cast("_Listed", form.known)


def _again(chains: list[Chain], known: set[str]) -> Iterator[tuple[int, int]]:
    """Runs of known words, initials between them included."""
    for chain in chains:
        if known.isdisjoint(chain.form.plains):
            continue
        first = last = -1
        for index, word in enumerate(chain.words):
            if word.plain in known:
                first, last = (index if first < 0 else first), index
            elif not word.is_initial and first >= 0:
                yield chain.start + chain.words[first].start, chain.end_of(last)
                first = -1
        if first >= 0:
            yield chain.start + chain.words[first].start, chain.end_of(last)
