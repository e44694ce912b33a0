"""Words that make a street: what stands after, before or at the end of its name.

What follows a street or a box: unit, landmark, town, state and code, also over several lines.
"""

from __future__ import annotations

import re
from functools import cache

from sfumato.policies.pii.expressions import Expression
from sfumato.policies.pii.names import list_names

# The common suffixes of the United States Postal Service's list, with British and other ones.
SUFFIXES = """
Alley Aly Annex Arcade Avenue Ave Av Bayou Beach Bend Bluff Bluffs Bottom Boulevard Blvd Branch
Bridge Brook Brooks Burg Burgs Bypass Camp Canyon Cape Causeway Center Centre Centers Circle Cir
Circles Cliff Cliffs Close Club Common Commons Corner Corners Course Court Ct Courts Cove Coves
Creek Crescent Cres Crest Crossing Crossroad Crossroads Curve Dale Dam Divide Drive Dr Drives
Esplanade Estate Estates Expressway Extension Extensions Fall Falls Ferry Field Fields Flat Flats
Ford Fords Forest Forge Forges Fork Forks Fort Freeway Garden Gardens Gate Gateway Glen Glens
Green Greens Grove Groves Harbor Harbors Harbour Haven Heights Highway Hwy Hill Hills Hollow
Inlet Island Islands Isle Junction Junctions Key Keys Knoll Knolls Lake Lakes Land Landing Lane
Ln Light Lights Loaf Lock Locks Lodge Loop Mall Manor Manors Meadow Meadows Mews Mill Mills
Mission Motorway Mount Mountain Mountains Neck Orchard Oval Overpass Parade Park Parks Parkway
Pkwy Parkways Pass Passage Path Pike Pine Pines Place Pl Plain Plains Plaza Point Points Port
Ports Prairie Promenade Quay Radial Ramp Ranch Rapid Rapids Rest Ridge Ridges Rise River Road Rd
Roads Route Row Rue Run Shoal Shoals Shore Shores Skyway Spring Springs Spur Spurs Square Sq
Squares Station Strand Stravenue Stream Street St Streets Summit Terrace Ter Throughway Trace
Track Trafficway Trail Trailer Tunnel Turnpike Underpass Union Unions Valley Valleys Via Viaduct
View Views Village Villages Ville Vista Walk Walks Wall Way Ways Well Wells Wharf Wynd Yard Nagar
Marg Chowk Colony
"""

# In small letters only these: "12 main street" is an address, "3 meals on the hill" is none.
PLAIN_SUFFIXES = "street st road rd avenue ave lane ln drive boulevard blvd highway terrace"

# A word that begins a street's name, the number after it.
LEADING = """
Via Viale Piazza Piazzale Corso Vicolo Largo Strada Contrada Calle C/ Avda Avda. Av. Avenida Plaza
Paseo Carrer Ronda Camino Rua Travessa Praça Praca Estrada Alameda Rue Avenue Boulevard Bd Bld
Place Chemin Allée Allee Impasse Quai Route Cours ul. ulica al. os. pl. Aleja Plac Osiedle ulice
náměstí nám. Straße Strasse Rruga Ulica Trg Cesta str. Bulevardul bul.
"""

# Those after which a name in small letters is that of a street, too.
SMALL_LEADING = "calle avenida avda avda. paseo carrer c/"

# The end of a street's name written in one word, the number after it.
JOINED = """
straße strasse str. str weg platz allee gasse damm ufer steig stieg chaussee graben straat laan
plein gracht kade singel dijk dreef steenweg vej gade allé gatan vägen väg gränd veien gata katu
kuja polku tänav utca braut vegur stígur gränden torget stræti straeti
"""

# The same where they may stand apart: "Kärntner Ring 4".
ENDINGS = (
    JOINED
    + """
ring markt hof vei gate tie út u. tér ulica str
"""
)

# What stands before the number, with the name of the street after it.
FRENCH = """
rue avenue av. boulevard bd bld place chemin allée allee impasse quai route cours passage square
faubourg cité sentier
"""

US_STATES = """
AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY
NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC AS GU MP PR VI FM MH PW AA AE AP
"""


