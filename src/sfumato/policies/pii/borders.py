"""Where a name cannot go on, and which words are none, whatever the network says of them.

A name goes over no end of a sentence, no line break or tab, no colon, equals sign, bracket, comma
or double quote, and not over two blanks. The full stop of an initial or of "Dr" is no end of a
sentence. Nobody's name holds a figure, and only small words such as "van" stand inside one. Days of
the week, units after a figure, a few abbreviations and what forms call things name nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.capitals import PARTICLES
from sfumato.policies.pii.cues import NOT_NAMES
from sfumato.policies.pii.listed import leads_to_name
from sfumato.policies.pii.names import list_names, plain
from sfumato.policies.pii.tokens import Tokens, shape_numbers

Flags = NDArray[np.bool_]

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
movil handy steuer vers hta vat
gdpr dsgvo rgpd aws thx pls plz importe betrag montant kontoinhaber titulaire titular factura
rechnung facture betreff asunto objet gesendet kundennummer kennzeichen responsable sav hcp
aufnahme entlassung anamnese befund diagnose therapie apoplex glucemia glycemie varon mujer hombre
buyer senior junior grandpa grandma granny mom mommy mum mummy dad daddy oma opa abuelo abuela mamie
"""
# The same, but only where a colon or an equals sign follows: "Von: Heiko".
_STREETS = ("straße", "strasse", "allee", "gasse", "platz")  # in small letters
_HEADS = "von an de para a from to cc bcc re fw fwd aw wg date datum fecha"
_UNITS = """
mg kg km cm mm ml dl mcg g l m bpm mmhg gb mb tb kb ghz mhz khz kw kwh w v a hz fps mp db rpm mph c
f lb lbs oz ft in h hr hrs min sec ms s d wk mo yr yrs eur usd gbp chf stk std uhr mmol px dpi mbps
gbps inch zoll liter litre am pm x iu ie vnd inr jpy cad aud nzd nok sek dkk pln czk huf brl mxn ars
cop clp zar cny rub krw thb sgd hkd
"""
_BEFORE_SENTENCES = ("empty", "stop", "line", "comma", "quote", "bracket")
_LONGEST_TAG = 4
# Beside those that follow a cue without being a name.
_STARTERS = """
can could would shall should do does did have has had might must been being were these those than
then there their them his her its us goodbye bye see need want get give take make keep tell let why
because while after before since until into over under only too more most some every each both
mail email phone ring text contact ask write fax message
"""
_AND = ("and", "or", "und", "oder", "et", "ou", "o", "u")
_JOINING = ("y", "e", "i")
_BARS = ("comma", "bracket", "line", "other", "at", "hash")


def closed(tokens: Tokens, shapes: NDArray[np.uint8], person: Flags) -> Flags:
    """Which tokens no name goes over; ``person`` says which would be part of a person's."""
    shape = shapes[tokens.ids]
    bars = np.isin(shape, shape_numbers(*_BARS)) | _among(tokens, _is_bar)
    bars |= person & (
        np.isin(shape, shape_numbers("digits", "ending")) | _among(tokens, _parts_two)
    )
    before, after = _blanks(tokens)
    hyphen, apostrophe = _among(tokens, "-".__eq__), _among(tokens, _is_apostrophe)
    bars |= (hyphen & before & after) | (apostrophe & (before | after))
    joined = np.append(False, _among(tokens, _is_given)[:-1])
    bars |= person & joined & _among(tokens, _JOINING.__contains__)
    return bars | (np.isin(shape, shape_numbers("stop")) & ~_goes_on(tokens, shape, before, after))


