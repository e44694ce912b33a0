"""The forms of what a policy found, learned privately, so that made-up values look alike.

The form of a value is what a pattern of ``fills`` says: 0 for a digit, A for a capital, a for a
small letter; a word of capitals and digits, as codes are, is all ``*``, a capital or a digit, since
where its digits stand is no form but chance. Where small letters stand beside digits, every sign is
itself. A few separators stay. Whatever holds another sign, is too long, or is a word (letters, not
all of them capitals, and no digit) has *no form*; that is counted like a form, and stands for the
values that are usual without forms.

Guarantee
    The released forms with their counts are (ε, δ)-DP for the neighbors of ``promise``: two corpora
    with the same public text and the same private places, of which one lacks what the policy finds
    in one unit (a document, or all documents of one author).

Why it holds
    It is a histogram of ``histograms.thresholds``, whose contributors are the units in which the
    policy finds something; who they are is public. A unit gives at most ``MOST`` different pairs of
    type and form, drawn from its own if it has more, with weights by length; which pairs others
    have is not looked at. A unit whose private part is missing gives none, and all others give what
    they gave: these are the contributors "of which one lacks", so a unit moves the counts by 1 in
    all, and no more. Only pairs above the threshold are shown, with their noisy counts.

    Which types are counted is a public rule (``counts_type``), and those with public patterns are
    not counted at all. Made-up values are drawn from the noisy counts and from nothing else:
    post-processing. So public text with them is a function of what was released, of public text and
    of randomness, and training on it costs nothing more. The private steps may depend on all of it:
    an adaptive composition (``forms_plan`` states its level).

Care
    The counts are those of units, not of places: a form that stands in a document ten times counts
    once, and in a document of t forms each counts 1/√t.

    Two secrets at one place are two steps apart, here as in training: one is removed, another one
    added, and twice as many counts move.

    A made-up number that follows a learned form is any number of that form: it may be a card or a
    phone that somebody has, by chance, where the usual made-up values cannot be.

    The forms are drawn once (``models.draws``): a note says that they are spent, before they are.

Reference
    Ours. The histogram is that of Korolova et al. 2009 and Gopi et al. 2020 (``thresholds``).
"""

from __future__ import annotations

import json
import math
import re
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadInput, CannotResume, InvalidArgument, StorageFailed
from sfumato.core.files import sync_folder, write_whole
from sfumato.core.json import read_object
from sfumato.core.kinds import UNKNOWN, kind_of
from sfumato.core.randomness import Randomness
from sfumato.histograms.counts import NoisyCounts, Tally, items_of_contributors
from sfumato.histograms.thresholds import Contribution, Noise
from sfumato.histograms.words import CHOICE, NOISE
from sfumato.mechanisms.by_type import key_of_type
from sfumato.models.draws import DrawNote, refuse_spent

if TYPE_CHECKING:
    from sfumato.training.folder import RunFolder
    from sfumato.training.methods.streams import Split

SCHEMA = 1
# How many different forms a unit gives; by length, so that who has one moves its count by 1.
MOST = 8
CONTRIBUTION = Contribution(words=MOST, weights="by-length")
LONGEST = 40
SEPARATORS = frozenset(" -./()+#:_,")
NO_FORM = ""
_RUN = re.compile("[A-Za-z0-9]+")
_DIGITS = frozenset(string.digits)
_KNOWN = _DIGITS.union(string.ascii_letters, SEPARATORS)
# Kinds whose signs mean nothing, so that any signs of the same form will do. Names and places are
# words; days, ages, prices and addresses on the net have values, which a form does not hold.
_COUNTED = (
    "ACCOUNT", "API_KEY", "CODE", "CREDIT_CARD", "CRYPTO", "CVV", "IBAN", "LICENSE_PLATE",
    "MEDICAL_RECORD", "NATIONAL_ID", "NUMBER", "PASSPORT", "PHONE", "POSTCODE", "TAX_ID", "US_SSN",
)  # fmt: skip


def form_of(value: str) -> str:
    """The form of a value; ``NO_FORM`` if it has none.

    >>> form_of("+1 (202) 555-0147"), form_of("B0GX91KT4M"), form_of("no. 7b")
    ('+0 (000) 000-0000', '**********', 'aa. 0a')
    >>> form_of("Ada Lovelace"), form_of("7 €"), form_of("ABC")
    ('', '', 'AAA')
    """
    if len(value) > LONGEST or not _KNOWN.issuperset(value):
        return NO_FORM
    return _RUN.sub(_signs, value) if _DIGITS.intersection(value) or value.isupper() else NO_FORM


def _signs(run: re.Match[str]) -> str:
    signs = "".join("0" if one.isdigit() else "A" if one.isupper() else "a" for one in run[0])
    return "*" * len(signs) if set(signs) == {"0", "A"} else signs


def counts_type(label: str) -> bool:
    """Whether forms of a type are counted: a public rule by its kind.

    What has no kind becomes a neutral code, so it is counted.

    >>> counts_type("PHONE_NUMBER"), counts_type("PERSON"), counts_type("TICKET")
    (True, False, True)
    """
    kind = kind_of(label)
    return kind == UNKNOWN or kind in _COUNTED


def list_forms(one: Split, given: Collection[str]) -> Iterator[str]:
    """The pairs of type and form in a document, as text; types that are ``given`` are left out."""
    for label, (start, end) in zip(one.labels, one.private, strict=True):
        # Where a private part is missing there is nothing to count.
        if start < end and _is_learned(label, given):
            # A form holds no "=", whatever a label holds.
            yield f"{key_of_type(label)}={form_of(one.original.text[start:end])}"


def _is_learned(label: str, given: Collection[str]) -> bool:
    return counts_type(label) and key_of_type(label) not in given