_NAME = r"\p{Lu}[\p{L}\p{M}'\-]*+"
_NAMES = (
    rf"(?:(?:St|Mt|Ft)\. )?{_NAME}"
    rf"(?: (?:(?:am|an|der|de|del|la|le|les|sur|upon|on|of|nad|pod) )?{_NAME}){{0,3}}+"
)
_CODE = (
    r"(?:[\p{Lu}]{1,2}-)?[\p{Lu}0-9]{1,5}[0-9][\p{Lu}0-9]{0,3}(?:[ \-][\p{Lu}0-9]{2,4})?(?!\p{L})"
)
# The floor and door of a Spanish address; the reading writes "3º" as "3o".
_SPANISH = (
    r"[0-9]{1,2}(?-i:[ºª°oa](?!\p{Ll}))"
    r"(?: ?(?:\p{L}|izq|izda|dcha|drcha|[0-9]{1,2}(?-i:[oaºª]))(?!\p{L})\.?)?"
)
_FARTHEST_CODE = 140  # characters after a street within which an American code can end
# A comma, a new line (perhaps quoted or indented), or both.
_BREAK = r"(?:,? ?(?:\r?\n[ \t>?]{0,8}){1,2}(?:, ?\n? {0,4})?|, ?)"


def tail_end(text: str, end: int) -> int:
    """Where an address ends of which the street or box ends here."""
    unit = _unit().match(text, end)
    end = unit.end() if unit else end
    landmark = _landmark().match(text, end)
    end = landmark.end() if landmark else end
    american = _five().search(text, end, end + _FARTHEST_CODE)
    match = _american().match(text, end) if american else None
    if match:
        return match.end()
    match = _towns().match(text, end)
    if unit and not match:
        match = _town().match(text, end)
    if not match:
        return end
    small = _small_town().match(text, match.end()) if match[0][-4:].isdecimal() else None
    return small.end() if small and small[1] not in list_names().words else match.end()


def any_of(words: str) -> str:
    """One of these words, as a pattern."""
    return "|".join(re.escape(word) for word in sorted(words.split(), key=len, reverse=True))


@cache
def _unit() -> Expression:
    words = (
        r"apt|apartment|suite|ste|unit|flat|floor|fl|room|rm|appt|wohnung|piso|b[âa]t|b[âa]timent"
        r"|building|bldg|block|tower|[ée]tage|esc|porte|puerta|whg|top|lot"
    )
    return Expression(
        rf"(?i)(?:(?:{_BREAK}| )?(?:(?:{words})\.? ?#?(?:[0-9][\p{{L}}\p{{N}}\-]{{0,7}}+|\p{{L}}\b)"
        rf"|no\.? ?[0-9]{{1,5}}\p{{L}}?\b|(?:{words})\.? #?[\p{{L}}\p{{N}}\-]{{1,4}}+\b)"
        rf"|,? ?#[0-9]{{1,6}}|,? {_SPANISH}){{1,3}}"
    )


@cache
def _landmark() -> Expression:
    return Expression(
        r"(?i:,? (?:near|opp\.?|opposite|behind|beside|next to|off) (?:the |to )?)"
        r"[\p{L}\p{M}'\-]++(?: (?!tomorrow|today|please|now|at|on|by|this|next)[\p{L}\p{M}'\-]++)?"
    )


@cache
def _five() -> re.Pattern[str]:
    return re.compile(r"[0-9]{5}")


@cache
def _american() -> Expression:
    """Up to a state and its code, which end an American address."""
    inside = r"(?:[^\n.;!?]|(?:(?<=\b(?:St|Mt|Ft|No))|(?<=\b(?:Apt|Ste)))\.)"
    return Expression(
        rf"[,\s]{inside}{{0,48}}?(?:\n{inside}{{0,32}}?){{0,2}}?(?<![\p{{L}}])"
        rf"(?i:{any_of(US_STATES)})[.,\s]{{1,3}}"
        r"[0-9]{5}(?:-[0-9]{4})?(?![0-9])"
    )


@cache
def _town() -> Expression:
    return Expression(rf" {_NAMES}(?! ?:)")


@cache
def _small_town() -> Expression:
    """A town in small letters after its code, where a part ends: "12043 berlin."."""
    return Expression(r" (\p{Ll}[\p{L}\-]{2,30}+)(?=[ \t]{0,4}(?:[,.;\n]|\Z))")


@cache
def _towns() -> Expression:
    """Towns, countries and codes; a name must end its part, or have a code at its side."""
    ended = r"(?=[ \t]{0,4}(?:[,.;\n]|\Z))(?! ?:)"
    line = rf"{_BREAK}(?:{_CODE} {_NAMES}|{_NAMES},? (?:- ?)?{_CODE}|{_NAMES}{ended}|{_CODE})"
    return Expression(rf"(?:{line}| {_CODE} {_NAMES}| {_NAMES},? (?:- ?)?{_CODE}| {_CODE}){{1,5}}+")
