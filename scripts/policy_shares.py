"""How much a policy selects, of words and of white-space tokens, and how fast it reads.

    python scripts/policy_shares.py FILE POLICY… [--count 300] [--set entities.model=FOLDER]

FILE is a corpus in any format that ``sfumato scan`` reads. The table in ``docs/policies.md`` was
printed by this.
"""

from __future__ import annotations

import argparse
import re
import time
from itertools import islice

from sfumato.cli.options import settings_from
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.policies.parsing import combine_policies
from sfumato.policies.policy import find_in
from sfumato.text.document import Document
from sfumato.text.span import Spans
from sfumato.text.words import Words


def tokens_selected(document: Document, spans: Spans) -> tuple[int, int]:
    """White-space tokens that share a character with a span, and all of them."""
    places = [match.span() for match in re.finditer(r"\S+", document.text)]
    chosen = sum(
        any(span.start < end and start < span.end for span in spans) for start, end in places
    )
    return chosen, len(places)


def main() -> None:
    """Print a line for each policy."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("policies", nargs="+")
    parser.add_argument("--count", type=int, default=300, help="only the first documents")
    parser.add_argument("--set", action="append", default=[], metavar="POLICY.KEY=VALUE")
    given = parser.parse_args()
    documents = list(islice(Source.of(given.file, Layout()).documents(), given.count))
    words = [Words.of(document.text) for document in documents]
    total = sum(map(len, words))
    _, settings = settings_from(given.set)
    for name in given.policies:
        own = {key: value for key, value in settings.items() if key.startswith(f"{name}.")}
        policy = combine_policies([name], [], own)
        list(find_in(policy, documents[:1]))  # what is loaded once is not timed
        began = time.process_time()
        found = [spans for _, spans in find_in(policy, documents)]
        seconds = time.process_time() - began
        chosen = sum(len(spans.select(one)) for spans, one in zip(found, words, strict=True))
        pairs = [tokens_selected(*pair) for pair in zip(documents, found, strict=True)]
        selected, tokens = (sum(part) for part in zip(*pairs, strict=True))
        print(
            f"{name}: {chosen / total:.1%} of {total:,} words, {selected / tokens:.1%} of "
            f"{tokens:,} tokens, {total / max(seconds, 1e-9):,.0f} words per processor second"
        )


if __name__ == "__main__":
    main()
