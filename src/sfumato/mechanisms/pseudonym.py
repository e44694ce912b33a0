"""Pseudonyms: the same surrogate for the same entity, by a keyed hash.

Guarantee
    None. This is a baseline: "Ada Lovelace", found as PERSON, becomes ``[PERSON-3f2a9c04be71]``
    wherever it stands, so that a reader can still follow who did what.

What holds all the same
    The surrogate is the first 12 hexadecimal digits of HMAC-SHA256 over the type and the text.
    Without the key a surrogate cannot be tested against a guess, and surrogates under two keys
    cannot be linked. Nothing else shows of what stands under it.

What does not hold
    Equality shows, and with it how often an entity stands there and beside which others: anyone who
    knows how often somebody is mentioned can tell who it is. Anyone who has the key can try a list
    of names. What the policy misses stands in the clear.

Care
    Texts count as the same apart from capitals, white space, invisible characters and a possessive
    's. "Dr. Okafor" and "Okafor" are two entities: nothing is understood here. Of a million
    different entities of a type, two share a surrogate with a probability of about 0.2 %.

    Without ``key_file`` every run draws a key of 256 bits, hands it to its workers and forgets it:
    no later run can go on, and no other output has the same surrogates. A copy made by pickling
    draws a key of its own, too. ``key_file`` keeps surrogates the same from run to run, which links
    all these outputs with each other; guard the file like the original text.

Undoing it
    No table is kept, so nothing can be undone, not even by whoever ran it. A file can be privatized
    with a vault: an encrypted table of what each code stands for (``releases/vault.py``). Whoever
    has the vault and its key can then undo every pseudonym, and the guarantee says so.

Reference
    The "pseudonymization" of GDPR, article 4(5). HMAC: Bellare, Canetti and Krawczyk 1996, "Keying
    hash functions for message authentication".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field

from sfumato.core.keys import Key
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.guarantees.guarantee import Guarantee, no_guarantee
from sfumato.mechanisms.redact import TYPE_LEAK
from sfumato.text.span import Stretch

DIGITS = 12  # of the surrogate, 4 bits each
CODE = re.compile(rf"\[[\w-]+-[0-9a-f]{{{DIGITS}}}\]")  # a pseudonym as it stands in a text

EQUALITY_LEAK = (
    "which replaced stretches are the same, so how often each stands there and beside which others "
    "(frequent ones can be guessed by that)"
)
KEY_LEAK = "whether a guess is right, to whoever has the key"
LINK_LEAK = "which stretches are the same in other outputs under the same key file"
VAULT_LEAK = (
    "everything that a pseudonym stands for, to whoever has both the vault of this file and its key"
)


@dataclass(frozen=True, kw_only=True)
class Pseudonym:
    """Replace what was found by a code that is the same for the same text.

    >>> from sfumato.text.span import Span
    >>> ada = Stretch(0, 12, "Ada Lovelace", Span(0, 12, "PERSON"))
    >>> again = Stretch(40, 54, "ADA LOVELACE's", Span(40, 54, "PERSON"))
    >>> first, second = Pseudonym().replace([ada, again], Randomness.secure())
    >>> first == second, first.startswith("[PERSON-"), len(first)
    (True, True, 21)
    """

    key_file: FileToRead | None = None
    key: Key = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        key = Key.fresh() if self.key_file is None else Key.from_file(self.key_file)
        object.__setattr__(self, "key", key)

    def under(self, key: Key) -> Pseudonym:
        """The same under another key: that of a seed, or of the run that a worker belongs to."""
        other = copy(self)
        object.__setattr__(other, "key", key)
        return other

    def guarantee(self) -> Guarantee:
        """Nothing is proven; types and equality show."""
        nothing = no_guarantee(unit="stretch", scope="every stretch")
        nothing = nothing.leaking(TYPE_LEAK, EQUALITY_LEAK, KEY_LEAK)
        return nothing if self.key_file is None else nothing.leaking(LINK_LEAK)

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:  # noqa: ARG002
        """The type of each stretch and the code of its text, in square brackets."""
        return [
            f"[{one.kind}-{self.key.code(one.label, normalize_entity(one.text))[:DIGITS]}]"
            for one in stretches
        ]


def normalize_entity(text: str) -> str:
    r"""The text without what does not make it another entity.

    >>> normalize_entity("  ZOË\u200b  Smith’s "), normalize_entity("Zoe\u0308 Smith")
    ('zoë smith', 'zoë smith')
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    shown = "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")
    return " ".join(shown.replace("\u2019", "'").split()).removesuffix("'s")
