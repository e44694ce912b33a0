"""Names of people by a list of given names and surnames, where no words around announce them.

Of a word nothing counts but its traits: which lists hold it, and whether it is short or in
capitals. They are few bits, so words with the same traits are judged once, whatever they are.
Traits tell nothing of a text but that words of such kinds stood side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from sfumato.policies.pii.capitals import Capital
from sfumato.policies.pii.cues import NOT_NAMES
from sfumato.policies.pii.names import list_names

_MOST = 4  # words after the given name
_SHORTEST_SHOUT = 5  # shorter words in capitals are abbreviations too often
_SHORTEST = 3  # letters of a given name that no list holds
_REMEMBERED = 4096  # different rows of traits

# The traits: lists first, then what a word is by itself.
_ALONE, _PAIRED, _SURNAME, _ORDINARY, _NEVER_NAME = (1 << bit for bit in range(5))
_AFTER_NAME, _BEFORE_NAME, _THING, _OPENS, _CUED = (1 << bit for bit in range(5, 10))
_INITIAL, _SHOUTED, _BRIEF, _UNLIKELY = (1 << bit for bit in range(10, 14))
_GIVEN = _ALONE | _PAIRED | _SURNAME

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


def names_in(words: Sequence[Capital]) -> tuple[tuple[int, int], ...]:
    """First and last word of every name in a chain of words."""
    return names_among(
        tuple(traits_of(word.plain, word.end - word.start, word.shouted) for word in words)
    )


def traits_of(word: str, length: int, shouted: bool) -> int:
    """What counts of a word: written plainly, its length as it is written, and whether in capitals.

    Of a double name the first part may be listed as well.
    """
    traits = _listing().get(word, 0)
    if "-" in word:
        traits |= _listing().get(word.partition("-")[0], 0) & _GIVEN
    if length == 1:
        traits |= _INITIAL
    if shouted:
        traits |= _SHOUTED | (_BRIEF if length < _SHORTEST_SHOUT else 0)
    if len(word) < _SHORTEST or word.startswith("i'"):
        traits |= _UNLIKELY
    return traits


@lru_cache(maxsize=_REMEMBERED)
def names_among(words: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """First and last word of every name in a chain of words, of which only the traits are given."""
    if len(words) == 1 and not words[0] & _ALONE:
        return ()
    found, index = [], 0
    while index < len(words):
        last = _last_of_name(words, index)
        if last is None:
            index += 1
        else:
            found.append((index, last))
            index = last + 1
    return tuple(found)


def _last_of_name(words: tuple[int, ...], first: int) -> int | None:
    word, last = words[first], _extent(words, first)
    if _is_initialled(words, first):
        return last
    if word & _INITIAL:
        return _after_initials(words, first)
    if word & _NEVER_NAME or _is_place(words, first, last):
        return None
    if word & _OPENS and first < last:
        return None
    following = words[first + 1 : last + 1]
    if word & _ALONE:
        found = bool(following) or not word & _BRIEF
    elif word & _PAIRED:
        initial = len(following) > 1 and bool(following[0] & _INITIAL)
        found = initial or any(other & (_ALONE | _SURNAME) for other in following)
    else:
        found = _is_before_surname(words, first, last)
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


@cache
def opening_words() -> frozenset[str]:
    """Words, written plainly, that stand before a name rather than in one."""
    return frozenset(_OPENERS.split())


def _is_initialled(words: tuple[int, ...], first: int) -> bool:
    """A word, an initial and a word: hardly anything else is written so."""
    if len(words) < first + 3 or not words[first + 1] & _INITIAL:
        return False
    return not (words[first] | words[first + 2]) & (_INITIAL | _SHOUTED | _ORDINARY | _THING)


def _is_before_surname(words: tuple[int, ...], first: int, last: int) -> bool:
    """A word that is in no list right before a surname is a given name that we do not know."""
    if last == first or words[first] & (_SHOUTED | _UNLIKELY | _THING | _CUED):
        return False
    if any(other & _ORDINARY for other in words[first : last + 1]):
        return False
    return bool(words[last] & _SURNAME)


def _after_initials(words: tuple[int, ...], first: int) -> int | None:
    index = first
    while index < len(words) and words[index] & _INITIAL:
        index += 1
    if index == len(words) or not words[index] & _SURNAME:
        return None
    last = _extent(words, index)
    return None if _is_place(words, first, last) else last


def _extent(words: tuple[int, ...], first: int) -> int:
    """The last word that can belong to a name that begins here."""
    last = first
    while last + 1 < len(words) and last - first < _MOST:
        following = words[last + 1]
        if following & (_NEVER_NAME | _AFTER_NAME):
            break
        if following & _SHOUTED and following & _ORDINARY:
            break  # where everything is in capitals, a sentence goes on
        last += 1
    return last


def _is_place(words: tuple[int, ...], first: int, last: int) -> bool:
    if first and words[first - 1] & _BEFORE_NAME:
        return True
    if words[first] & _BEFORE_NAME:
        return True
    return last + 1 < len(words) and bool(words[last + 1] & _AFTER_NAME)


@cache
def _listing() -> dict[str, int]:
    """The traits that a word, written plainly, has by the lists that hold it."""
    names = list_names()
    lists = {
        _ALONE: names.alone,
        _PAIRED: names.paired,
        _SURNAME: names.surnames,
        _ORDINARY: names.words,
        _NEVER_NAME: _NEVER.split(),
        _AFTER_NAME: _THINGS.split(),
        _BEFORE_NAME: _BEFORE_PLACES.split(),
        _THING: list_things(),
        _OPENS: opening_words(),
        _CUED: NOT_NAMES.split(),
    }
    traits: dict[str, int] = {}
    for trait, words in lists.items():
        for word in words:
            traits[word] = traits.get(word, 0) | trait
    return traits
