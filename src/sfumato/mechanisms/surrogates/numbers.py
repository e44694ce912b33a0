"""Numbers of cards, accounts and papers: with valid checks, and nobody's where that can be.

========================  ========================================================================
card                      begins with 9999: 9 is for national use, followed by a country code, and
                          no country has 999 (ISO/IEC 7812); the check digit (Luhn) is right
IBAN                      the code of the bank is 0000 or XXXX; the check digits are right, also
                          those that Belgium, France and Spain have inside
US social security        areas 900 to 999 are never assigned; groups 01 to 49, which numbers of
                          taxpayers (ITIN) do not have either
US employer's (EIN)       begins with 00, which is not assigned
British insurance (NINO)  begins with QQ, as in official examples; no such prefix is issued
German tax number (IdNr)  begins with 0, as test numbers do; the check digit is right
Spanish DNI               from 99 000 000 on, not reached so far; the letter is right
French NIR                the order number 000 is not assigned; the key is right
========================  ========================================================================

No range is reserved for passports, medical records, accounts and national numbers of other
countries: these begin with XX or 00, and one of them may exist.
"""

from __future__ import annotations

import string

from sfumato.mechanisms.surrogates.chance import Chance
from sfumato.mechanisms.surrogates.layouts import spell, spell_all
from sfumato.mechanisms.surrogates.lists import Local

# What follows the check digits: n for digits, a for capital letters, c for either. Norway is left
# out: there 0000 was the postal bank.
IBAN_PARTS = {
    "AT": "16n", "BE": "12n", "BG": "4a6n8c", "CH": "5n12c", "CY": "8n16c", "CZ": "20n",
    "DE": "18n", "DK": "14n", "EE": "16n", "ES": "20n", "FI": "14n", "FR": "10n11c2n",
    "GB": "4a14n", "GR": "7n16c", "HR": "17n", "HU": "24n", "IE": "4a14n", "IS": "22n",
    "IT": "1a10n12c", "LI": "5n12c", "LT": "16n", "LU": "3n13c", "LV": "4a13c", "MT": "4a5n18c",
    "NL": "4a10n", "PL": "24n", "PT": "21n", "RO": "4a16c", "SE": "20n",
    "SI": "15n", "SK": "20n", "TR": "6n16c",
}  # fmt: skip
NO_CARD = "9999"


def draw_card(chance: Chance, layout: str = "") -> str:
    """Sixteen digits in groups of four, or as many as the layout has."""
    layout = layout or "0000 0000 0000 0000"
    count = layout.count("0")
    if count <= len(NO_CARD):
        return chance.fill(layout)
    from stdnum import luhn

    body = NO_CARD + chance.digits(count - len(NO_CARD) - 1)
    return spell(layout, body + luhn.calc_check_digit(body), chance)


def draw_iban(chance: Chance, country: str, layout: str = "") -> str:
    """An account of the country in groups of four; in a layout, of a country of that length."""
    if layout:
        signs = sum(layout.count(sign) for sign in "0Aa")
        fitting = [code for code in sorted(IBAN_PARTS) if _length(code) == signs]
        if not fitting:
            return chance.fill(layout)
        chosen = country if country in fitting else chance.pick(fitting)
        return spell_all(layout, _account(chosen, chance))
    account = _account(country if country in IBAN_PARTS else "GB", chance)
    return " ".join(account[start : start + 4] for start in range(0, len(account), 4))


def _length(country: str) -> int:
    return 4 + len(_signs(country))


def _signs(country: str) -> str:
    """One sign for each character of the account: n, a or c."""
    signs, count = "", ""
    for sign in IBAN_PARTS[country]:
        if sign.isdigit():
            count += sign
        else:
            signs, count = signs + sign * int(count), ""
    return signs


def _account(country: str, chance: Chance) -> str:
    from stdnum import iban

    signs = _signs(country)
    bank = "".join("X" if sign == "a" else "0" for sign in signs[:4])
    layout = signs[4:].replace("n", "0").replace("a", "A").replace("c", "0")
    inside = _check_inside(country, bank + chance.fill(layout))
    return country + str(iban.calc_check_digits(f"{country}00{inside}")) + inside


def _check_inside(country: str, account: str) -> str:
    """The account with the check digits that its country has inside."""
    if country == "BE":
        return account[:10] + f"{int(account[:10]) % 97 or 97:02}"
    if country == "FR":
        parts = int(account[:5]), int(account[5:10]), int(account[10:21])
        key = 97 - sum(weight * part for weight, part in zip((89, 15, 3), parts, strict=True)) % 97
        return account[:21] + f"{key:02}"
    if country == "ES":
        from stdnum.es import ccc

        return str(account[:8] + ccc.calc_check_digits(account) + account[10:])
    return account


def draw_ssn(chance: Chance, layout: str = "") -> str:
    """A social security number of the United States that is never assigned."""
    drawn = (chance.between(900, 999), chance.between(1, 49), chance.between(1, 9999))
    digits = "{:03}{:02}{:04}".format(*drawn)
    layout = layout or "000-00-0000"
    return spell(layout, digits, chance) if layout.count("0") == 9 else chance.fill(layout)


def draw_national_id(chance: Chance, local: Local) -> str:
    """The number that people of a country are known by."""
    if local.country == "US":
        return draw_ssn(chance)
    if local.country == "GB":
        return f"QQ {chance.fill('00 00 00')} {chance.pick('ABCD')}"
    if local.country == "ES":
        number = 99_000_000 + chance.below(1_000_000)
        return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"
    if local.country == "FR":
        return _french_id(chance)
    return f"00{chance.fill('A0A0A00')}"


def _french_id(chance: Chance) -> str:
    """Sex, year, month, department, commune, an order number that is not assigned, and the key."""
    born = f"{chance.between(0, 99):02}{chance.between(1, 12):02}"
    # Not 20, the number of Corsica before it got letters.
    department = chance.between(1, 94)
    department += department >= 20
    number = f"{chance.between(1, 2)}{born}{department:02}{chance.digits(3)}000"
    return f"{number}{97 - int(number) % 97:02}"


def draw_tax_id(chance: Chance, local: Local) -> str:
    """A taxpayer's number."""
    if local.country == "US":
        return f"00-{chance.digits(7)}"
    if local.country == "DE":
        return _german_tax_id(chance)
    if local.country in ("ES", "FR"):
        return draw_national_id(chance, local)
    return f"00{chance.digits(8)}"


def _german_tax_id(chance: Chance) -> str:
    """Ten digits of which one stands twice, the first a 0, and a check digit (ISO 7064)."""
    from stdnum.iso7064 import mod_11_10

    # Of the digits 1 to 9 one is left out and one stands twice, so that ten places are filled.
    pile = list(string.digits[1:])
    pile.pop(chance.below(len(pile)))
    pile.append(pile[chance.below(len(pile))])
    drawn = "0"
    while pile:
        drawn += pile.pop(chance.below(len(pile)))
    return drawn + str(mod_11_10.calc_check_digit(drawn))
