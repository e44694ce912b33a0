# ruff: noqa: E501 - a sentence is easier to read in one piece
"""Sentences of our own in other styles than any corpus: every marked stretch must be selected.

``⟦PHONE|020 7946 0958⟧`` marks what a reader would call a telephone number. All data are made up.
"""

from __future__ import annotations

import re

import pytest

from sfumato.policies.pii import Pii
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans
from sfumato.text.words import Words

STYLES = {
    "chat": [
        "yo its ⟦PERSON|Dario⟧ here, new number ⟦PHONE|07700 900461⟧ text me l8r",
        "lol just email me ⟦EMAIL|x.xena_99@mail.example⟧ or dm",
        "<kim> my insta is on ⟦URL|linktr.example.com/kim_b⟧ check it out",
        "<bob> server is at ⟦IP_ADDRESS|10.11.12.13:25565⟧ join quick",
        "my name is ⟦PERSON|ola nordmann⟧ and i need help pls",
        "agent: full name please?\ncaller: ⟦PERSON|Ruth Achieng⟧",
        "can u send it to ⟦ADDRESS|14 larch road⟧ by ⟦DATE_TIME|5pm⟧ thx",
        "my card is ⟦CREDIT_CARD|4929 1234 5678 9012⟧ exp ⟦DATE_TIME|12/05/2027⟧",
        "call me on ⟦PHONE|(415) 555-0137⟧ or ⟦PHONE|415.555.0138⟧ after work",
        "ring ⟦PHONE|555-0199⟧ ask for ⟦PERSON|Tilda Brown⟧",
        "the wifi box shows ⟦IP_ADDRESS|fe80::1ff:fe23:4567:890a%eth0⟧ if that helps",
        "order ⟦CODE|#88231⟧ never came!!! tracking says ⟦CODE|1Z999AA10123456784⟧",
    ],
    "medical notes": [
        "Pt ⟦PERSON|Mr. Okonkwo⟧, DOB ⟦DATE_TIME|03/14/1961⟧, MRN ⟦CODE|00451187⟧, seen ⟦DATE_TIME|2 Feb 2021⟧.",
        "SSN on file: ⟦US_SSN|078-05-1120⟧; next of kin reachable at ⟦PHONE|1-800-555-0100⟧.",
        "Referred by ⟦PERSON|Dr Helga Lindqvist⟧, fax ⟦PHONE|+46 8 123 456 78⟧.",
        "NHS number ⟦CODE|943 476 5919⟧, lives at ⟦ADDRESS|Flat 3, 27 Canal Street⟧, ⟦POSTCODE|M1 3HE⟧.",
        "Social security ⟦US_SSN|987654320⟧ was read back to the clerk.",
        "Patient: ⟦PERSON|Lena Fischer⟧ | admitted ⟦DATE_TIME|2020-11-03 07:45⟧",
    ],
    "signatures": [
        "Kind regards,\n⟦PERSON|Amélie Dubois⟧\n⟦PHONE|+33 1 70 18 99 00⟧\n⟦EMAIL|amelie.dubois@société.example⟧",
        "Best,\n⟦PERSON|Tom van der Berg⟧\nT: ⟦PHONE|020 123 4567⟧ | M: ⟦PHONE|06-12345678⟧ | ⟦URL|www.vanderberg.nl/team⟧",
        "Mit freundlichen Grüßen\n⟦PERSON|Jörg Weiß⟧\n⟦ADDRESS|Lindenstraße 12a⟧, ⟦POSTCODE|10969⟧ Berlin\nTel.: ⟦PHONE|030 / 901820⟧",
        "Dear ⟦PERSON|Priya⟧,\nthe transfer went to ⟦IBAN|DE89 3704 0044 0532 0130 00⟧ yesterday.",
        "Sincerely, ⟦PERSON|Jonas Petrauskas⟧ (⟦EMAIL|j.petrauskas+work@firma.example.lt⟧)",
        "Sent from my phone. Office: ⟦PHONE|(0)20 7946 0321 ext. 12⟧",
    ],
    "rows": [
        "id,name,email,phone\n17,Ana,⟦EMAIL|ana@example.net⟧,⟦PHONE|+351 912 345 678⟧",
        '"cust_009";"⟦EMAIL|b.o\'neil@example.co.uk⟧";"⟦IP_ADDRESS|203.0.113.77⟧";"⟦US_SSN|219-09-9999⟧"',
        "visa|⟦CREDIT_CARD|4012888888881881⟧|⟦DATE_TIME|2024-05-06T07:08:09Z⟧|ok",
        "acct\t⟦IBAN|GB82WEST12345698765432⟧\tEUR\t120",
        '{"ip": "⟦IP_ADDRESS|2001:db8:85a3::8a2e:370:7334⟧", "url": "⟦URL|https://intra.example/u/77?x=1⟧"}',
        "⟦EMAIL|root@localhost⟧ logged in from ⟦IP_ADDRESS|198.51.100.4⟧ at ⟦DATE_TIME|23:59:01⟧",
        "amex ⟦CREDIT_CARD|3782-822463-10005⟧; mc ⟦CREDIT_CARD|5555.5555.5555.4444⟧",
        "FR ⟦IBAN|FR1420041010050500013M02606⟧ / CH ⟦IBAN|CH93 0076 2011 6238 5295 7⟧",
    ],
    "German": [
        "Ich heiße ⟦PERSON|Sabine Krüger⟧ und wohne in der ⟦ADDRESS|Goethestr. 5⟧, ⟦POSTCODE|60313⟧ Frankfurt.",
        "Rufen Sie mich unter ⟦PHONE|0171/1234567⟧ oder ⟦PHONE|+49 (0)69 1234-567⟧ an.",
        "Termin am ⟦DATE_TIME|24.12.2022⟧ um ⟦DATE_TIME|14:30⟧ Uhr bei ⟦PERSON|Frau Dr. Hofmann⟧.",
        "Meine Karte ⟦CREDIT_CARD|5425233430109903⟧ wurde gesperrt, IBAN ⟦IBAN|AT611904300234573201⟧.",
        "Schreiben Sie an ⟦EMAIL|info@müller-söhne.example⟧ oder ⟦URL|www.müller-söhne.de⟧",
        "Handy ⟦PHONE|0664 1234567⟧ (Wien)",
    ],
    "French": [
        "Je m'appelle ⟦PERSON|Chloé Lefèvre⟧, mon portable est le ⟦PHONE|06 12 34 56 78⟧.",
        "Livrer au ⟦ADDRESS|8 bis rue des Lilas⟧, ⟦POSTCODE|69003⟧ Lyon avant le ⟦DATE_TIME|3 août 2021⟧.",
        "Écrivez à ⟦EMAIL|c.lefevre [at] exemple [dot] fr⟧, tél. ⟦PHONE|01.45.67.89.01⟧",
        "Carte bancaire n° ⟦CREDIT_CARD|4970 1000 0000 0000⟧",
    ],
    "Spanish and others": [
        "Me llamo ⟦PERSON|Lucía Fernández⟧, vivo en ⟦ADDRESS|Calle Mayor 14⟧, mi móvil ⟦PHONE|612 34 56 78⟧",
        "Chiamami al ⟦PHONE|347 123 4567⟧, abito in ⟦ADDRESS|Via Garibaldi 22⟧, ⟦POSTCODE|20121⟧ Milano",
        "Proszę dzwonić: ⟦PHONE|601-234-567⟧, ⟦ADDRESS|ul. Długa 7⟧, ⟦POSTCODE|00-238⟧ Warszawa",
        "IBAN ⟦IBAN|ES91 2100 0418 4502 0005 1332⟧ a nombre de la empresa",
        "Ring ⟦PHONE|70 12 34 56⟧ (DK) eller ⟦PHONE|912 34 567⟧ (NO)",
    ],
    "UK, India, Australia": [
        "Post it to ⟦ADDRESS|221B Baker Street⟧, London ⟦POSTCODE|NW1 6XE⟧ or ring ⟦PHONE|0161 496 0000⟧",
        "WhatsApp ⟦PHONE|+91 98765 43210⟧ or landline ⟦PHONE|011-23456789⟧, PIN code ⟦POSTCODE|110001⟧",
        "Aadhaar ⟦CODE|2345 6789 0123⟧, PAN ⟦CODE|ABCPK1234L⟧, call ⟦PHONE|98765-43210⟧",
        "Mob ⟦PHONE|0412 345 678⟧, office ⟦PHONE|(02) 9876 5432⟧, Sydney NSW ⟦POSTCODE|2000⟧",
        "NI number ⟦CODE|QQ123456C⟧, sort code ⟦CODE|20-00-00⟧",
        "Eircode ⟦POSTCODE|D02 X285⟧, tel ⟦PHONE|01 234 5678⟧",
    ],
    "unusual characters": [
        "電話は⟦PHONE|０３－１２３４－５６７８⟧です",
        "هاتف ⟦PHONE|٠٧٧١ ٢٣٤ ٥٦٧٨⟧",
        "call\u00a0me: ⟦PHONE|+1\u00a0212\u2011555\u20110142⟧",
        "card ⟦CREDIT_CARD|4111\u20091111\u20091111\u20091111⟧",
        "ＳＳＮ ⟦US_SSN|１２３－４５－６７８９⟧",
        "write to ⟦EMAIL|почта@пример.рф⟧ or ⟦EMAIL|用户@例子.中国⟧",
        "ssn ⟦US_SSN|123–45–6789⟧ with en dashes",
        "⟦EMAIL|ｕｓｅｒ＠ｅｘａｍｐｌｅ．ｏｒｇ⟧ in full width",
    ],
    "names without a cue": [
        "Lunch with ⟦PERSON|Deborah⟧ and ⟦PERSON|Kwame Boateng⟧ moved to noon.",
        "Minutes: present were ⟦PERSON|H. Gutierrez⟧, ⟦PERSON|Marek J. Nowak⟧ and ⟦PERSON|Anneke van den Berg⟧.",
        "⟦PERSON|Fatima⟧ asked whether ⟦PERSON|Wojciech⟧ was in.",
    ],
    "parcels": [
        "Your item ⟦CODE|RR 123 456 785 DE⟧ is at the desk; the courier's is ⟦CODE|1Z 999 AA1 01 2345 6784⟧.",
        "Deliver to ⟦ADDRESS|Plot 7, Rose Layout, near the temple, Agra - 603 855⟧.",
        "Return to ⟦ADDRESS|PO Box 88, Pine Flats, NM 87505⟧ or ⟦ADDRESS|The Mill, Oak Lane, Orme, TH9 6AB⟧.",
        "It went to the card ending in ⟦CODE|4431⟧.",
    ],
    "prose": [
        "She left her number, ⟦PHONE|212-555-0187⟧, with the porter at ⟦ADDRESS|5 Elm Avenue⟧.",
        "His passport (⟦CODE|C01X00T47⟧) expires in ⟦DATE_TIME|March 2031⟧.",
        "The complaint came from ⟦IP_ADDRESS|192.0.2.146⟧, not from ⟦IP_ADDRESS|::1⟧.",
        "Everything is on ⟦URL|http://example.com/~anna/cv.pdf⟧, or ask at ⟦URL|anna-cv.example.org⟧.",
        "He gave a social security number, ⟦US_SSN|900 12 3456⟧, that was never issued.",
        "“Bill it to ⟦CREDIT_CARD|6011111111111117⟧,” she said, “or to my other card, ⟦CREDIT_CARD|1234567812345678⟧.”",
        "The money left account ⟦IBAN|nl91abna0417164300⟧ on ⟦DATE_TIME|May 7th, 2019⟧.",
        "⟦PERSON|Margaret Hale⟧ said that ⟦PERSON|Mrs. Thornton⟧ had already left.",
    ],
}
MARK = re.compile(r"⟦(\w+)\|([^⟧]*)⟧")
CASES = [(style, marked) for style, sentences in STYLES.items() for marked in sentences]


def unmarked(marked: str) -> tuple[str, Spans]:
    """The text without its marks, and what they marked."""
    text, spans, reached = "", [], 0
    for match in MARK.finditer(marked):
        text += marked[reached : match.start()]
        spans.append(Span(len(text), len(text) + len(match[2]), match[1]))
        text += match[2]
        reached = match.end()
    return text + marked[reached:], Spans.of(spans)


@pytest.mark.parametrize(("style", "marked"), CASES)
def test_all_that_is_marked_is_selected(style: str, marked: str) -> None:
    text, gold = unmarked(marked)
    words = Words.of(text)
    selected = set(Pii().find(Document(text)).select(words))
    for span in gold:
        missed = [words[index] for index in Spans((span,)).select(words) if index not in selected]
        assert not missed, (span.label, missed)
