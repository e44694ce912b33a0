"""Names of people: by the words around them, by a list, and by an earlier mention.

A name that was found once is found again wherever it stands with a capital in the same document.
All documents of a page are read together, one rule after the other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.accounts import find_accounts
from sfumato.policies.pii.around import find_cued_around
from sfumato.policies.pii.capitals import Chain, Form, cut_at, cut_plain
from sfumato.policies.pii.clusters import HARD, NAMED, Cluster, Clusters, Listed
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.introductions import find_introduced
from sfumato.policies.pii.judging import Name, idle_words, judge, lasting, without_joining
from sfumato.policies.pii.listed import names_in
from sfumato.policies.pii.reading import Page, Reading, by_document
from sfumato.policies.pii.runs import is_letter
from sfumato.policies.pii.small_names import find_small

_BREAK, _BLANK, _COLON = map(ord, "\n :")
_BEYOND_ASCII = 0x808080  # the bits that no ASCII character has, of three
_LABEL = "PERSON"
_Listed = list[tuple[int, int, tuple[str, ...]]]
_Place = tuple[int, int]


@dataclass(frozen=True)
class Person:
    """Somebody's name."""

    label: ClassVar[str] = _LABEL

    def where(self, page: Page) -> Iterable[int]:
        """The documents in which there is a name; they are all read for that."""
        return (number for number, found in enumerate(_people_of(page)) if found)

    def find(self, reading: Reading) -> Iterator[Found]:
        """Names after a cue and listed names, then the same names wherever else they stand."""
        return iter(_people_of(reading.page)[reading.number])


def _people_of(page: Page) -> list[list[Found]]:
    people = page.memory.get("people")
    if people is None:
        people = page.memory["people"] = _People(page).find()
    return cast("list[list[Found]]", people)


