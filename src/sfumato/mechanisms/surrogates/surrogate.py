"""Surrogates: a name for a name, a number for a number, drawn without looking at the original.

Guarantee
    Independence from the original: what is put in is exactly as likely for one original as for any
    other of the same type and form (epsilon = 0). That is stronger than any noise. Only names have
    a form of their own (how many words, titles, initials); phone numbers, addresses, cards and all
    else have none unless ``keep`` asks for it.

Why it holds
    A surrogate is drawn by a function of two things: the form of the original (``form.Form``) and
    uniform draws (``chance.Chance``). The text itself is not handed on. Lists, ranges and patterns
    are public, and no original is looked up in them: whether a word is taken for a given name or a
    family name follows from its place among the words.

What does not hold
    The form shows: of a name how many words it has (four at most), which are initials, its titles
    and a possessive 's. ``keep="format"`` shows lengths, separators and which characters are
    digits, ``keep="domain"`` the domain of e-mail addresses and URLs, ``keep="country"`` the
    country of phone numbers and IBANs. ``consistent="document"`` shows which values and which words
    of names are the same within a document, ``consistent="corpus"`` also in different documents;
    the latter rests on HMAC-SHA256, and whoever has the key can test a guess. The guarantee lists
    what applies.

    What the policy misses stands in the clear, and it looks like a surrogate: a reader cannot tell
    which of the names are real. The sentence around a surrogate may say who was meant.

Care
    Numbers are nobody's where a range is reserved or never assigned; ``contacts`` and ``numbers``
    say which. Addresses, towns and names may be somebody's by chance. With ``keep="format"`` a
    phone number takes a reserved range only if that has as many digits, and numbers of taxpayers
    and of nations (all but those found as US_SSN) take none: they may be somebody's. With
    ``keep="domain"`` so may an e-mail address: "ann.bell" at a large provider is a person.

    Lists exist for English, German, Spanish and French; any other language gets English ones.
    Under ``consistent="corpus"`` lists are short beside a large corpus: different people share a
    surrogate now and then, and a document of another language has names of that language. Without
    ``key_file`` every run draws a key and forgets it.

Reference
    Surrogate generation after de-identification: Stubbs, Uzuner, Kotfila, Goldstein and Szolovits
    2015, "Challenges in synthesizing surrogate PHI in narrative EMRs". "Hiding in plain sight":
    Carrell et al. 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from sfumato.core.checks import one_of
from sfumato.core.errors import InvalidArgument
from sfumato.core.keys import Key
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.guarantees.guarantee import Guarantee, independent
from sfumato.mechanisms.pseudonym import EQUALITY_LEAK, KEY_LEAK, LINK_LEAK
from sfumato.mechanisms.redact import TYPE_LEAK
from sfumato.mechanisms.surrogates.chance import Chance
from sfumato.mechanisms.surrogates.codes import PATTERN, draw
from sfumato.mechanisms.surrogates.consistency import (
    Memory,
    UnderKey,
    WithinDocument,
    entity_of,
    rename,
)
from sfumato.mechanisms.surrogates.form import KEEPS, Form, Reader
from sfumato.mechanisms.surrogates.lists import check_local
from sfumato.mechanisms.surrogates.names import read_name
from sfumato.text.span import Stretch

NO, DOCUMENT, CORPUS = "no", "document", "corpus"

FORM_LEAK = (
    "the form of each name: how many words (four at most, not counting particles such as 'van' and "
    "endings such as 'Jr.' of fixed public lists), which are initials, titles of such a list, a "
    "comma after the family name, a possessive 's"
)
LANGUAGE_LEAK = (
    "the language that each document is marked with, or else that of its words outside, by the "
    "names that are put in"
)
KEEP_LEAKS = {
    "format": (
        "the format of everything but names, places, addresses, companies and peoples (of e-mail "
        "addresses what stands before the @, of URLs what follows the domain): length, separators, "
        "which characters are digits, capital or small letters"
    ),
    "domain": "the domain of each e-mail address and URL",
    "country": "the country of each phone number that names one and of each IBAN",
}
DOCUMENT_LEAK = (
    "which replaced values, and which words of names, are the same within a document, and so how "
    "often each stands there"
)
WORDS_LEAK = "which words of names are the same, in different names and documents too"
HASH_LEAK = "the originals, to whoever could break HMAC-SHA256 (the statement rests on it)"


@dataclass(frozen=True, kw_only=True)
class Surrogate:
    """Replace what was found by another thing of its type, from public lists and ranges.

    ``keep`` names what stays of an original ("format", "domain", "country"; several in a tuple or
    between commas), ``consistent`` where the same entity gets the same surrogate ("no", "document",
    "corpus"). ``language`` and ``country`` choose the lists; without them the language of each
    document does. ``pattern`` is the public form of order and account codes: 0 is a digit, A a
    capital, a a small letter.

    >>> from sfumato.text.span import Span
    >>> text = "Ada Lovelace"
    >>> ada = Stretch(0, 12, text, Span(0, 12, "PERSON"))
    >>> (name,) = Surrogate().replace([ada], Randomness.secure())
    >>> len(name.split())
    2
    """

    keep: str | tuple[str, ...] = ""
    consistent: str = NO
    language: str = ""
    country: str = ""
    pattern: str = PATTERN
    key_file: FileToRead | None = None
    # Only there under consistent="corpus": nothing else has a key.
    key: Key = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = self.keep.split(",") if isinstance(self.keep, str) else self.keep
        kept = sorted({one.strip() for one in given} - {""})
        for one in kept:
            one_of("keep", one, KEEPS)
        # One spelling, and a text: it stands among the settings of a side file.
        object.__setattr__(self, "keep", ",".join(kept))
        one_of("consistent", self.consistent, (NO, DOCUMENT, CORPUS))
        check_local(self.language, self.country)
        if not self.pattern or not self.pattern.isprintable():
            raise InvalidArgument("pattern must be a text that can be printed, such as 'AA-0000'")
        if self.consistent == CORPUS:
            key = Key.fresh() if self.key_file is None else Key.from_file(self.key_file)
            object.__setattr__(self, "key", key)
        elif self.key_file is not None:
            raise InvalidArgument("key_file is for consistent='corpus'; nothing else uses a key")

    def under(self, key: Key) -> Surrogate:
        """The same under another key: that of a seed, or of the run that a worker belongs to."""
        other = copy(self)
        object.__setattr__(other, "key", key)
        return other

    @property
    def kept(self) -> tuple[str, ...]:
        """What stays of an original, each by its name."""
        return tuple(one for one in KEEPS if one in self.keep)

    def guarantee(self) -> Guarantee:
        """Independence given type and form, and everything that shows beside them."""
        same = "of the same form"
        if self.kept:
            same += f" with {' and '.join(f'the same {one}' for one in self.kept)}"
        neighbors = f"any two values of one stretch {same}"
        if self.consistent != NO:
            where = "a document" if self.consistent == DOCUMENT else "the corpus"
            neighbors = (
                f"texts whose stretches have values {same}, and in which the same places of "
                f"{where} hold equal values and equal words of names (capitals, white space, "
                "separators in numbers and codes, and a possessive 's aside)"
            )
        stated = replace(independent(), neighbors=neighbors).leaking(TYPE_LEAK, FORM_LEAK)
        if not self.language:
            stated = stated.leaking(LANGUAGE_LEAK)
        stated = stated.leaking(*(KEEP_LEAKS[one] for one in self.kept))
        if self.consistent == DOCUMENT:
            return stated.leaking(DOCUMENT_LEAK)
        if self.consistent == CORPUS:
            stated = stated.leaking(EQUALITY_LEAK, WORDS_LEAK, KEY_LEAK, HASH_LEAK)
        return stated if self.key_file is None else stated.leaking(LINK_LEAK)

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        """One surrogate for each stretch of a document."""
        reader = Reader(frozenset(self.kept), self.language, self.country)
        forms = [reader.read(one) for one in stretches]
        chance = Chance.of(randomness)
        if self.consistent == NO:
            return [draw(form, chance, self.pattern) for form in forms]
        memory = WithinDocument(chance) if self.consistent == DOCUMENT else UnderKey(self.key)
        return self._remember(stretches, forms, memory)

    def _remember(
        self, stretches: Sequence[Stretch], forms: Sequence[Form], memory: Memory
    ) -> list[str]:
        """Surrogates of a document in which the same entity is replaced alike."""
        people = [
            (read_name(one, form.local.language), form.local)
            for one, form in zip(stretches, forms, strict=True)
            if form.shape is not None
        ]
        names = iter(rename(people, memory))
        return [
            next(names)
            if form.shape is not None
            else memory.value(form, entity_of(form.kind, one.text), self.pattern)
            for one, form in zip(stretches, forms, strict=True)
        ]
