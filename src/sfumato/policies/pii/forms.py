"""What a form tells by itself: its shape, and which words of the rules it is.

Forms are what tokens look like ("Ann", "ann" and "," are three forms). Everything here is looked up
once for each form of some texts, so that what is asked of every token is a matter of single bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.around import acting_words, role_words
from sfumato.policies.pii.capitals import JOINING, PARTICLES
from sfumato.policies.pii.cues import NOT_NAMES
from sfumato.policies.pii.judging import idle_words
from sfumato.policies.pii.listed import opening_words
from sfumato.policies.pii.names import list_names, plain
from sfumato.vectors.load import default_space

SHAPES = (
    *("empty", "small", "title", "shouted", "letter", "mixed", "uncased", "digits", "ending"),
    *("stop", "comma", "quote", "bracket", "at", "hash", "joint", "line", "other"),
)
_SIGNS = {
    **dict.fromkeys(".!?…", "stop"),
    **dict.fromkeys(",;:", "comma"),
    **dict.fromkeys("\"'`´‘’“”„«»‹›", "quote"),
    **dict.fromkeys("()[]{}<>", "bracket"),
    **dict.fromkeys("-/_&+", "joint"),
    "@": "at",
    "#": "hash",
    **dict.fromkeys("\n\t\v\f\x85\u2028\u2029", "line"),
}

MARKS = (
    *("bar", "apostrophe", "hyphen", "dot", "colon", "legal"),  # signs, and Ltd or GmbH
    *("parts two", "joins two", "given", "abbreviated"),  # where the name of a person ends
    *("thing", "unit", "ordinary", "head", "tag", "starter"),  # what names nobody
    *("listed", "plain", "particle", "article", "joining", "opens", "weak", "short", "capital"),
    *("titled", "idle", "named", "role", "acts", "prefix"),  # what the rules for names look at
)
_NUMBERS = {name: 1 << number for number, name in enumerate(MARKS)}

_ABBREVIATED = """
dr mr mrs ms prof st ste mt ft jr sr hr fr sra dra srta hon rev gen col sgt capt lt gov sen rep
messrs bros co inc ltd corp no
"""
# Written with a full stop or not, with a capital or not.
_DAYS = """
monday tuesday wednesday thursday friday saturday mon tue tues wed thu thur thurs fri sat
montag dienstag mittwoch donnerstag freitag samstag sonntag
lunes martes miercoles jueves viernes sabado lundi mardi mercredi jeudi vendredi samedi dimanche
january february september october november december feb sept oct nov dec
januar februar oktober dezember enero febrero septiembre octubre noviembre diciembre
janvier fevrier juillet aout septembre octobre novembre decembre
"""
_SHORT = """
ETA ASAP FYI BTW RSVP TBD PDF CSV USB HDMI GPU CPU RAM SSD HDD SMS FAQ PIN URL API VPN LAN WLAN GB
MB TB kB BID TID QID PRN HTN COPD SpO mmHg bpm Pt Hx Dx Rx Tx Sx ECG EKG MRI HbA
"""
# What forms, letters and notes call things, in whatever capitals.
_LABELS = """
ssn dni nie nif cif nhc nss iban bic swift mrn npi pnr tel telefon telefono telephone tlf fax mobil
movil handy steuer vers hta vat postcode postcodes zipcode postleitzahl
gdpr dsgvo rgpd aws thx pls plz importe betrag montant kontoinhaber titulaire titular factura
rechnung facture betreff asunto objet gesendet kundennummer kennzeichen responsable sav hcp
aufnahme entlassung anamnese befund diagnose therapie apoplex glucemia glycemie varon mujer hombre
buyer senior junior grandpa grandma granny mom mommy mum mummy dad daddy oma opa abuelo abuela mamie
"""
_STREETS = ("straße", "strasse", "allee", "gasse", "platz")  # in small letters
# What forms call things where a colon or an equals sign follows: "Von: Heiko".
_HEADS = "von an de para a from to cc bcc re fw fwd aw wg date datum fecha"
_UNITS = """
mg kg km cm mm ml dl mcg g l m bpm mmhg gb mb tb kb ghz mhz khz kw kwh w v a hz fps mp db rpm mph c
f lb lbs oz ft in h hr hrs min sec ms s d wk mo yr yrs eur usd gbp chf stk std uhr mmol px dpi mbps
gbps inch zoll liter litre am pm x iu ie vnd inr jpy cad aud nzd nok sek dkk pln czk huf brl mxn ars
cop clp zar cny rub krw thb sgd hkd
"""
# Beside those that follow a cue without being a name.
_STARTERS = """
can could would shall should do does did have has had might must been being were these those than
then there their them his her its us goodbye bye see need want get give take make keep tell let why
because while after before since until into over under only too more most some every each both
mail email phone ring text contact ask write fax message
"""
_AND = ("and", "or", "und", "oder", "et", "ou", "o", "u")
_OF = ("of", "the", "for", "des", "und", "et")  # beside particles, inside names of organizations
_JOINS_TWO = ("y", "e", "i")
_ARTICLES = ("la", "le", "las", "los", "el", "den")  # with which names of places begin
_LEGAL = "GmbH OHG AG KG SARL SAS Ltd LLC PLC plc Inc Corp SL SLU SA S"
_PREFIXES = ("d", "l", "dell", "al", "el", "ad", "ar", "as", "an")  # of d'Aubigny, al-Rashid
_BARS = '"“”„«»‹›/+|'
_LONGEST_TAG = 4
_SHAPE_BITS = 5
_MOST_KEPT = 60_000
_KEPT: dict[str, int] = {}


@cache
def shape_numbers(*names: str) -> tuple[int, ...]:
    """The numbers of some shapes."""
    return tuple(SHAPES.index(name) for name in names)


@cache
def _codes() -> dict[str, int]:
    return {name: number for number, name in enumerate(SHAPES)}


def describe(forms: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """The shape and the marks of each form; those of public words are kept."""
    codes = np.fromiter(map(_KEPT.get, forms, repeat(-1)), dtype=np.int64, count=len(forms))
    for number in np.flatnonzero(codes < 0).tolist():
        form = forms[number]
        codes[number] = code = marks_of(form) << _SHAPE_BITS | shape_of(form)
        if len(_KEPT) < _MOST_KEPT and is_public(form):
            _KEPT[form] = code
    return (codes & ((1 << _SHAPE_BITS) - 1)).astype(np.uint8), (codes >> _SHAPE_BITS).astype(
        np.uint32
    )


def is_public(form: str) -> bool:
    """Whether a form is a sign, or a word of the embedded vocabulary in one of its usual forms.

    What is worked out for these may be kept; any other word may be private.
    """
    if len(form) == 1 and not form.isalnum():
        return True
    small = form.lower()
    if small not in vocabulary():
        return False
    return form in (small, form.upper(), small.capitalize())


@cache
def vocabulary() -> dict[str, int]:
    """The words that have embedded vectors, and which vector each has."""
    space = default_space()
    return {word: number for number, word in reversed(list(enumerate(space.words)))}


def shape_of(form: str) -> int:
    """The number of a form's shape.

    >>> [SHAPES[shape_of(form)] for form in ("Ann", "ann", "ANN", "A", "McArthur", "42", "…", "愛")]
    ['title', 'small', 'shouted', 'letter', 'mixed', 'digits', 'stop', 'uncased']
    """
    return _codes()[_shape(form)]


def _shape(form: str) -> str:
    first = form[:1]
    if first.isalpha():
        return _shape_of_word(form)
    if first.isnumeric():
        return "digits"
    if first == "'" and form[1:2].isalpha():
        return "ending"
    return _SIGNS.get(first, "other") if form else "empty"


def _shape_of_word(word: str) -> str:
    first = word[0]
    if word.islower():
        shape = "small"
    elif word.isupper():
        shape = "letter" if len(word) == 1 else "shouted"
    elif first.isupper() and word[1:].islower():
        shape = "title"
    else:
        shape = "uncased" if first.lower() == first.upper() else "mixed"
    return shape


def mark(name: str) -> int:
    """The bit of a mark."""
    return _NUMBERS[name]


def marks_of(form: str) -> int:
    """The marks of a form, one bit each.

    >>> [name for name in MARKS if marks_of("Tue") & mark(name)]
    ['thing', 'titled']
    """
    exact, in_small, without = _marked()
    small = form.lower()
    simple = small if form.isascii() else plain(form)
    found = exact.get(form, 0) | in_small.get(small, 0) | without.get(simple, 0)
    if form[:1].isupper():
        found |= _NUMBERS["titled"]
    else:
        found &= ~_NUMBERS["starter"]
    if len(form) <= _LONGEST_TAG:
        found |= _short_marks(form)
    elif form.endswith(_STREETS) and form.islower():
        found |= _NUMBERS["thing"]
    if form and form[0] in _BARS:
        found |= _NUMBERS["bar"]
    return found


def _short_marks(form: str) -> int:
    shouted, short = form.isupper(), len(form) == 1
    found = _NUMBERS["tag"] if shouted else 0
    if short:
        found |= _NUMBERS["short"] | _NUMBERS["weak"] | (_NUMBERS["capital"] if shouted else 0)
    return found


@cache
def _marked() -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """The marks of words: as they are written, in small letters, and without accents, too."""
    names = list_names()
    particles = frozenset(PARTICLES.split())
    inside = particles | frozenset(_OF)
    exact = {
        "apostrophe": "'’‘`´",
        "hyphen": "-",
        "dot": ".",
        "colon": ":=",
        "legal": _LEGAL.split(),
        "parts two": ["", "&", *((names.words | frozenset(_AND)) - particles)],
        "joins two": _JOINS_TWO,
        "thing": _SHORT.split(),
        "listed": names.words,
        "plain": names.words - inside,
        "particle": particles,
        "article": _ARTICLES,
        "joining": JOINING,
        "weak": inside,
        "acts": acting_words(),
        "prefix": _PREFIXES,
    }
    in_small = {
        "abbreviated": _ABBREVIATED.split(),
        "unit": _UNITS.split(),
        "ordinary": names.words,
        "starter": (frozenset(f"{NOT_NAMES} {_STARTERS}".split())) - names.alone,
        "role": role_words(),
    }
    without: dict[str, Iterable[str]] = {
        "given": names.alone,
        "thing": f"{_DAYS} {_LABELS}".split(),
        "head": _HEADS.split(),
        "idle": idle_words(),
        "named": names.alone | names.paired | names.surnames,
        "opens": opening_words(),
        "role": role_words(),
    }
    return _bits(exact), _bits(in_small), _bits(without)


def _bits(marked: Mapping[str, Iterable[str]]) -> dict[str, int]:
    bits: dict[str, int] = {}
    for name, words in marked.items():
        for word in words:
            bits[word] = bits.get(word, 0) | _NUMBERS[name]
    return bits
