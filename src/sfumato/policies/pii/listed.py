"""Names of people by a list of given names and surnames, where no words around announce them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from sfumato.policies.pii.capitals import Capital
from sfumato.policies.pii.cues import NOT_NAMES
from sfumato.policies.pii.names import Names, list_names

_MOST = 4  # words after the given name
_SHORTEST_SHOUT = 5  # shorter words in capitals are abbreviations too often

# What follows a name when it is that of a place or a company, and what precedes one.
_THINGS = """
abbey academy airlines airport alley arena army art association avenue ave award awards bank bay
beach board boulevard blvd books bridge broadcasting building bureau by-pass camp canal castle
cathedral cemetery center centre championship championships chapel church circle city clinic close
club coast college colony committee company congress corporation corp council country county court
creek crescent crisis cup dam department desert district division dr drive dynasty empire estate
express falls farm field fields fire forest fort foundation fund gallery garden gardens gate
government group grove hall harbor harbour hall heights high highway hill hills hospital hotel house
inc inlet inn institute island islands isle junction kingdom laboratory lake lane language league
library limited line lodge ltd llc gmbh magazine mall manor market memorial mine mission mountain
mountains museum music national navy news orchestra palace parade park parkway parliament party
pass path peak peninsula pictures place plantation plaza plc point port post press prison prize
products productions province publishing railway range records regiment region republic reservoir
ridge rise river road rd row royal school sea sound spring springs square stadium state states
station store stores strait street st studio studios summit syndrome team temple terrace territory
theater theatre theorem times tower tower town township trail trophy tunnel union universe
university valley village war way wharf woods works yacht zone zoo
day eve night era age style law act treaty trial hurricane storm class
"""
_BEFORE_PLACES = """
san santa santo são st saint sainte fort ft port lake mount mt new north south east west old upper
lower isle cape camp lac monte val point los las hurricane typhoon storm uss hms ss rms mv
"""
_NEVER = """
january february march april may june july august september october november december monday
tuesday wednesday thursday friday saturday sunday christmas easter and or the of in on at to for by
with from a an is was are be but not no yes as he she it his her they we you i if when while after
before who what where why how this that these those there then than so also both all any some
english french german spanish italian american british african european asian chinese japanese
indian jewish christian catholic roman greek australian canadian dutch irish scottish welsh russian
soviet polish swedish norwegian danish finnish turkish arab arabic israeli mexican brazilian korean
vietnamese latin north south east west northern southern eastern western central
"""
# Parts of the world that a title or a role can precede, and that are nobody's name.
_PLACES = """
africa america asia australia austria belgium berlin boston brazil britain california canada chicago
china colorado cuba denmark egypt england europe finland florida france germany greece hawaii
holland hungary india iowa iran iraq ireland israel italy japan kansas kentucky korea london
maryland massachusetts mexico michigan minnesota mississippi missouri montana moscow nebraska nevada
netherlands norway ohio oklahoma ontario oregon paris pennsylvania poland portugal quebec
queensland rhodesia rome russia scotland spain sweden switzerland sydney tennessee texas tokyo
turkey ukraine utah vermont vienna vietnam virginia wales washington wisconsin york zealand united
kingdom
"""
_CALLINGS = """
battle operation route marine marines artist album song film movie band player captain general
colonel major lieutenant commander president minister senator governor mayor bishop pope queen king
prince princess duke lord lady chief officer agent director editor professor doctor nurse coach
series season episode chapter volume part game show final system project program programme plan
"""
# What begins a sentence or stands before a name, written with a capital, and is no part of it.
_OPENERS = """
call ask tell text email mail phone ring meet see contact please thanks thank hello hi hey dear
sorry when if also yes okay assign cc attn attention from sent
hola buenas buenos estimado estimada querido querida gracias saludos llamar llamad llame llamen soy
mi mis nuestro nuestra su sus cliente paciente
bonjour bonsoir salut merci cher chere appelez appeler rappelez rappeler mon ma mes notre votre
cliente patiente
hallo liebe lieber liebes guten gruss grusse danke bitte mein meine meinen meiner unser unsere ihr
ihre mann frau sohn tochter bruder schwester mutter vater nachbar nachbarin kollege kollegin chef
chefin kunde kundin patientin mieter mieterin techniker technikerin fahrer fahrerin zusteller
mitarbeiter mitarbeiterin berater beraterin arzt arztin oberarzt hausarzt pfleger pflegerin
ehemann ehefrau tecnico repartidor conductor livreur technicien conseiller conseillere
"""


def names_in(words: list[Capital]) -> Iterator[tuple[int, int]]:
    """First and last word of every name in a chain of words."""
    names, index = list_names(), 0
    if len(words) == 1 and not _is_given(words[0], names.alone):
        return
    while index < len(words):
        last = _last_of_name(words, index, names)
        if last is None:
            index += 1
        else:
            yield index, last
            index = last + 1


def _last_of_name(words: list[Capital], first: int, names: Names) -> int | None:
    word, last = words[first], _extent(words, first)
    if _is_initialled(words, first, names):
        return last
    if word.is_initial:
        return _after_initials(words, first, names)
    if word.plain in _set(_NEVER) or _is_place(words, first, last):
        return None
    if leads_to_name(word.plain) and first < last:
        return None
    following = words[first + 1 : last + 1]
    if _is_given(word, names.alone):
        short = word.shouted and word.end - word.start < _SHORTEST_SHOUT
        found = bool(following) or not short
    elif _is_given(word, names.paired):
        initial = len(following) > 1 and following[0].is_initial
        found = initial or any(
            _is_given(other, names.alone) or _is_given(other, names.surnames) for other in following
        )
    else:
        found = _is_before_surname(words, first, last, names)
    return last if found else None


def is_thing(word: str) -> bool:
    """Whether a word, written plainly, names a place, a time, a calling or another thing."""
    return word in list_things()


@cache
def list_things() -> frozenset[str]:
    """All words that name a place, a time, a calling or another thing, written plainly."""
    return frozenset(f"{_THINGS} {_NEVER} {_PLACES} {_CALLINGS}".split())


def leads_to_name(word: str) -> bool:
    """Whether a word, written plainly, stands before a name rather than in one."""
    return word in opening_words()


def opening_words() -> frozenset[str]:
    """Words, written plainly, that stand before a name rather than in one."""
    return _set(_OPENERS)


def _is_initialled(words: list[Capital], first: int, names: Names) -> bool:
    """A word, an initial and a word: hardly anything else is written so."""
    if len(words) < first + 3 or not words[first + 1].is_initial:
        return False
    return not any(
        word.is_initial or word.shouted or word.plain in names.words or is_thing(word.plain)
        for word in (words[first], words[first + 2])
    )


def _is_before_surname(words: list[Capital], first: int, last: int, names: Names) -> bool:
    """A word that is in no list right before a surname is a given name that we do not know."""
    word = words[first]
    if word.shouted or len(word.plain) < 3 or last == first or word.plain.startswith("i'"):
        return False
    if is_thing(word.plain) or word.plain in _set(NOT_NAMES):
        return False
    if any(other.plain in names.words for other in words[first : last + 1]):
        return False
    return _is_given(words[last], names.surnames)


def _after_initials(words: list[Capital], first: int, names: Names) -> int | None:
    index = first
    while index < len(words) and words[index].is_initial:
        index += 1
    if index == len(words) or not _is_given(words[index], names.surnames):
        return None
    last = _extent(words, index)
    return None if _is_place(words, first, last) else last


def _extent(words: list[Capital], first: int) -> int:
    """The last word that can belong to a name that begins here."""
    last = first
    while last + 1 < len(words) and last - first < _MOST:
        following = words[last + 1].plain
        if following in _set(_NEVER) or following in _set(_THINGS):
            break
        if words[last + 1].shouted and following in list_names().words:
            break  # where everything is in capitals, a sentence goes on
        last += 1
    return last


def _is_place(words: list[Capital], first: int, last: int) -> bool:
    if first and words[first - 1].plain in _set(_BEFORE_PLACES):
        return True
    if words[first].plain in _set(_BEFORE_PLACES):
        return True
    return last + 1 < len(words) and words[last + 1].plain in _set(_THINGS)


def _is_given(word: Capital, names: frozenset[str]) -> bool:
    """Whether a word or, of a double name, its first part is listed."""
    return word.plain in names or ("-" in word.plain and word.plain.partition("-")[0] in names)


@cache
def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())
