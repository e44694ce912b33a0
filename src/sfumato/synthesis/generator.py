"""Where candidate texts come from: a generator, which sees nothing private.

A generator invents texts for a public label, and varies texts that it is given. It is called with
what noisy votes have chosen and with nothing else, so whatever it does is post-processing, and no
generator can cost privacy. What it reads (a pool, a model, prompts) must be public: texts of it
stand in the output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

from sfumato.catalog import find
from sfumato.core.errors import BadInput, InvalidArgument, SfumatoError
from sfumato.core.own_code import say_where
from sfumato.core.randomness import Randomness
from sfumato.core.settings import configure, settings_of
from sfumato.text.lines import is_printable, tidy_lines

_NEEDED = {
    "invent": "invent(label, count, randomness), texts out of nothing",
    "vary": "vary(texts, label, count, randomness), texts like those given",
}


@runtime_checkable
class Generator(Protocol):
    """Makes texts for a public label; it is never shown a private one.

    ``label`` is empty where records have none. Both methods may give fewer texts than asked for,
    and the same text twice; each is taken once. A class with ``knows_labels = False`` makes texts
    that are of no label: each of them stands for election under every label.
    """

    def invent(self, label: str, count: int, randomness: Randomness) -> list[str]:
        """About ``count`` texts for a label."""
        ...

    def vary(
        self, texts: Sequence[str], label: str, count: int, randomness: Randomness
    ) -> list[str]:
        """About ``count`` texts that are like the given ones, which were chosen by noisy votes."""
        ...


def build_generator(
    name: str, settings: Mapping[str, object] | None = None, *, encoder: str = ""
) -> Generator:
    """The generator called ``name``; one that has a setting ``encoder`` is given the voters'."""
    component = find("generators", name).load()
    who = getattr(component, "__name__", name)
    given = dict(settings or {})
    try:
        if encoder and "encoder" not in given and "encoder" in settings_of(component):
            given["encoder"] = encoder
        made = configure(component, given)
    except SfumatoError:
        raise
    except Exception as error:
        if component.__module__.partition(".")[0] == "sfumato":
            raise
        where = say_where(error) or type(error).__name__
        raise InvalidArgument(f"{who} could not be made: {where}") from error
    return as_generator(made)


def as_generator(made: object) -> Generator:
    """Refuse what is no generator, and say what it lacks."""
    missing = [what for part, what in _NEEDED.items() if not callable(getattr(made, part, None))]
    if missing:
        raise InvalidArgument(
            f"{type(made).__name__} is no generator; it lacks {' and '.join(missing)}"
        )
    return cast("Generator", made)


def knows_labels(generator: Generator) -> bool:
    """Whether its texts belong to the label that it was asked for."""
    return bool(getattr(generator, "knows_labels", True))


def public_facts(generator: Generator) -> dict[str, Any]:
    """What a generator tells about itself for the side file; it is public."""
    told = getattr(generator, "public_facts", None)
    return dict(told()) if callable(told) else {}


def texts_from(made: object, who: str) -> list[str]:
    r"""What a generator gave, each text once, without empty ones; its lines stay lines.

    >>> texts_from(["a  b", "", "a b", "a\n b"], "Mine")
    ['a b', 'a\nb']
    """
    if not isinstance(made, (list, tuple)) or not all(isinstance(one, str) for one in made):
        raise BadInput(f"{who} must give a list of texts")
    tidy = (tidy_lines(one) for one in made)
    return list(dict.fromkeys(one for one in tidy if one and is_printable(one)))
