"""The word to look at: by itself, or as it was found in a text.

In a text, what a policy finds decides which mechanism treats a place, and with words that are
replaced one by one, which are. Nothing is privatized for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.attacks.inference.word_view import ViewEffort, WordView, view_word
from sfumato.core.errors import InvalidArgument
from sfumato.mechanisms.by_type import ByType
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.mechanism import DocumentMechanism, Mechanism, StretchMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.releases.explanation import Focus, places_of
from sfumato.releases.privatizer import Privatizer
from sfumato.text.document import Document
from sfumato.text.span import Span, Stretch

REWRITTEN = "a new text takes the place of all of it: no word can be looked at by itself"


def look_at_word(
    privatizer: Privatizer,
    word: str | int,
    effort: ViewEffort,
    *,
    text: str | None = None,
    label: str = "",
) -> WordView:
    """What a privatizer does to one word.

    With ``text``, the word is looked for among the places that are replaced there, or is the number
    of such a place, from 1. Without, it is found as ``label``.
    """
    selective, randomness = privatizer.selective, privatizer.randomness.stream(1)
    if text is None:
        return view_word(*_alone(selective, word, label), effort, randomness)
    found = _focused(places_of(selective, Document(text)), word)
    if found.mechanism is None:
        raise InvalidArgument(REWRITTEN)
    view = view_word(found.mechanism, found.stretch or found.text, effort, randomness)
    return replace(view, label=found.cause.label)


def _alone(
    selective: Selective | Levels, word: str | int, label: str
) -> tuple[Mechanism | StretchMechanism, str | Stretch]:
    """The mechanism for a word without a text around it, and what is handed to it."""
    if not isinstance(word, str) or not word:
        raise InvalidArgument("give the word to look at, or a text and the number of a place in it")
    if not isinstance(selective, Selective):
        raise InvalidArgument("which level a word has depends on the text around it: give that")
    mechanism = selective.mechanism
    if isinstance(mechanism, ByType):
        mechanism = mechanism.route(label)
    if isinstance(mechanism, DocumentMechanism):
        raise InvalidArgument(REWRITTEN)
    if isinstance(mechanism, StretchMechanism):
        return mechanism, Stretch(0, len(word), word, Span(0, len(word), label))
    return mechanism, word


def _focused(places: Sequence[Focus], word: str | int) -> Focus:
    """The place of that number, or the first that is the word, or has it in it."""
    count = f"{len(places)} place{'s' * (len(places) != 1)}"
    if isinstance(word, int):
        if not 1 <= word <= len(places):
            raise InvalidArgument(
                f"there is no place {word}: {count} of the text would be replaced"
                + (f", numbered from 1 to {len(places)}" if places else "")
            )
        return places[word - 1]
    asked = word.casefold()
    exact = [one for one in places if one.text.casefold() == asked]
    within = [one for one in places if asked and asked in one.text.casefold()]
    for one in (*exact, *within):
        return one
    raise InvalidArgument(
        f"the word is at none of the {count} that would be replaced, so it stays as it is: "
        "`policy='everything'` selects all words"
    )
