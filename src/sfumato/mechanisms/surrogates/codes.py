"""One surrogate of any kind, given its form: the table of kinds, and codes for all the rest.

A code has the form of a public pattern. Keys, plates and record numbers have fixed forms; what has
no kind becomes eight small letters. Addresses of wallets have no valid check, so that nobody pays.
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.mechanisms.surrogates import addresses, contacts, numbers
from sfumato.mechanisms.surrogates.chance import Chance
from sfumato.mechanisms.surrogates.form import Form
from sfumato.mechanisms.surrogates.layouts import draw_day, spell_date
from sfumato.mechanisms.surrogates.names import Shape, draw_name

PATTERN = "AA-000000"
NEUTRAL = "aaaaaaaa"
_PLATES = {
    "US": "AAA 0000", "GB": "QQ00 AAA", "DE": "XX-AA 0000", "FR": "WW-000-AA", "ES": "0000 XXX",
}  # fmt: skip
# What stands there in any case, and what is drawn after it.
_FIXED = {
    "PASSPORT": ("XX", "0000000"),
    "ACCOUNT": ("00", "00000000"),
    "MEDICAL_RECORD": ("00", "000000"),
    "API_KEY": ("key-", "0a" * 16),
    "CVV": ("", "000"),
    "CRYPTO": ("bc1q", "0a" * 19),
}
Draw = Callable[[Form, Chance], str]


def draw(form: Form, chance: Chance, pattern: str = PATTERN) -> str:
    """A surrogate for any original of this form; the original itself is not known here."""
    found = _BY_KIND.get(form.kind)
    if found is not None:
        return found(form, chance)
    if form.layout:
        return chance.fill(form.layout)
    if form.kind == "LICENSE_PLATE":
        return chance.fill(_PLATES[form.local.country])
    if form.kind == "CODE":
        return chance.fill(pattern)
    fixed, drawn = _FIXED.get(form.kind, ("", NEUTRAL))
    return fixed + chance.fill(drawn)


def _person(form: Form, chance: Chance) -> str:
    return draw_name(form.shape or Shape(), form.local.language, form.local.words, chance)


def _date(form: Form, chance: Chance) -> str:
    if form.layout:
        return spell_date(form.layout, form.local.words, chance)
    return draw_day(chance).isoformat()


def _coordinates(_: Form, chance: Chance) -> str:
    north, east = chance.between(-900_000, 900_000), chance.between(-1_800_000, 1_800_000)
    return f"{north / 10_000:.4f}, {east / 10_000:.4f}"


def _money(form: Form, chance: Chance) -> str:
    currency = {"US": "USD", "GB": "GBP"}.get(form.local.country, "EUR")
    return f"{chance.between(1, 999)}.{chance.digits(2)} {currency}"


def _or_layout(draw_free: Draw) -> Draw:
    """The layout filled, if one is kept."""
    return lambda form, chance: chance.fill(form.layout) if form.layout else draw_free(form, chance)


_BY_KIND: dict[str, Draw] = {
    "PERSON": _person,
    "EMAIL": contacts.draw_email,
    "PHONE": contacts.draw_phone,
    "URL": contacts.draw_url,
    "IP_ADDRESS": contacts.draw_ip,
    "CREDIT_CARD": lambda form, chance: numbers.draw_card(chance, form.layout),
    "IBAN": lambda form, chance: numbers.draw_iban(
        chance, form.origin or form.local.country, form.layout
    ),
    "US_SSN": lambda form, chance: numbers.draw_ssn(chance, form.layout),
    "NATIONAL_ID": _or_layout(lambda form, chance: numbers.draw_national_id(chance, form.local)),
    "TAX_ID": _or_layout(lambda form, chance: numbers.draw_tax_id(chance, form.local)),
    "ADDRESS": lambda form, chance: addresses.draw_address(chance, form.local),
    "POSTCODE": _or_layout(lambda form, chance: addresses.draw_town(chance, form.local).code),
    "LOCATION": lambda form, chance: addresses.draw_town(chance, form.local).name,
    "ORG": lambda form, chance: addresses.draw_company(chance, form.local),
    "NORP": lambda form, chance: chance.pick(form.local.words["peoples"]),
    "DATE_TIME": _date,
    "TIME": _or_layout(lambda _, chance: f"{chance.below(24):02}:{chance.below(60):02}"),
    "AGE": _or_layout(lambda _, chance: str(chance.between(18, 90))),
    "NUMBER": _or_layout(lambda _, chance: str(chance.between(1, 999))),
    "QUANTITY": _or_layout(lambda _, chance: str(chance.between(1, 999))),
    "MONEY": _or_layout(_money),
    "PERCENT": _or_layout(lambda _, chance: f"{chance.below(101)} %"),
    "COORDINATES": _or_layout(_coordinates),
}
