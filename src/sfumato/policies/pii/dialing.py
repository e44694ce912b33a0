"""How telephone numbers are written: numbers of regions, gaps, extensions, words beside them."""

from __future__ import annotations

from functools import cache

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.reading import Cue


@cache
def numbers_of(regions: tuple[str, ...]) -> Expression:
    """One expression for the national numbers of all regions, with or without their prefix.

    Which of its groups matches is the first region that has such a number.
    """
    from phonenumbers import PhoneMetadata

    parts = []
    for region in dict.fromkeys(regions):
        metadata = PhoneMetadata.metadata_for_region(region)
        if metadata is None or metadata.general_desc is None:
            continue
        pattern = metadata.general_desc.national_number_pattern
        prefix = f"(?:{metadata.national_prefix})?" if metadata.national_prefix else ""
        parts.append(f"(?P<{region}>{prefix}(?:{pattern}))")
    return Expression("|".join(parts) or r"(?!)")


@cache
def gaps() -> frozenset[str]:
    """What may stand between the digits of a number."""
    blank = ("", " ")
    joined = (f"{one}{sign}{other}" for one in blank for sign in "-/\u200b" for other in blank)
    closed = (f"){one}{sign}{other}" for one in blank for sign in ("", *"-/.") for other in blank)
    return frozenset((" ", "  ", ".", "--", "(", " (", "-\n", *joined, *closed))


@cache
def plus() -> Expression:
    """A plus sign right before a number."""
    return Expression(r"\+[ (]?\Z")


@cache
def opening() -> Expression:
    """What leads a number: a plus sign, a parenthesis or both."""
    return Expression(r"(?:\(\+|\+ ?\(?|\()\Z")


@cache
def extension() -> Expression:
    """An extension right after a number."""
    return Expression(
        r"(?i)[ ,]{0,2}(?:x|ext\.?|extension|poste|#|durchwahl|dw) ?\.?[0-9]{1,6}(?![0-9\p{L}])"
    )


@cache
def continued() -> Expression:
    """Decimals, a sign or letters, with which something else goes on."""
    return Expression(r"[,.:][0-9]|[%°€$£]|(?!x[0-9]|ext)\p{L}")


@cache
def money_before() -> Expression:
    """A currency right before a number."""
    return Expression(r"(?:[$€£¥₹]|\b(?:USD|EUR|GBP|INR|CHF|Rs\.?)) ?\Z")


@cache
def money_after() -> Expression:
    """A currency right after a number."""
    return Expression(r" ?(?:[$€£¥₹]|(?:USD|EUR|GBP|INR|CHF|dollars|euros?|pounds)\b)")


@cache
def called_last() -> Expression:
    """A word for telephones is the last one: "Telefonnummer"."""
    return Expression(r"(?i)(?:tele?f|ruf|handy|mobil|fax|phone|t[ée]l\b|whats)\p{L}*\P{L}*\Z")


@cache
def calling_words() -> Cue:
    """Words that announce a telephone number."""
    return Cue(
        r"(?:tele)?phones?|tel|t[ée]l|mob|mobiles?|cell|cellular|call(?:ed|ing)?|fax|ph|sms|text(?:ed)?",
        r"dial|ring|rang|reach(?:ed)?|hotline|whats ?app|telegram|signal|pager|landline|contact",
        r"voicemail|telefon\w*|handy\w*|mobil\w*|rufnummer|festnetz|t[ée]l[ée]phone|portable",
        r"appel(?:er|ez)?|num[ée]ro|tel[ée]fono|m[óo]vil|celular|cellulare|telefone|telem[óo]vel",
        r"telefoon\w*|gsm|puhelin|puh|tlf|numer|number",
    )