class _People:
    """The names in the documents of a page."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._tags = speaker_tags(page)
        self._found: list[list[Found]] = [[] for _ in page.texts]
        self._known: dict[int, set[str]] = {}
        self._chains: dict[int, list[Chain]] = {}
        self._forms: dict[frozenset[str], dict[str, list[Form]]] = {}
        self._judged: dict[tuple[str, str], Name | None] = {}
        self._hard: dict[int, list[_Place]] = {}  # where clusters stand that are not plain

    def find(self) -> list[list[Found]]:
        """All names, by the number of their document."""
        page, clusters = self._page, Clusters(self._page, self._tags)
        for number, cued in find_introduced(page):
            self._judge(number, *cued)
        for number, cued in find_small(page):
            self._judge(number, *cued)
        for cluster in clusters.telling():
            self._look_at(cluster)
        for number, place in find_accounts(page):
            reason = "stands in a field for the name of an account"
            self._found[number].append(Found(*place, _LABEL, "person-account", reason))
        if self._known:
            self._find_again(clusters)
        return self._found

    def _judge(self, number: int, rule: str, reason: str, place: _Place) -> None:
        """Keep what stands where a name can stand if it is one."""
        text = self._page.texts[number]
        start, end = place[0], without_joining(text, *place)
        stretch = text[start:end], rule
        if stretch not in self._judged:
            self._judged[stretch] = judge(*stretch)
        name = self._judged[stretch]
        if name and name.first not in self._tags[number]:
            self._known.setdefault(number, set()).update(name.lasting)
            last = end - 2 * text.endswith("'s", start + 3, end)
            self._found[number].append(Found(start, last, _LABEL, rule, reason))

    def _look_at(self, cluster: Cluster) -> None:
        """Names by the words beside the chains of a cluster, then listed ones in it."""
        number, start, _, kind, listed = cluster
        if listed is not None:
            if listed and not (number in self._hard and self._is_inside(number, start)):
                self._take(number, listed)
            return
        if kind == NAMED:
            for form in self._forms_of(cluster):
                self._look_up(number, form, start)
            return
        chains = self._cut(cluster)
        if kind & HARD:
            self._chains.setdefault(number, []).extend(chains)
        for chain in chains:
            for cued in find_cued_around(chain):
                self._judge(number, *cued)
            if kind & (NAMED | HARD):
                self._look_up(number, chain.form, chain.start)

    def _look_up(self, number: int, form: Form, begin: int) -> None:
        """Names of a chain that are listed."""
        chain = Chain(self._page.texts[number], form, begin)
        listed = [
            Listed(begin + form.words[first].start, chain.end_of(last), words)
            for first, last, words in _listed(form)
        ]
        if listed:
            self._take(number, listed)

    def _take(self, number: int, listed: Iterable[Listed]) -> None:
        """Keep names that are listed."""
        found, known = self._found[number], self._known.setdefault(number, set())
        for start, end, words in listed:
            known.update(words)
            reason = "stands in a list of names"
            found.append(Found(start, end, _LABEL, "person-listed", reason))

    def _cut(self, cluster: Cluster) -> list[Chain]:
        """The chains of a cluster, unless it is a part of one that was cut already."""
        number, start, kind = cluster.number, cluster.start, cluster.kind
        text, tags = self._page.texts[number], self._tags[number]
        if not kind & HARD:
            return [Chain(text, form, start) for form in self._forms_of(cluster)]
        forms = self._forms.setdefault(tags, {})
        hard = self._hard.setdefault(number, [])
        if hard and start < hard[-1][1]:
            return []
        chains, reached = cut_at(text, start, tags, forms, idle_words())
        hard.append((start, reached))
        return chains

    def _forms_of(self, cluster: Cluster) -> list[Form]:
        """The chains of a plain cluster, without their places."""
        number, start, end = cluster[:3]
        if number in self._hard and self._is_inside(number, start):
            return []
        tags = self._tags[number]
        forms = self._forms.setdefault(tags, {})
        return cut_plain(self._page.texts[number][start:end], tags, forms, idle_words())

    def _is_inside(self, number: int, start: int) -> bool:
        """Whether a cluster that starts here is a part of one that is not plain."""
        places = self._hard[number]
        following = bisect_right(places, start, key=itemgetter(0))
        return following > 0 and start < places[following - 1][1]

    def _find_again(self, clusters: Clusters) -> None:
        """Names that were found elsewhere in their document."""
        cut, bare = clusters.plain_with(self._known)
        for cluster in cut:
            self._chains.setdefault(cluster.number, []).extend(self._cut(cluster))
        places = self._places()
        again = [
            (number, start, end)
            for number, chains in self._chains.items()
            if number in self._known
            for start, end in _again(chains, self._known[number])
        ]
        for number, start, end, origin in zip(*(column.tolist() for column in bare), strict=True):
            if number not in self._hard or not self._is_inside(number, origin):
                again.append((number, start, end))
        for number, start, end in again:
            if (number, start, end) not in places:
                reason = "a name found elsewhere in the document"
                self._found[number].append(Found(start, end, _LABEL, "person-again", reason))

    def _places(self) -> set[tuple[int, int, int]]:
        """The numbers of documents and where names stand there, without those of accounts."""
        return {
            (number, one.start, one.end)
            for number, found in enumerate(self._found)
            for one in found
            if one.rule != "person-account"
        }


def speaker_tags(page: Page) -> list[frozenset[str]]:
    """For each document the two or three capitals that begin several lines before a colon.

    They name the speakers of a dialogue and are no names.
    """
    none: frozenset[str] = frozenset()
    tags = [none for _ in page.texts]
    places, codes = _headed_lines(page), page.runs.codes
    documents = np.searchsorted(page.runs.offsets, places, side="right") - 1
    # Heads are equal only if their codes are; letters beyond ASCII have one code.
    heads = codes[places] * np.int64(1 << 16) + codes[places + 1] * np.int64(1 << 8)
    heads += codes[places + 2] * is_letter(codes[places + 2])
    both, counts = np.unique(documents << 24 | heads, return_counts=True)
    often = by_document((both[counts > 1] >> 24), both[counts > 1] & (1 << 24) - 1)
    seen: dict[tuple[int, ...], frozenset[str]] = {}  # most dialogues have the same speakers
    for number, numbers in often.items():
        key = tuple(numbers)
        if any(_BEYOND_ASCII & one for one in numbers):
            tags[number] = _tags_of(page, number, places[documents == number])
            continue
        if key not in seen:
            shown = (one.to_bytes(3, "big").rstrip(b"\0").decode("ascii") for one in numbers)
            seen[key] = frozenset(head for head in shown if head.isupper())
        tags[number] = seen[key]
    return tags


def _tags_of(page: Page, number: int, places: NDArray[np.int64]) -> frozenset[str]:
    """The same for one document, by its characters."""
    text, offset = page.texts[number], int(page.runs.offsets[number])
    begins = (places - offset).tolist()
    heads = Counter(text[begin : begin + 3].rstrip(" :") for begin in begins)
    return frozenset(head for head, count in heads.items() if count > 1 and head.isupper())


def _listed(form: Form) -> _Listed:
    """First and last word of every listed name of a chain, and by which words it is known again."""
    if form.known is None:
        form.known = [
            (first, last, tuple(lasting(form.plains[first : last + 1])))
            for first, last in names_in(form.words)
        ]
    return cast("_Listed", form.known)


def _again(chains: Iterable[Chain], known: set[str]) -> Iterator[_Place]:
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


def _headed_lines(page: Page) -> NDArray[np.int64]:
    """Where lines begin with two or three letters before a colon."""
    codes = page.runs.codes
    ends = np.flatnonzero(codes == _COLON)
    ends = ends - (codes[ends - 1] == _BLANK)
    held = is_letter(codes[ends - 1]) & is_letter(codes[ends - 2])
    starts = ends - 2 - is_letter(codes[ends - 3])
    spots: NDArray[np.int64] = starts[held & (codes[starts - 1] == _BREAK)]
    return spots
