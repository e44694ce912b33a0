"""Where words with capitals stand together in many documents, by a look at all tokens at once.

A cluster is what chains (``capitals``) are cut from: words with capitals, and between them only
what can stand inside a name. Most are plain: words with nothing but single blanks between, the last
one perhaps with an ending such as 's. Of these it is known at once whether a list of names, or a
word beside them, can make a name of them; others are at most a name that was found elsewhere in the
document. A cluster that is not plain (with an initial, a hyphen, a "van") is left to an expression.
Single words that are no name are left out.

A plain cluster is bare if it is not long, has no ending and no tag of a speaker: then it is one
chain, and its tokens are the words of it. Bare clusters are judged without being cut at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.capitals import LONGEST
from sfumato.policies.pii.forms import mark
from sfumato.policies.pii.judging import lasting
from sfumato.policies.pii.listed import names_among, traits_of
from sfumato.policies.pii.names import plain
from sfumato.policies.pii.reading import Page
from sfumato.policies.pii.runs import BEYOND, CAPITALS, DIGITS, LETTERS, Codes, Flags, surely
from sfumato.policies.pii.tokens import Tokens

_BLANK, _STOP = ord(" "), ord(".")
_JOINTS = "'-"
_MOST_SMALL = 8  # small words between two words of a name, and what follows them
_WORDLY = LETTERS + DIGITS + "_@"  # right after these no cluster begins
_Places = NDArray[np.int64]

NAMED, CUED, HARD = 1, 2, 4  # what can make a cluster a name: a list, words beside it, or anything


class Cluster(NamedTuple):
    """A document's number, where a cluster starts there and, if it is plain, ends, and its kind.

    Of a bare cluster that only a list can make a name, ``listed`` says which names it holds.
    """

    number: int
    start: int
    end: int
    kind: int
    listed: tuple[Listed, ...] | None = None


class Listed(NamedTuple):
    """A name by the list: where it stands in its document, and by which words it is known again."""

    start: int
    end: int
    words: tuple[str, ...]


class Clusters:
    """The clusters of the documents of a page, given the tags of speakers in each document."""

    def __init__(self, page: Page, tags: Sequence[frozenset[str]]) -> None:
        self._look = look = _Look(page.tokens, page.runs.codes, page.runs.offsets)
        self._first, self._last, self._kinds = look.clusters()
        self._plain = np.flatnonzero((self._kinds & HARD) == 0)
        bare = (self._kinds & HARD) == 0
        bare &= ~look.ended[self._last] & (self._last - self._first < LONGEST)
        all_tags = frozenset().union(*set(tags))
        if all_tags:
            tagged = np.fromiter(map(all_tags.__contains__, look.forms), np.bool_, len(look.forms))
            bare &= ~_any_between(tagged[look.ids], self._first, self._last)
        self._bare: Flags = bare

    def telling(self) -> list[Cluster]:
        """Those that something can make a name, in reading order."""
        chosen = np.flatnonzero(self._kinds)
        listed: list[tuple[Listed, ...] | None] = [None] * len(chosen)
        quick = np.flatnonzero(self._bare[chosen] & (self._kinds[chosen] == NAMED))
        for place, names in zip(quick.tolist(), self._listed(chosen[quick]), strict=True):
            listed[place] = names
        return list(map(Cluster, *self._columns(chosen), listed))

    def plain_with(
        self, words: Mapping[int, set[str]]
    ) -> tuple[list[Cluster], tuple[_Places, _Places, _Places, _Places]]:
        """The plain ones that have a word of their document's, which are written plainly.

        Of those that are bare only runs of such words, initials between them included: the
        document of each, where it starts and ends there, and where its cluster starts.
        """
        look, plain_ones = self._look, self._plain
        held, all_held = self._tokens_with(words)
        first, last = self._first[plain_ones], self._last[plain_ones]
        chosen = plain_ones[_any_between(held | all_held, first, last)]
        bare = self._bare[chosen]
        tokens, parts = _spread(self._first[chosen[bare]], self._last[chosen[bare]])
        inside, shown = held[tokens], look.ends[tokens] - look.starts[tokens] == 1
        # Runs go on over words that are held and over initials; they begin and end with held ones.
        going = inside | shown
        new = np.append(True, (parts[1:] != parts[:-1]) | ~going[:-1]) | ~going
        runs = np.cumsum(new)
        known = np.flatnonzero(inside)
        runs = runs[known]
        begins = known[np.append(True, runs[1:] != runs[:-1])[: len(runs)]]
        stops = known[np.append(runs[1:] != runs[:-1], True)[: len(runs)]]
        clusters = self._first[chosen[bare]][parts[begins]]
        begins, stops = tokens[begins], tokens[stops]
        places = (look.starts[begins], look.ends[stops], look.starts[clusters])
        start, end, origin = (place - look.offsets[begins] for place in places)
        cut = list(map(Cluster, *self._columns(chosen[~bare])))
        return cut, (look.documents[begins], start, end, origin)

    def _tokens_with(self, words: Mapping[int, set[str]]) -> tuple[Flags, Flags]:
        """Which tokens are a word of their document's, and which the beginning of one.

        With an ending the last word of a cluster is one word of two tokens.
        """
        begun = {
            number: {word.partition("'")[0] for word in known if "'" in word}
            for number, known in words.items()
        }
        return self._tokens_of(words), self._tokens_of({n: w for n, w in begun.items() if w})

    def _tokens_of(self, words: Mapping[int, set[str]]) -> Flags:
        look, size = self._look, len(self._look.forms)
        held = np.zeros(len(look.ids), dtype=np.bool_)
        if not words:
            return held
        written = self._written
        pairs = [
            number * size + form
            for number, known in words.items()
            for word in known
            for form in written.get(word, ())
        ]
        used = np.zeros(size, dtype=np.bool_)
        used[[pair % size for pair in pairs]] = True
        places = np.flatnonzero(look.titled & used[look.ids])
        held[places] = np.isin(look.documents[places] * size + look.ids[places], pairs)
        return held

    @cached_property
    def _written(self) -> dict[str, list[int]]:
        """The forms with a capital by how they are written plainly."""
        look = self._look
        used = np.zeros(len(look.forms), dtype=np.bool_)
        used[look.ids[look.titled]] = True
        forms: dict[str, list[int]] = {}
        for form in np.flatnonzero(used).tolist():
            forms.setdefault(plain(look.forms[form]), []).append(form)
        return forms

    def _listed(self, chosen: _Places) -> list[tuple[Listed, ...]]:
        """The names that some bare clusters hold by the list."""
        look = self._look
        tokens, parts = _spread(self._first[chosen], self._last[chosen])
        ids = look.ids[tokens]
        traits = np.zeros(len(look.forms), dtype=np.int64)
        for number in np.unique(ids).tolist():
            form = look.forms[number]
            traits[number] = traits_of(plain(form), len(form), len(form) > 1 and form.isupper())
        offsets = look.offsets[tokens]
        starts, ends = (
            (look.starts[tokens] - offsets).tolist(),
            (look.ends[tokens] - offsets).tolist(),
        )
        kinds, numbers = traits[ids].tolist(), ids.tolist()

        def listed(first: int, last: int) -> Listed:
            words = [plain(look.forms[number]) for number in numbers[first : last + 1]]
            return Listed(starts[first], ends[last], tuple(lasting(words)))

        found: list[tuple[Listed, ...]] = []
        begin = 0
        for end in np.searchsorted(parts, np.arange(len(chosen)), side="right").tolist():
            names = names_among(tuple(kinds[begin:end]))
            found.append(tuple([listed(begin + first, begin + last) for first, last in names]))
            begin = end
        return found

    def _columns(self, chosen: _Places) -> list[list[int]]:
        """The numbers of the documents of some clusters, where they start and end, their kinds."""
        look, first, last = self._look, self._first[chosen], self._last[chosen]
        ends = look.ends[last + look.ended[last]] - look.offsets[first]
        columns = (look.documents[first], look.inside(first), ends, self._kinds[chosen])
        return [column.tolist() for column in columns]


def _spread(first: _Places, last: _Places) -> tuple[_Places, _Places]:
    """All tokens from the first to the last of each cluster, and the clusters' numbers."""
    sizes = last - first + 1
    parts = np.repeat(np.arange(len(sizes)), sizes)
    before = np.cumsum(sizes) - sizes
    return first[parts] + np.arange(len(parts)) - before[parts], parts


