"""Phone numbers, e-mail addresses, URLs and IP addresses that belong to nobody.

Phone numbers come from ranges that the regulators keep free for films and books: 555-0100 to
555-0199 (North American Numbering Plan), those of Ofcom for the United Kingdom, of the
Bundesnetzagentur for Germany and of Arcep for France. Spain has no such range; there a number
begins with 2 or 3, which the national plan assigns to nobody. For any other country, which ``keep``
alone leads to, a number has the right length and is none that the metadata of ``phonenumbers``
calls valid.

E-mail addresses and URLs are in example.com, example.net and example.org (RFC 2606), unless
``keep`` asks for their own domain, where an address may be somebody's. IP addresses are in
192.0.2.0/24, 198.51.100.0/24 and 203.0.113.0/24 (RFC 5737) or 2001:db8::/32 (RFC 3849).
"""

from __future__ import annotations

from sfumato.mechanisms.surrogates.chance import Chance
from sfumato.mechanisms.surrogates.form import Form
from sfumato.mechanisms.surrogates.layouts import spell
from sfumato.policies.pii.names import plain

DOMAINS = ("example.com", "example.net", "example.org")
IPV4_NETS = ("192.0.2", "198.51.100", "203.0.113")
_AREAS = "202 206 212 213 214 215 303 305 312 313 404 415 503 504 512 602 612 615 617 702 713 801"
# National numbers; # is a digit that is drawn.
RESERVED = {
    "US": tuple(f"{area}-555-01##" for area in _AREAS.split()),
    "GB": (
        "0113 496 0###", "0114 496 0###", "0115 496 0###", "0116 496 0###", "0117 496 0###",
        "0118 496 0###", "0121 496 0###", "0131 496 0###", "0141 496 0###", "0151 496 0###",
        "0161 496 0###", "020 7946 0###", "0191 498 0###", "029 2018 0###", "07700 900###",
    ),
    "DE": ("030 23125###", "069 90009###", "040 66969###", "0221 4710###", "089 99998###"),
    "FR": (
        "01 99 00 ## ##", "02 61 91 ## ##", "03 53 01 ## ##",
        "04 65 71 ## ##", "05 36 49 ## ##", "06 39 98 ## ##",
    ),
    "ES": ("2## ### ###", "3## ### ###"),
}  # fmt: skip
CALLING = {"US": "1", "GB": "44", "DE": "49", "FR": "33", "ES": "34"}
_TRIES = 200


def draw_phone(form: Form, chance: Chance) -> str:
    """A number of the country in the national form, or in the international one if it is kept."""
    country = form.origin or form.local.country
    national = _national(country, chance)
    code = CALLING.get(country) or _calling_code(country)
    international = f"+{code} {national.removeprefix('0')}"
    if not form.layout:
        return international if form.origin else national
    if form.layout.startswith("+"):
        return _in_layout(form.layout, international, code if form.origin else "", chance)
    if form.origin:
        return _in_layout(form.layout, f"00{international}", f"00{code}", chance)
    return _in_layout(form.layout, national, "", chance)


def _in_layout(layout: str, number: str, begin: str, chance: Chance) -> str:
    """The number if it has that many digits; otherwise any digits after the beginning."""
    wanted = layout.count("0")
    digits = "".join(sign for sign in number if sign.isdigit())
    if len(digits) != wanted:
        digits = (begin + chance.digits(wanted))[:wanted]
    return spell(layout, digits, chance)


def _national(country: str, chance: Chance) -> str:
    """A number from a reserved range, or of the right length and in no range of the country."""
    if country in RESERVED:
        drawn = chance.pick(RESERVED[country])
        return "".join(chance.digits(1) if sign == "#" else sign for sign in drawn)
    import phonenumbers

    example = phonenumbers.example_number(country)
    length = len(str(example.national_number)) if example else 9
    digits = ""
    for _ in range(_TRIES):
        digits = str(chance.between(1, 9)) + chance.digits(length - 1)
        number = phonenumbers.PhoneNumber(
            country_code=int(_calling_code(country)), national_number=int(digits)
        )
        if not phonenumbers.is_valid_number(number):
            break
    return digits


def _calling_code(country: str) -> str:
    import phonenumbers

    return str(phonenumbers.country_code_for_region(country))


def draw_email(form: Form, chance: Chance) -> str:
    """A name at an example domain, or at the one that is kept."""
    words = form.local.words
    given, family = chance.pick(words["given"]), chance.pick(words["family"])
    domain = chance.pick(DOMAINS)
    local = chance.fill(form.layout) or plain(f"{given}.{family}").replace(" ", "")
    return f"{local}@{form.domain or domain}"


def draw_url(form: Form, chance: Chance) -> str:
    """A page of an example domain, or of the one that is kept."""
    domain, page = f"www.{chance.pick(DOMAINS)}", chance.fill("/aaaaaaaa")
    return f"https://{form.domain or domain}{chance.fill(form.layout) or page}"


def draw_ip(form: Form, chance: Chance) -> str:
    """An address for documentation; of version 6 only if the format is kept and is that."""
    if ":" in form.layout:
        groups = [f"{chance.below(2**16):x}" for _ in range(4)]
        return f"2001:db8::{':'.join(groups)}"
    return f"{chance.pick(IPV4_NETS)}.{chance.between(1, 254)}"
