"""How old somebody is: a number before or after words that make it an age."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from sfumato.policies.pii.automaton import automaton, backward
from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.runs import DIGITS, LETTERS, Flags, among, surely

_OLDEST = 125
_BEFORE = 28
_NEAR = 7  # signs between the last of these words and the number


@dataclass(frozen=True)
class Age:
    """A number of years or, of small children, of months or weeks."""

    label: ClassVar[str] = "AGE"

    def where(self, page: Page) -> Iterable[int]:
        """The documents with a number that may be one."""
        return page.choose(_may_be_age)

    def find(self, reading: Reading) -> Iterator[Found]:
        """The number alone is the span: the words around it tell nothing."""
        text = reading.text
        for run in reading.chosen(_may_be_age):
            start, end = reading.starts[run], reading.ends[run]
            if int(text[start:end]) > _OLDEST or _is_part(text, start):
                continue
            if _after().match(text, end):
                yield Found(start, end, self.label, "age", "a number before words for an age")
            elif _ends_well(text, end) and _before().search(text, max(0, start - _BEFORE), start):
                yield Found(start, end, self.label, "age-context", "announced as an age")


# With these letters the words for years, months and weeks begin.
_UNITS = "ymwfjaYMWFJA"
# The last words of what announces an age.
_LAST_WORDS = """
m im am s is was re are turn turns turned turning bin ist werde wurde cumpl* now only just jetzt
erst age ages aged alter edad âge âgé âgée âgés âgées of von de es years yrs jahre años ans about
"""


def _may_be_age(page: Page) -> Flags:
    runs = page.runs
    before, after = runs.before(1), runs.after(1)
    whole = (runs.lengths <= 3) & ~surely(before, LETTERS + DIGITS + ".,$#_/%")
    counted = among(after, _UNITS) | (among(after, " -") & among(runs.after(2), _UNITS))
    told = among(before, " \"':=)") & page.told_before(_last_words(), _NEAR)
    held = page.where_can(backward(_before()), whole & told)
    chosen = np.flatnonzero(whole & counted)
    held[chosen] |= automaton(_after()).can_match(runs.codes, runs.ends[chosen])
    return held


@cache
def _last_words() -> frozenset[str]:
    return frozenset(_LAST_WORDS.split())


def _is_part(text: str, start: int) -> bool:
    """Whether this is the rest of a word, a price or a longer number."""
    return start > 0 and (text[start - 1].isalnum() or text[start - 1] in ".,$€£#_/%")


def _ends_well(text: str, end: int) -> bool:
    return not _goes_on().match(text, end)


@cache
def _goes_on() -> Expression:
    """What would make the number one of something else: a unit, a fraction, a part of a word."""
    return Expression(
        r"[\p{L}\p{N}%°€$£:/]|[.,\-][0-9]|-\p{L}| ?[%°€$£]"
        r"| (?:%|(?i:percent|minutes?|mins?|hours?|hrs?|days?|weeks?|times|miles|km|kg|cm|euros?|"
        r"dollars|people|min|uhr|stunden|tage|minuten|minutos|horas|días|heures|jours|am|pm|of"
        r"|street|road)\b)"
    )


@cache
def _after() -> Expression:
    english = (
        r"[ \-]?(?:years?|yrs?|months?|weeks?|wks?|mos?)[ \-]?(?:old|of age)\b"
        r"|[ \-]?y[ .]?/?[ .]?o\b\.?|yo(?:[mf])?\b|[ ]?yrs?\b(?= (?:male|female|man|woman|[mf]\b))"
        r"|[ ]?(?:[mf]\b(?=[, ]|\Z)(?=,? (?:with|w/|c/o|presents?|admitted|here|hx|pt)))"
    )
    german = (
        r"[ \-]?jährig\p{L}{0,3}|[ ]?(?:jahre?|monate?|wochen)[ ]alt|[ ]?j\.(?=[ ,)]| alt)"
        r"|(?:[ ]|-)?j[ ]alt"
    )
    spanish = r"[ ]?(?:años|anos)(?: de edad)?\b|[ ]?meses de (?:edad|vida)|[ ]?añitos"
    french = r"[ ]?ans\b(?! (?:d'|de )(?:garantie|contrat|ancienneté|expérience))|[ ]?mois de vie"
    return Expression(rf"(?i)(?:{english}|{german}|{spanish}|{french})")


@cache
def _before() -> Expression:
    said = (
        r"(?:i'?m|i am|(?:she|he)(?:'s| is| was)|they(?:'re| are)|just turned|turn(?:s|ed|ing)?"
        r"|(?:ich )?bin|(?:er|sie) ist|werde|wurde|cumpl[eoió]{1,3}|when i was) (?:now |only "
        r"|just |jetzt |erst )?"
    )
    named = (
        r"(?:age[ds]?|ages|alter|edad|[âa]ge|âgée?s?|at the age of|the age of|im alter von"
        r"|a la edad de|[àa] l'[âa]ge de|âgée? de|aged about|patient'?s age|dob/age)"
        r"(?: ?\(?(?:years|yrs|jahre|años|ans)\)?)?"
        r"[\"']? ?(?:[:=]|is|ist|es|was|of|von|de)?[\"' ]{0,2}"
    )
    return Expression(rf"(?i)(?<![\p{{L}}\p{{N}}])(?:{said}|{named})\Z")