class _Look:
    """The tokens of a page without the empty ones, and what stands beside each."""

    def __init__(self, tokens: Tokens, codes: Codes, offsets: _Places) -> None:
        places = np.flatnonzero(tokens.ids)
        counts = [last - first for first, last in tokens.bounds]
        self.forms, self.ids = tokens.forms, tokens.ids[places]
        self.documents = np.repeat(np.arange(len(counts)), counts)
        self.offsets = offsets[self.documents]
        self.starts = tokens.starts[places] + self.offsets
        self.ends = tokens.ends[places] + self.offsets
        self._marks = tokens.mark[places]
        self._endings = tokens.among("ending")[places]
        self._codes = codes
        self._before, self._after = codes[self.starts - 1], codes[self.ends]
        self.titled = self._has("titled") & ~surely(self._before, _WORDLY)
        blank = self._after[:-1] == _BLANK
        near = blank & (self.starts[1:] == self.ends[:-1] + 1)
        self._near = np.append(near, False)[: len(places)]
        # "'S" begins with a capital, too, if nothing before goes on with it.
        self._shouted = self._endings & surely(codes[self.starts + 1], CAPITALS)
        self.ended = self._are_ended()

    def inside(self, places: _Places) -> _Places:
        """Where some tokens begin in their documents, the sign before an ending left out."""
        return self.starts[places] + self._shouted[places] - self.offsets[places]

    def clusters(self) -> tuple[_Places, _Places, _Places]:
        """The first and last tokens of the clusters, in their order, and what can come of each."""
        link = self.titled & self._near & self._next(self.titled)
        linked = np.append(False, link[:-1])[: len(link)]
        first = np.flatnonzero((self.titled & ~linked) | self._shouted)
        last = np.flatnonzero((self.titled & ~link) | self._shouted)
        hard = _any_between(self._is_hard() | self._shouted, first, last)
        several, ended = last > first, self.ended[last]
        # A single word is a name by the list only if it is a given name that may stand alone.
        named = np.where(
            several, _any_between(self._has("named"), first, last), self._has("given")[first]
        )
        named |= several & _any_between(self._has("short"), first, last)
        cued = several & _any_between(self._has("role"), first, last)
        cued |= several & self._follows_role()[first]
        cued |= (self._near & self._next(self._has("acts")))[last + ended]
        kept = several | hard | ended | ~self._has("idle")[first]
        kinds = named * NAMED + cued * CUED + hard * HARD
        return first[kept], last[kept], kinds[kept]

    def _is_hard(self) -> Flags:
        """Words that an expression must look at: with a joint, an initial's stop, a small word."""
        hard = surely(self._before, _JOINTS) | (self._before >= BEYOND)
        hard |= surely(self._after, _JOINTS) & ~self.ended
        saint = (self._codes[self.starts] == ord("S")) & (self.ends - self.starts == 2)
        hard |= (self._after == _STOP) & (self._has("short") | saint)
        found: Flags = hard | self._go_on()
        return found

    def _go_on(self) -> Flags:
        """Words with small words after them over which a name can go on."""
        particle, prefix = self._has("particle"), self._has("prefix")
        prefix &= surely(self._after, _JOINTS) | (self._after >= BEYOND)
        found: Flags = self.titled & self._near & self._next(particle | prefix)
        places = np.flatnonzero(found)
        at = places + 1
        for _ in range(_MOST_SMALL):
            ahead = self.titled[at] | prefix[at]
            going = particle[at] & self._near[at]
            found[places[~(ahead | going)]] = False
            places, at = places[going & ~ahead], at[going & ~ahead] + 1
        return found

    def _are_ended(self) -> Flags:
        """Words with an ending such as 's, after which no name goes on."""
        after = self._after
        joined = np.append(self.starts[1:] == self.ends[:-1], False)[: len(after)]
        going = surely(after, _JOINTS) | (after >= BEYOND)
        going |= self._near & self._next(self.titled | self._has("particle", "prefix"))
        found: Flags = joined & self._next(self._endings & ~self._shouted & ~going)
        return found

    def _follows_role(self) -> Flags:
        """Tokens whose word before is the last one of those for a person's part."""
        words = self._has("role") | self._endings
        named = self._is_word()
        latest = np.maximum.accumulate(np.where(named, np.arange(len(named)), 0))
        return np.append(False, words[latest[:-1]])[: len(words)]

    def _is_word(self) -> Flags:
        first = self._codes[self.starts]
        found: Flags = self._endings | surely(first, LETTERS) | (first == BEYOND)
        return found

    def _has(self, *names: str) -> Flags:
        bits = sum(mark(name) for name in names)
        found: Flags = (self._marks & np.uint32(bits)) != 0
        return found

    def _next(self, flags: Flags) -> Flags:
        """For each token what holds for the next one."""
        return np.append(flags[1:], False)[: len(flags)]


def _any_between(flags: Flags, first: _Places, last: _Places) -> Flags:
    """Whether a flag is raised from the first to the last token of each cluster."""
    count = np.append(0, np.cumsum(flags))
    held: Flags = count[last + 1] > count[first]
    return held
