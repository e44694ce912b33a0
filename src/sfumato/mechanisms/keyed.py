"""The secret key of a mechanism, or the one that all mechanisms of a table share.

A key links what a run puts in: the same entity gets the same surrogate. So one run has one key, and
whoever hands it to a worker or takes it from a seed does so for all mechanisms at once.
"""

from __future__ import annotations

from sfumato.core.errors import InvalidArgument
from sfumato.core.keys import Key
from sfumato.mechanisms.by_type import ByType
from sfumato.mechanisms.mechanism import DocumentMechanism, Keyed, Mechanism, StretchMechanism

AnyMechanism = Mechanism | StretchMechanism | DocumentMechanism | ByType


def key_of(mechanism: object) -> Key | None:
    """The key in use, if there is one."""
    if isinstance(mechanism, ByType):
        found = [key for key in map(key_of, mechanism.mechanisms()) if key is not None]
        # One key serves all of them: a part must not come under the key of another file.
        if len({(key.origin, key.path) for key in found}) > 1:
            raise InvalidArgument(
                "the mechanisms of a table have keys of different sources; give all of them the "
                "same key_file, or none"
            )
        return found[0] if found else None
    return mechanism.key if isinstance(mechanism, Keyed) and _uses_key(mechanism) else None


def under_key(mechanism: AnyMechanism, key: Key) -> AnyMechanism:
    """The same under another key; a mechanism without a key is itself."""
    if isinstance(mechanism, ByType):
        keyed = [one for one in mechanism.mechanisms() if isinstance(one, Keyed) and _uses_key(one)]
        return mechanism.exchange({id(one): one.under(key) for one in keyed})
    return (
        mechanism.under(key) if isinstance(mechanism, Keyed) and _uses_key(mechanism) else mechanism
    )


def _uses_key(mechanism: Keyed) -> bool:
    # Some mechanisms need their key only under some of their settings.
    return bool(getattr(mechanism, "uses_key", True))
