"""What is proven about one release, in a sentence and in its parts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.accounting.guarantee import Guarantee
from sfumato.accounting.wording import at_most, exact
from sfumato.reports.markup import Html, tag
from sfumato.reports.parts import Section
from sfumato.reports.tables import Cell, properties


def guarantee_section(guarantee: Guarantee, further: Sequence[tuple[str, Cell]]) -> Section:
    """The sentence, then a table; ``further`` are lines of its own."""
    epsilon = "∞ (nothing is proven)" if math.isinf(guarantee.epsilon) else exact(guarantee.epsilon)
    lines: list[tuple[str, Cell]] = [
        ("notion of privacy", guarantee.notion.value),
        ("ε", epsilon),
        ("δ", at_most(guarantee.delta)),
        ("unit", guarantee.unit),
        ("neighbours", guarantee.neighbours),
        ("distance", guarantee.metric or "none"),
        ("holds for", guarantee.scope),
        ("may be released", "yes" if guarantee.for_release else "no: see what is still visible"),
        *further,
    ]
    parts: list[Html] = [
        tag("blockquote", {}, tag("p", {}, guarantee.sentence())),
        properties("The guarantee in its parts", lines),
    ]
    return Section(name="guarantee", title="What is guaranteed", parts=parts)
