"""Every error sfumato raises on purpose.

    SfumatoError
    ├── InvalidArgument (ValueError)         a setting outside what is allowed
    │   ├── UnknownName                      a name that is not known, with the nearest one
    │   └── UnsupportedLayer                 a layer whose per-example gradients are not known
    │       ├── CoupledRows                  examples of a batch that influence each other
    │       └── UnsteadyGradient             a second backward pass that computes other numbers
    ├── BadInput (ValueError)                the data are not what was announced
    │   ├── MissingInput                     an attack lacks something, and how to make it
    │   ├── MissingAccount                   a budget has no account of that name
    │   ├── MalformedRecord                  a line that cannot be read, named by its number
    │   ├── MalformedVectors                 a vector file that cannot be read
    │   ├── UndefinedGradient                a record whose gradient is not a finite vector
    │   ├── TookTooLong                      a rule that takes too long on a document
    │   ├── CannotUnseal                     a vault or budget under another key, or a damaged one
    │   ├── UndecodableText                  bytes that are not in the stated encoding
    │   └── UnknownWords                     words outside the vocabulary when that is refused
    ├── StorageFailed (OSError)              reading or writing did not work
    │   ├── BudgetBusy                       others keep a budget for too long
    │   ├── MissingModel                     a model neither on this machine nor on the hub
    │   ├── OutputExists                     the output file exists already
    │   ├── InputChanged                     the input was changed while it was read
    │   └── CannotResume                     finished parts are another run's, or damaged
    ├── ProcessLost (RuntimeError)           a process that trains with others has ended or failed
    ├── ProcessesDisagree (RuntimeError)     processes that train together do different things
    ├── MissingExtra (ImportError)           an optional dependency is not installed
    ├── BudgetExceeded (RuntimeError)        a step beyond those that the plan allows
    ├── IncomparableGuarantees (TypeError)   guarantees that cannot be combined
    └── ServiceFailed (RuntimeError)         a service did not do what it was asked for
        ├── ServiceUnavailable               it is out of reach, or has too much to do
        ├── MissingToken                     no valid token was sent
        ├── MissingRight                     the token does not allow it
        └── OutcomeForgotten                 an output that was charged and is no longer kept

No message may contain private text: a record is named by its number, a file by its path. Messages
name no option and no command either: what to do next is written as ``core.remedies`` describes, so
that each caller can put it in its own terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_LIST = 40


class SfumatoError(Exception):
    """The base class of all errors of this package.

    Among processes that train together, ``met`` is true if all of them know of it, and
    ``said_elsewhere`` if it is another one that says it.
    """

    met = False
    said_elsewhere = False


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


class UnsteadyGradient(UnsupportedLayer):
    """A second backward pass with other numbers than the first; of which record is secret."""


class BadInput(SfumatoError, ValueError):
    """The data are not what was announced."""


class MissingInput(BadInput):
    """An attack lacks something; the message says what, and how to make it."""


class MissingAccount(BadInput):
    """A budget has no account of that name; the message does not repeat it."""


class MalformedRecord(BadInput):
    """A record that cannot be read; the message gives its position and never quotes it."""


class MalformedVectors(BadInput):
    """A vector file that cannot be read."""


class UndefinedGradient(BadInput):
    """A record whose gradient is not finite; the message does not say which, as that is secret."""


# Errors that depend on the records of a step: the step that they end is charged.
ENDED_BY_RECORDS = (UndefinedGradient, CoupledRows, UnsteadyGradient)


class TookTooLong(BadInput):
    """A rule that takes too long on a document; the message gives the position of both."""


class CannotUnseal(BadInput):
    """A vault or a budget that does not open: the key is another one, or it is damaged."""


class UndecodableText(BadInput):
    """Bytes that are not text in the stated encoding, or text that is not Unicode."""


class UnknownWords(BadInput):
    """Words outside the vocabulary, when the user asked for an error."""


class StorageFailed(SfumatoError, OSError):
    """Reading or writing did not work."""


class BudgetBusy(StorageFailed):
    """Others charged a budget for longer than somebody waits; nothing of this was charged."""


class MissingModel(StorageFailed):
    """A model or tokenizer that is neither on this machine nor available from the hub."""


class OutputExists(StorageFailed):
    """The output exists already."""


class InputChanged(StorageFailed):
    """The input changed while it was read, so the output mixes two versions of it."""


class CannotResume(StorageFailed):
    """The finished parts belong to other settings or another input, or they are damaged."""


class ProcessLost(SfumatoError, RuntimeError):
    """A process that trains together with this one has ended, or has failed and says why itself."""


class ProcessesDisagree(SfumatoError, RuntimeError):
    """Processes that train together have not done the same; nothing of the step was used."""


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
    """Guarantees of different notions, units or metrics cannot be combined."""


class ServiceFailed(SfumatoError, RuntimeError):
    """A service over HTTP did not do what it was asked for; the message holds no text of ours."""


class ServiceUnavailable(ServiceFailed):
    """A service that is out of reach, or has too much to do; what was asked can be asked again."""


class MissingToken(ServiceFailed):
    """A service wants a token that it knows."""


class MissingRight(ServiceFailed):
    """The token does not allow what was asked for."""


class OutcomeForgotten(ServiceFailed):
    """An output that was charged under this key, and is no longer kept; a new key is a release."""


def suggestion(given: str, known: Iterable[str]) -> str:
    """The hint for a mistyped name.

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
