"""What all workers of a run have in common: the privatizer, and the secret if there is one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from sfumato.core.keys import Key
from sfumato.mechanisms.keyed import under_key
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.selective import Selective
from sfumato.releases.privatizer import Privatizer


@dataclass(frozen=True, repr=False)
class Shared:
    """A privatizer on its way to a worker, with the secret of the run if there is one.

    A privatizer alone would arrive with a key of its own, and equal entities would get different
    surrogates. This is the one place where a secret travels: through a pipe, to our own processes.
    """

    privatizer: Privatizer
    secret: bytes | None
    reversible: bool = False  # whether what pseudonyms stand for is handed back, too

    @classmethod
    def of(cls, privatizer: Privatizer, *, reversible: bool = False) -> Shared:
        """What to hand to the workers of a run."""
        secret = None if privatizer.key is None else privatizer.key.secret
        return cls(privatizer, secret, reversible)

    @cached_property
    def selective(self) -> Selective | Levels:
        """Policies and mechanisms, under the key of the run."""
        built = self.privatizer.selective
        if self.secret is None or not isinstance(built, Selective):
            return built
        return replace(built, mechanism=under_key(built.mechanism, Key(self.secret)))
