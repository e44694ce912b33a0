"""The form of an original: all that its surrogate may depend on.

A surrogate is a function of a form and of chance. What a form holds is therefore all that shows:
the kind, the language and the country, of a name its shape, and what ``keep`` asks for. Nothing in
a form is longer than it has to be: spellings become signs, white space becomes one space.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from sfumato.core.kinds import kind_of
from sfumato.mechanisms.surrogates.lists import Local
from sfumato.mechanisms.surrogates.names import Shape, read_name
from sfumato.mechanisms.surrogates.numbers import IBAN_PARTS
from sfumato.text.span import Stretch

KEEPS = ("format", "domain", "country")
# Kinds without a layout: what they look like is decided by lists, not by digits and letters.
FREE = ("PERSON", "LOCATION", "ORG", "ADDRESS", "NORP")
_SEPARATORS = frozenset(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_HOST = re.compile(r"(?:[a-z][a-z0-9+.\-]*://)?(?:[^/?#@\s]*@)?([^/:?#\s]*)", re.IGNORECASE)
# Labels with dots between them. The last one is of one script: "com" and "рф", and neither
# "com张伟", which is a name that follows a domain, nor the figures of an IP address.
_NAME_OF_HOST = re.compile(r"(?:(?:[^\W_]|-)+\.)+(?:[a-z][a-z0-9-]*|(?:(?![a-z0-9])[^\W_])+)")


@dataclass(frozen=True)
class Form:
    """What may be known of an original; two originals of one form are treated alike."""

    kind: str
    local: Local
    shape: Shape | None = None
    layout: str = field(default="", repr=False)
    domain: str = field(default="", repr=False)
    origin: str = ""  # the country of the number, as an ISO 3166 code


@dataclass(frozen=True)
class Reader:
    """How much of an original goes into its form: the settings, which are public."""

    keep: frozenset[str]
    language: str = ""
    country: str = ""

    def read(self, stretch: Stretch) -> Form:
        """The form of what stands at a place."""
        kind = kind_of(stretch.label)
        local = Local.of(self.language or stretch.language, self.country)
        text = stretch.text
        shape = read_name(stretch, local.language).shape if kind == "PERSON" else None
        # Next to something else that was found, there is no telling where a domain ends.
        alone = stretch.cause.start <= stretch.start and stretch.end <= stretch.cause.end
        domain = read_domain(text, kind) if "domain" in self.keep and alone else ""
        origin = read_country(text, kind) if "country" in self.keep else ""
        layout = ""
        if "format" in self.keep and kind not in FREE:
            layout = read_layout(_shown_part(text, kind))
        return Form(kind, local, shape, layout, domain, origin)


def read_layout(text: str) -> str:
    r"""The text with ``0`` for digits, ``A`` and ``a`` for letters; separators stay.

    >>> read_layout("Nr. 12/3\u00a0Ä漢")
    'Aa. 00/0 Aa'
    """
    return "".join(_sign(letter) for letter in text)


def _sign(letter: str) -> str:
    category = unicodedata.category(letter)
    if category[0] == "N":
        return "0"
    if category[0] == "L":
        return "A" if letter.isupper() else "a"
    if letter in _SEPARATORS:
        return letter
    # Of other signs only that one stands there: marks and invisible ones go.
    return " " if letter.isspace() else "" if category[0] in "MC" else "-"


def _shown_part(text: str, kind: str) -> str:
    """Without the domain, which stays only if it is kept for itself."""
    if kind == "EMAIL":
        return text.rpartition("@")[0]
    if kind == "URL":
        match = _HOST.match(text)
        return text[match.end() :] if match else ""
    return text


def read_domain(text: str, kind: str) -> str:
    """The domain of an e-mail address or URL, if it looks like one.

    Something that is no address has none: a user's name found as an e-mail address would else stay.

    >>> read_domain("ada@Example.org", "EMAIL"), read_domain("http://a.example/x?y", "URL")
    ('example.org', 'a.example')
    >>> read_domain("ada.lovelace", "EMAIL")
    ''
    """
    host = ""
    if kind == "EMAIL":
        host = text.rpartition("@")[2] if "@" in text else ""
    elif kind == "URL":
        match = _HOST.match(text)
        host = match[1] if match else ""
    host = host.strip().lower()
    return host if _NAME_OF_HOST.fullmatch(host) and host.isprintable() else ""


def read_country(text: str, kind: str) -> str:
    """The country that a phone number (+ or 00) or an IBAN begins with.

    >>> read_country("+44 20 7946 0958", "PHONE"), read_country("DE02 1203", "IBAN")
    ('GB', 'DE')
    """
    if kind == "IBAN":
        code = text.strip()[:2].upper()
        return code if code in IBAN_PARTS else ""
    if kind == "PHONE":
        return _calling_country(text)
    return ""


def _calling_country(text: str) -> str:
    import phonenumbers

    digits = "".join(
        str(unicodedata.digit(one)) for one in text if unicodedata.category(one) == "Nd"
    )
    if "+" not in text[:3] and "\uff0b" not in text[:3]:
        if not digits.startswith("00"):
            return ""
        digits = digits[2:]
    for length in (1, 2, 3):
        regions = phonenumbers.COUNTRY_CODE_TO_REGION_CODE.get(int(digits[:length] or 0), ())
        if regions and regions[0] != "001":
            return str(regions[0])
    return ""
