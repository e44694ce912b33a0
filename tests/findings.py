"""What the recognizers of ``pii`` find in a fixed corpus, as short digests.

Recognizers are made faster now and then. What they find must not change by that: the digests in
``data/findings.json`` were computed by the version before, and a test compares them. Whoever
changes what is found on purpose writes them anew with ``python tests/findings.py``.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim
from sfumato.policies.pii.detector import _RECOGNIZERS, DEFAULT, Recognizer, _recognizers
from sfumato.policies.pii.reading import Page, Reading

STORED = Path(__file__).parent / "data" / "findings.json"
KINDS = tuple(_RECOGNIZERS)
_AGAIN = "person-again"
WIDTH = 4  # hexadecimal digits for each document and kind

# Pieces that some recognizer has a rule for, and pieces that nearly are.
PIECES = """
my name is|My name is|what is your name?|Your full name please?|name:|Name:|nombre:|Who am I speaking to?
ann|Ann|ann smith|Ann Smith|Smith, Ann|smith, ann|Anna van der Meer|J. R. Hartley|ANN|mark|Mark|April
it's|It's|I am|i'm|this is|This is|Ich bin|je suis|Soy|Yes,|yes|sure|Hi|Hello|hey|Dear|Liebe|Hola|Bonjour
Mr.|Mrs|Dr|Dr. Prof.|Herr|Frau|Madame|Señora|M.|Sig.ra|Pan|Don|Miss|MS|Good morning|Sehr geehrte
regards|Best,|Thanks,|thank you|Cheers -|Cordialement,|LG|MfG|signed by|said|says|asked|wrote|lives|was born
patient|payable to|c/o|by|By:|From:|to:|cc|spoke with|my wife|friend|landlord's name|account holder|the
San|Lake|Road|Street|street|Avenue|St|Hospital|Ltd|Bank|England|Texas|London|NY|CA|TX|Fort|Mount
12|5|221B|6452|10115|80703|80703-1234|NW1 6XE|K1A 0B1|D02 X285|1012 AB|603 855|75707|03-123|1234-567
Hauptstraße|Haupt Straße|Eulengasse|Via Roma|Calle Mayor|rue de la Paix|bis|Am Markt|Elm Avenue|Mill Lane
PO Box|Postfach|Apt|apt 4|Suite 200|Flat|No.|Plot|near the tank|opp.|Layout|Nagar|, Altenbrück|Springfield,
zip|PLZ|postal code|address is|live at|ship to|deliver to|adresse|wohnhaft|shipped to|the delivery address
020 7946 0958|+44 20 7946 0958|(555) 010-0199|555-0142|0041 44 668 18 00|030 1234567|06 12 34 56 78|1-800-555-0199
tel|phone|call|Call|mobile|fax|WhatsApp|ring|number|Handy|teléfono|ext 5|x12|x5|+1|+49 (0)30|00
4111 1111 1111 1111|4111111111111111|3782 822463 10005|1234 5678 9012 3456|card|visa|Karte|card ending in|last four digits: 1234
123-45-6789|123 45 6789|123456789|SSN|social security|xxx-xx-1234|***-**-9876|tin|987654321|000-12-3456
DE89 3704 0044 0532 0130 00|DE89370400440532013000|GB29 NWBK 6016 1331 9268 19|FR7630006000011234567890189|XX12 3456|IBAN|Konto|account
192.0.2.1|10.0.0.256|1.2.3.4.5|2001:db8::1|::1|fe80::1%eth0|192.168.1.1:8080|10.0.0.0/8|12:34:56:78|a:b
a@b.c|me@example.org|"a b"@x.org|me (at) x.org|me at example dot org|tom [at] web.de|@handle|x@|@x|mail=tom@web.de
www.x.org|https://x.org/a?b=c|http://[::1]/|example.com|example.co.uk/page|left.In|film.it is|readme.md|ftp://a|x.onion
3 May 1980|May 3|May|1980-05-03|03/05/80|3.5.1980|1980|1990s|1914-18|12:30|5 pm|14h30|17 Uhr|1er mai|12 de enero de 1990|20200506
order|Order no.|order number is|tracking number|ref|Ref:|Kundennummer:|id|ID|member id|invoice #|customer number|passport|pin
SO7058191|LN7HNE7QV1|ABCDEFGHIJ|843-58572-7002|145572|RR 123 456 785 DE|1Z 999 AA1 01 2345 6784|7712 3456 7890|AB12|john1985|12km|21st|100-year-old
$178.95|EUR 12|12.345.678|1 234 567|3.14159265|12,50 €|50 %|1,000|£5|12 345|0.5|Rs. 500|1/2|5-6
and|the|for|of|in|was|a|we|you|please|now|is|ist|est|es|lautet|which|that|with|not|great
age 45|3-year-old|MRN 8837421|passport number AB 1234567|sort code 20-00-00|CVV 123|exp 04/27|4111111111111111, 12-26|Kennzeichen B-MW 1234|my car KA 01 AB 1234
PESEL 44051401359|811228-9874|cpf 390.533.447-05|DNI 54362315K|AB 12 34 56 C|Steuer-ID 36 574 261 809|DE 136695976|tax id 12-3456789|pan AAPPV8261K|40.7128, -74.0060|lat: 51.50735
user=jdoe|login: "tom"|api_key=abc123def456ghi|password is Tr0ub4dor&3|AKIAIOSFODNN7EXAMPLE|0x52908400098527886E0F7030069857D2E4169EE7|1BoatSLRHtKNngkdXEeobR76b53LETtpyT|Bearer abcdEF12345
SYS:|USR:|AB:|" said Ann Smith.|Springfield, CA 80703|Fallow Ridge, CO 80703|555.012.0134|5 Ann Smith 12\nApt 4|London SW1A 1AA
"""  # noqa: E501
JOINTS = (
    " ",
    " ",
    " ",
    " ",
    " ",
    ", ",
    ". ",
    "\n",
    "",
    "\n\n",
    " - ",
    ": ",
    " (",
    ") ",
    "\t",
    " #",
    "? ",
    "!",
)
ODD = (
    "\u00a0",
    "\u2011",
    "\u200b",
    "٠١٢",
    "\uff11\uff12\uff13",
    "\u2019",
    "é",
    "ß",
    "İ",
    "\u3002",
    "年",
    "🙂",
)


def texts() -> Iterator[str]:
    """Generated dialogues, and pieces put together at random."""
    for dialogue in generate_customersim(250, Randomness.reproducible(20)):
        yield dialogue.document.text
    draws = random.Random(20)
    pieces = [piece for line in PIECES.strip().split("\n") for piece in line.split("|") if piece]
    for number in range(600):
        chosen = []
        for _ in range(draws.randrange(5, 60)):
            chosen.append(pieces[draws.randrange(len(pieces))])
            joint = JOINTS[draws.randrange(len(JOINTS))]
            chosen.append(" " if number % 3 == 0 else joint)
            if number % 4 == 0 and draws.randrange(5) == 0:
                chosen.append(ODD[draws.randrange(len(ODD))])
        yield "".join(chosen)


def digests(recognizer: Recognizer) -> str:
    """One short digest for each text, one after the other.

    All texts are read together, so what a quick look leaves out shows, too.
    """
    page = read_together()
    where = frozenset(recognizer.where(page))
    return "".join(
        _digest(recognizer, reading if reading.number in where else None)
        for reading in page.readings
    )


@cache
def read_together() -> Page:
    """One page of all texts."""
    return Page(list(texts()))


def _digest(recognizer: Recognizer, reading: Reading | None) -> str:
    spans = sorted(set(recognizer.find(reading))) if reading else []
    listed = [(span.start, span.end, span.label, span.rule, span.reason) for span in spans]
    # A name that is found by another rule at the same place need not be found again.
    others = {(span.start, span.end) for span in spans if span.rule != _AGAIN}
    listed = [one for one in listed if one[3] != _AGAIN or one[:2] not in others]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:WIDTH]


def main() -> None:
    """Write the digests anew."""
    recognizers = zip(KINDS, _recognizers(KINDS, DEFAULT), strict=True)
    found = {kind: digests(recognizer) for kind, recognizer in recognizers}
    STORED.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