def refuse_vain(
    splits: Sequence[Split], given: Collection[str], unit: str, units: int, noise: Noise
) -> None:
    """Refuse what would be paid for nothing, by what is public: types, and the number of units."""
    if not any(_is_learned(label, given) for one in splits for label in one.labels):
        raise BadInput(
            "the policy finds no numbers or codes whose forms could be learned, or all of them "
            "have public patterns; leave out `fill_epsilon=...`"
        )
    least = noise.threshold or 0.0
    if least > units:
        raise BadInput(
            f"a form is shown if about {least:,.0f} {unit}s have it, and there are {units:,}: none "
            "would be. Give a larger `fill_epsilon=...`, or public patterns; nothing is spent"
        )


@dataclass(frozen=True, eq=False)
class Forms:
    """Released forms: of each type, the noisy count of each, the largest first."""

    counts: Mapping[str, Mapping[str, float]]
    noise: Noise
    contributors: int

    @classmethod
    def of(cls, released: NoisyCounts) -> Forms:
        """From a histogram of pairs."""
        counts: dict[str, dict[str, float]] = {}
        for pair, count in released.counts.items():
            kind, _, form = pair.rpartition("=")
            counts.setdefault(kind, {})[form] = count
        return cls(counts, released.noise, released.contributors)

    def weights(self) -> dict[str, dict[str, int]]:
        """Whole numbers in proportion to noisy counts, for ``draw_fills``."""
        return {
            kind: {form: max(1, round(count)) for form, count in each.items()}
            for kind, each in self.counts.items()
        }

    def summary(self) -> str:
        """The released forms in a line; covered by the guarantee."""
        least = self.noise.threshold or 0.0
        told = "; ".join(
            f"{kind} " + ", ".join(f"{form or '(no form)'} {share:.0%}" for form, share in each)
            for kind, each in self.shares().items()
        )
        return (
            f"forms of made-up values, released with noise of {self.noise.deviation:.4g} on every "
            f"count, those below {least:.4g} dropped: {told or 'none'}"
        )

    def shares(self) -> dict[str, list[tuple[str, float]]]:
        """How often each form of a type is drawn."""
        return {
            kind: [(form, weight / sum(each.values())) for form, weight in each.items()]
            for kind, each in self.weights().items()
        }

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema": SCHEMA,
            "forms": {kind: dict(each) for kind, each in self.counts.items()},
            "contributors": self.contributors,
            "noise": self.noise.as_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Forms:
        """The inverse of ``as_dict``."""
        counts = {
            str(kind): {str(form): float(count) for form, count in each.items()}
            for kind, each in content["forms"].items()
        }
        if not all(each and all(map(math.isfinite, each.values())) for each in counts.values()):
            raise ValueError("a type without forms, or a count that is no number")
        return cls(counts, Noise.from_dict(content["noise"]), int(content["contributors"]))


def learn_forms(
    splits: Sequence[Split],
    given: Collection[str],
    unit: str,
    noise: Noise,
    randomness: Randomness,
    *,
    before: Callable[[Noise], None] | None = None,
) -> Forms:
    """Release the forms of what was found; each call is a release of its own.

    Types that are ``given`` have public patterns. ``before`` is called before the noise is drawn.
    """
    tally, chosen = Tally(noise.contribution), randomness.stream(CHOICE)
    # Where something was found is public, so is who contributes.
    found = ((one.original, list_forms(one, given)) for one in splits if one.private)
    for items in items_of_contributors(found, unit):
        tally.add(items, chosen)
    if before is not None:
        before(noise)
    return Forms.of(tally.release(noise, randomness.stream(NOISE)))


def forms_of_run(
    folder: RunFolder | None, noise: Noise, learn: Callable[[Callable[[Noise], None] | None], Forms]
) -> tuple[Forms, bool]:
    """The forms of a run, read or drawn by ``learn``, and whether they were drawn; only once."""
    if folder is None:  # nothing is kept, so nothing can be resumed
        return learn(None), True
    place = folder.forms.with_suffix("")
    note = DrawNote(place, {})
    if folder.forms.is_file():
        return _same(load_forms(folder), note, noise), False
    refuse_spent(place)
    if folder.ledger.exists():
        raise CannotResume(
            f"{folder.path} holds a run whose forms.json is gone; a second draw is not paid for. "
            "Put it back, or start a new run in another folder"
        )
    made = learn(note.write)
    content = json.dumps(made.as_dict(), indent=2, ensure_ascii=False) + "\n"
    try:
        write_whole(folder.forms, content.encode())
        sync_folder(folder.path)
    except OSError as error:
        problem = error.strerror or "writing failed"
        raise StorageFailed(f"cannot write {folder.forms}: {problem}") from None
    return made, True


def _same(found: Forms, note: DrawNote, noise: Noise) -> Forms:
    """What an earlier process drew, if it was asked for the same."""
    if not note.path.is_file():
        raise CannotResume(
            f"{note.path} is gone, so nobody knows how {note.place}.json was drawn; put it back, "
            "or start a new run in another folder"
        )
    if found.noise != noise or not note.matches(noise):
        raise CannotResume(
            f"{note.place}.json was drawn with another level; resume with the same, or start a new "
            "run in another folder"
        )
    return found


def load_forms(folder: RunFolder) -> Forms:
    """The forms that a run has released."""
    content = read_object(folder.forms, "the forms of made-up values")
    try:
        if content["schema"] != SCHEMA:
            raise BadInput(f"cannot read {folder.forms}: another version of sfumato wrote it")
        return Forms.from_dict(content)
    except (KeyError, TypeError, ValueError, AttributeError, InvalidArgument):
        raise BadInput(f"{folder.forms} is damaged: it does not hold forms") from None
