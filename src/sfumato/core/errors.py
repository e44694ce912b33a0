"""Every error sfumato raises on purpose, and the exit code the command line gives it.

    SfumatoError
    ├── InvalidArgument (ValueError)        2  a setting outside what is allowed
    │   ├── UnknownName                     2  a name nobody has, with the nearest one
    │   └── UnsupportedLayer                2  a layer whose per-example gradients are not known
    │       └── CoupledRows                 2  examples of a batch that influence each other
    ├── BadInput (ValueError)               3  the data are not what was announced
    │   ├── MissingInput                    3  an attack lacks something, and how to make it
    │   ├── MalformedRecord                 3  a line that cannot be read, named by its number
    │   ├── MalformedVectors                3  a vector file that cannot be read
    │   ├── UndefinedGradient               3  a record whose gradient is not a finite vector
    │   ├── TookTooLong                     3  a rule that hardly ends on a document
    │   ├── UndecodableText                 3  bytes that are not in the stated encoding
    │   └── UnknownWords                    3  words outside the vocabulary when that is refused
    ├── StorageFailed (OSError)             4  reading or writing did not work
    │   ├── MissingModel                    4  a model that is neither here nor to be had
    │   ├── OutputExists                    4  somebody's file stands where ours should go
    │   ├── InputChanged                    4  the input was changed while it was read
    │   └── CannotResume                    4  finished parts are another run's, or damaged
    ├── MissingExtra (ImportError)          5  an optional dependency is not installed
    ├── BudgetExceeded (RuntimeError)       2  a step that the plan does not allow any more
    └── IncomparableGuarantees (TypeError)  2  guarantees that do not add up

No message may contain private text: a record is named by its number, a file by its path.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_LIST = 40


class SfumatoError(Exception):
    """Base of the tree; ``exit_code`` is what the command line returns for it."""

    exit_code = 70


class InvalidArgument(SfumatoError, ValueError):
    """A setting outside what is allowed."""

    exit_code = 2


class UnknownName(InvalidArgument):
    """A name nobody has."""

    def __init__(self, kind: str, given: str, known: Iterable[str]) -> None:
        self.kind, self.given, self.known = kind, given, sorted(known)
        super().__init__(f"unknown {kind} {given!r}; {suggestion(given, self.known)}")

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, list[str]]]:
        return type(self), (self.kind, self.given, self.known)


class UnsupportedLayer(InvalidArgument):
    """A trainable layer whose gradients cannot be clipped example by example."""


class CoupledRows(UnsupportedLayer):
    """Rows of a batch that influence each other, so that clipping each of them bounds nothing."""


class BadInput(SfumatoError, ValueError):
    """The data are not what was announced."""

    exit_code = 3


class MissingInput(BadInput):
    """An attack lacks something; the message says what, and how to make it."""


class MalformedRecord(BadInput):
    """A record that cannot be read; named by where it stands, never quoted."""


class MalformedVectors(BadInput):
    """A vector file that cannot be read."""


class UndefinedGradient(BadInput):
    """A record whose gradient is not a finite vector; which one is secret, and not said."""


class TookTooLong(BadInput):
    """A rule that takes too long on a document; both are named by where they stand."""


class UndecodableText(BadInput):
    """Bytes that are not text in the stated encoding, or text that is not Unicode."""


class UnknownWords(BadInput):
    """Words outside the vocabulary, when the user asked to be told."""


class StorageFailed(SfumatoError, OSError):
    """Reading or writing did not work."""

    exit_code = 4


class MissingModel(StorageFailed):
    """A model or tokenizer that is neither on this machine nor to be had from the hub."""


class OutputExists(StorageFailed):
    """A file stands where ours should go."""


class InputChanged(StorageFailed):
    """The input was changed while it was read; what came of it mixes two inputs."""


class CannotResume(StorageFailed):
    """The finished parts belong to other settings or another input, or they are damaged."""


class MissingExtra(SfumatoError, ImportError):
    """An optional dependency is not installed."""

    exit_code = 5

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.extra = what, extra
        super().__init__(f"{what} needs an extra: pip install 'sfumato[{extra}]'")

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        return type(self), (self.what, self.extra)


class BudgetExceeded(SfumatoError, RuntimeError):
    """A further step would cost more than was planned."""

    exit_code = 2


class IncomparableGuarantees(SfumatoError, TypeError):
    """Guarantees of different notions, units or metrics do not add up."""

    exit_code = 2


def suggestion(given: str, known: Iterable[str]) -> str:
    """What to say about a name that was mistyped.

    >>> suggestion("laplase", ["laplace", "selective"])
    "did you mean 'laplace'? (laplace, selective)"
    """
    names = sorted(known)
    lowered = {name.lower(): name for name in names}
    close = get_close_matches(given.lower(), lowered, n=1, cutoff=0.55)
    listed = ", ".join(names) if names else "there are none"
    if len(names) > LONGEST_LIST:
        listed = f"{', '.join(names[:3])} and {len(names) - 3} more"
    return f"did you mean {lowered[close[0]]!r}? ({listed})" if close else f"known: {listed}"
