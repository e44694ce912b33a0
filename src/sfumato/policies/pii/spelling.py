"""How names are written, as pieces of expressions."""

from __future__ import annotations

from sfumato.policies.pii.capitals import PARTICLES

WORD = r"(?:(?:[dl]|dell)'|(?:al|el)-)?+\p{Lu}[\p{L}\p{M}'\-]*+"
PARTICLE = rf"(?:{'|'.join(PARTICLES.split())})"
INITIAL = r"\p{Lu}\."
# "Sra. Vega y Sr. Luna" are two people.
_NO_TITLE = r"(?!(?:Sra?|Srta|Dra?|Mrs?|Ms|Herrn?|Frau|Mme|Mlle|Monsieur|Madame)\b)"
NAME = (
    rf"(?:{INITIAL} ?){{0,3}}+{WORD}"
    rf"(?: (?:{PARTICLE} ){{0,3}}+{_NO_TITLE}(?:{INITIAL}(?= \p{{Lu}})|{WORD})){{0,4}}+"
)
FULL = (
    rf"{WORD}(?: {INITIAL}){{0,2}}+"
    rf"(?: (?:{PARTICLE} ){{0,3}}+(?:{INITIAL}(?= \p{{Lu}})|{WORD})){{1,4}}+"
)
# A line that asks for a name, up to the place where the answer begins; no statement of a name.
QUESTION = (
    r"(?:\b[Nn]ame\b(?!(?: is|'s|,|:) \p{Lu})|\b[Ww]hom? (?:am I|is|are you|do I|have I)\b)"
    r"(?:[^\n?]{0,60}+\? ++|[^\n]{0,60}+\n[ \t]*+)(?:[\p{L} ]{1,20}+[:>] ?)?"
)
SMALL = r"\p{Ll}[\p{L}\p{M}\-]++(?:'(?!s\b)\p{L}++)?"
GIVEN = rf"(?P<given>{SMALL})(?:, (?P<after>{SMALL}))?"