def named_never(tokens: Tokens, shapes: NDArray[np.uint8]) -> Flags:
    """Which tokens are days, units after a figure, abbreviations of things, or heads of fields.

    So are words such as "What" that have a capital because a sentence begins, and "SYS" before a
    colon where a line begins.
    """
    shape = shapes[tokens.ids]
    digits = np.append(False, shape[:-1] == shape_numbers("digits")[0])
    headed = np.append(_among(tokens, (":", "=", '":').__contains__)[1:], False)
    begins = np.append(True, np.isin(shape[:-1], shape_numbers(*_BEFORE_SENTENCES)))
    never: Flags = _among(tokens, _is_thing) | (digits & _among(tokens, _is_unit))
    heads = _among(tokens, _is_ordinary) | _among(tokens, _is_head)
    never |= headed & (heads | (begins & _among(tokens, _is_tag)))
    return never | (begins & _among(tokens, _is_starter))


def opens(form: str) -> bool:
    """Whether a word stands before a name rather than begins it: "Call", "Mein"."""
    return leads_to_name(plain(form))


def lonely(tokens: Tokens, shapes: NDArray[np.uint8]) -> Flags:
    """Which tokens are a whole text of one word in small letters, where nothing tells a name."""
    nothing = tokens.ids == 0
    before, after = np.append(True, nothing[:-1]), np.append(nothing[1:], True)
    lone: Flags = before & after & (shapes[tokens.ids] == shape_numbers("small")[0])
    return lone


def apart(tokens: Tokens) -> Flags:
    """Which tokens stand farther from the one before than a blank."""
    far: Flags = np.append(False, tokens.starts[1:] - tokens.ends[:-1] > 1)
    return far


def _goes_on(tokens: Tokens, shape: NDArray[np.uint8], before: Flags, after: Flags) -> Flags:
    """Which full stops stand inside a name: of an initial, of an abbreviation, in "amazon.com"."""
    short = _among(tokens, _is_abbreviated) | (shape == shape_numbers("letter")[0])
    last = np.append(False, short[:-1])
    small = np.append(np.isin(shape, shape_numbers("small", "letter"))[1:], False)
    one: Flags = _among(tokens, ".".__eq__) & ~before
    inside: Flags = one & (last | (~after & small))
    return inside


def _blanks(tokens: Tokens) -> tuple[Flags, Flags]:
    """Whether there is a blank before and after each token, or nothing at all."""
    wide = tokens.starts[1:] != tokens.ends[:-1]
    return np.append(True, wide), np.append(wide, True)


def _among(tokens: Tokens, test: Callable[[str], bool]) -> Flags:
    """Which tokens pass a test of their form."""
    flags = np.fromiter(map(test, tokens.forms), dtype=np.bool_, count=len(tokens.forms))
    found: Flags = flags[tokens.ids]
    return found


def _is_bar(form: str) -> bool:
    return form[:1] in '"“”„«»‹›/+|' if form else False


def _is_apostrophe(form: str) -> bool:
    return form in ("'", "’", "‘", "`", "´")


def _parts_two(form: str) -> bool:
    """Whether a word parts the names of two people: one in small letters that no name holds."""
    return form in "&" or (form in _ordinary())


def _is_abbreviated(form: str) -> bool:
    return form.lower() in _set(_ABBREVIATED)


def _is_thing(form: str) -> bool:
    word = plain(form)
    if form.islower() and form.endswith(_STREETS):
        return True
    return form in _set(_SHORT) or word in _set(_DAYS) or word in _set(_LABELS)


def _is_head(form: str) -> bool:
    return plain(form) in _set(_HEADS)


def _is_unit(form: str) -> bool:
    return form.lower() in _set(_UNITS)


def _is_ordinary(form: str) -> bool:
    return form.lower() in list_names().words


def _is_tag(form: str) -> bool:
    return len(form) <= _LONGEST_TAG and form.isupper()


def _is_starter(form: str) -> bool:
    return form[:1].isupper() and form.lower() in _starters()


def _is_given(form: str) -> bool:
    return plain(form) in list_names().alone


@cache
def _starters() -> frozenset[str]:
    return (_set(NOT_NAMES) | _set(_STARTERS)) - list_names().alone


@cache
def _ordinary() -> frozenset[str]:
    return (list_names().words | frozenset(_AND)) - frozenset(PARTICLES.split())


@cache
def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())
