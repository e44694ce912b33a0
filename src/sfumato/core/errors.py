"""Every error sfumato raises on purpose.

    SfumatoError
    ├── InvalidArgument (ValueError)         a setting outside what is allowed
    │   ├── UnknownName                      a name that is not known, with the nearest one
    │   └── UnsupportedLayer                 a layer whose per-example gradients are not known
    │       └── CoupledRows                  examples of a batch that influence each other
    ├── BadInput (ValueError)                the data are not what was announced
    │   ├── MissingInput                     an attack lacks something, and how to make it
    │   ├── MalformedRecord                  a line that cannot be read, named by its number
    │   ├── MalformedVectors                 a vector file that cannot be read
    │   ├── UndefinedGradient                a record whose gradient is not a finite vector
    │   ├── TookTooLong                      a rule that hardly ends on a document
    │   ├── UndecodableText                  bytes that are not in the stated encoding
    │   └── UnknownWords                     words outside the vocabulary when that is refused
    ├── StorageFailed (OSError)              reading or writing did not work
    │   ├── MissingModel                     a model neither on this machine nor on the hub
    │   ├── OutputExists                     a file stands where ours should go
    │   ├── InputChanged                     the input was changed while it was read
    │   └── CannotResume                     finished parts are another run's, or damaged
    ├── MissingExtra (ImportError)           an optional dependency is not installed
    ├── BudgetExceeded (RuntimeError)        a step that the plan does not allow any more
    └── IncomparableGuarantees (TypeError)   guarantees that do not add up

No message may contain private text: a record is named by its number, a file by its path. None names
an option or a command either: what to do next is said as ``core.remedies`` describes, so that every
caller can say it in its own words.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_LIST = 40


class SfumatoError(Exception):
    """Base of the tree."""


class InvalidArgument(SfumatoError, ValueError):
    """A setting outside what is allowed."""


class UnknownName(InvalidArgument):
    """A name that is not known."""

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


class MissingModel(StorageFailed):
    """A model or tokenizer that is neither on this machine nor available from the hub."""


class OutputExists(StorageFailed):
    """A file stands where ours should go."""


class InputChanged(StorageFailed):
    """The input was changed while it was read; what was made of it mixes two inputs."""


class CannotResume(StorageFailed):
    """The finished parts belong to other settings or another input, or they are damaged."""


class MissingExtra(SfumatoError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.extra = what, extra
        super().__init__(f"{what} needs an extra: pip install 'sfumato[{extra}]'")

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        return type(self), (self.what, self.extra)


class BudgetExceeded(SfumatoError, RuntimeError):
    """A further step would cost more than was planned."""


class IncomparableGuarantees(SfumatoError, TypeError):
    """Guarantees of different notions, units or metrics do not add up."""


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
