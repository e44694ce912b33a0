"""What may stand around a number: a public list of units, currencies and words such as "about".

Most nouns of the list have a plural. "1 year" and "3 years" are written alike by one writer, so a
form must not hold which of the two it was: ``agree`` gives both, whichever stands there.
"""

from __future__ import annotations

import re
from functools import cache

_BLANKS = " \u00a0\u2009\u202f"
_SYMBOLS = frozenset("$€£¥₹₩₽₺₪%‰°~≈<>≤≥=#/.*·±")
_WORDS = (
    # Units of measure.
    "mg g kg t µg μg mcg ng lb lbs oz ml l cl dl m cm mm km nm µm μm mi ft in yd inch "
    "inches m² km² cm² m³ cm³ ha ac sq cu c f k bpm mmhg mmol mol kcal cal kj j w kw kwh v a "
    "hz khz mhz ghz kb mb gb tb bit bits byte bytes dpi px iu ie u ui meq pa kpa hpa bar psi "
    "h hr hrs min mins s sec secs ms kmh mph kph am pm x gram grams gramm grammes gramos "
    "kilogram kilograms kilo kilos tonne tonnes ton tons pound pounds ounce ounces liter "
    "liters litre litres litro litros meter meters metre metres metro metros kilometer "
    "kilometers kilometre kilometres kilómetros mile miles foot feet yards stone degree "
    "degrees grad grados degrés celsius fahrenheit "
    # Time.
    "year years yr yrs yo jahr jahre jahren año años an ans month months mo monat monate "
    "monaten mes meses mois week weeks wk wks woche wochen semana semanas semaine semaines "
    "day days tag tage tagen día días jour jours hour hours stunde stunden hora horas heure "
    "heures minute minutes minuten minuto minutos second seconds sekunde sekunden segundo "
    "segundos old alt "
    # Money and shares.
    "usd eur gbp chf jpy cny inr cad aud mxn ars brl dollar dollars euro euros pound cent "
    "cents centimes franken francs peso pesos rupees yen percent prozent ciento pour por per "
    "pro je "
    # Many at a time, and about how many.
    "hundred thousand million millions billion billions trillion dozen hundert tausend mio "
    "mrd millionen milliarden mil millón millones cent mille milliers milliard milliards "
    "about around approximately approx ca circa nearly almost over under more less than at "
    "least most up to some only just no nr etwa rund fast über unter bis mehr weniger als "
    "mindestens höchstens unos unas casi más menos de environ presque plus moins que "
    # What is counted.
    "times mal veces fois tablet tablets pill pills unit units drops dose doses people "
    "persons patients points pieces items copies pages stück einheiten tabletten personen"
)
# Nouns in the singular and the plural, with further plurals that are read and not written.
_NOUNS = """
inch inches|gram grams|gramme grammes|gramo gramos|kilogram kilograms|kilo kilos|tonne tonnes
ton tons|pound pounds|ounce ounces|liter liters|litre litres|litro litros|meter meters|metre metres
metro metros|kilometer kilometers|kilometre kilometres|kilómetro kilómetros|mile miles
foot feet|yard yards|degree degrees|grado grados|degré degrés|bit bits|byte bytes
year years|jahr jahre jahren|año años|an ans|month months|monat monate monaten|mes meses|week weeks
woche wochen|semana semanas|semaine semaines|day days|tag tage tagen|día días|jour jours|hour hours
stunde stunden|hora horas|heure heures|minute minutes minuten|minuto minutos|second seconds
sekunde sekunden|segundo segundos|lb lb lbs|hr hr hrs|min min mins|sec sec secs|yr yr yrs|wk wk wks
dollar dollars|euro euros|cent cents|centime centimes|franc francs|peso pesos|rupee rupees
million million millions millionen|billion billion billions|millón millones|milliard milliards
milliarde milliarden|millier milliers|time times|vez veces|tablet tablets|tablette tabletten
pill pills|unit units|einheit einheiten|drop drops|dose doses|patient patients
person people persons personen|point points|piece pieces|item items|copy copies|page pages
"""
# Plurals of words that two languages have in common, by language.
_PLURALS = {
    "de": {"minute": "minuten", "person": "personen", "million": "millionen", "euro": "euro"}
}
# A noun after one of these is what is counted per, not what is counted.
_PER = frozenset(("per", "pro", "je", "por", "pour", "par", "a", "/"))
_TOKEN = re.compile(r"[^\W\d_]+[²³]?|[^\w\s]|\s")


def is_public(around: str) -> bool:
    """Whether everything around a number is of the public list, with single blanks between.

    >>> is_public(" mg per day"), is_public(" mg for Ada")
    (True, False)
    """
    place = 0
    for token in _TOKEN.finditer(around):
        if token.start() != place:
            return False
        place, one = token.end(), token[0]
        blank = one in _BLANKS and around[token.start() - 1 : token.start()] != one
        if not (blank or one in _SYMBOLS or one.casefold() in _words()):
            return False
    return place == len(around)


def agree(after: str, language: str = "") -> tuple[str, str]:
    """What stands after a number, as it is written after 1 and after other numbers.

    >>> agree(" years old"), agree(" mg per day"), agree(" Tabletten")
    ((' year old', ' years old'), (' mg per day', ' mg per day'), (' Tablette', ' Tabletten'))
    """
    for token in _TOKEN.finditer(after):
        word = token[0].casefold()
        if word in _PER:
            break
        single = _singulars().get(word)
        if single is not None:
            several = _PLURALS.get(language, {}).get(single) or _plurals()[single]
            ends = after[: token.start()], after[token.end() :]
            one, many = (_like(name, token[0]).join(ends) for name in (single, several))
            return one, many
    return after, after


def _like(name: str, written: str) -> str:
    if len(written) > 1 and written.isupper():
        return name.upper()
    return name[0].upper() + name[1:] if written[0].isupper() else name


@cache
def _nouns() -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(one.split()) for line in _NOUNS.split("\n") for one in line.split("|") if one
    )


@cache
def _singulars() -> dict[str, str]:
    return {name: names[0] for names in _nouns() for name in names}


@cache
def _plurals() -> dict[str, str]:
    return {names[0]: names[1] for names in _nouns()}


@cache
def _words() -> frozenset[str]:
    return frozenset(_WORDS.split()) | _singulars().keys()
