"""Recall of the policy ``pii`` on two halves of a labeled file, split by sentence template.

Usage: python scripts/score_by_template.py FILE.jsonl[.gz]

The template of a record is its text with each labeled span replaced by its label; the first byte
of the template's SHA-256 decides the half, so that no template stands in both. The rules of ``pii``
were written looking at the half called "dev" only.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

from sfumato.corpora.labeled import Labeled, read_labeled
from sfumato.policies.pii import Pii
from sfumato.policies.scoring import compare_with_gold


def template(labeled: Labeled) -> str:
    """The text with its labeled spans masked."""
    text = labeled.document.text
    for span in sorted(labeled.spans, key=lambda span: span.start, reverse=True):
        text = text[: span.start] + f"<{span.label}>" + text[span.end :]
    return text


def half(labeled: Labeled) -> str:
    """Which half a record belongs to."""
    return "dev" if sha256(template(labeled).encode()).digest()[0] % 2 == 0 else "held-out"


def main(path: Path) -> None:
    """Print found and gold for every type and half."""
    records = list(read_labeled(path))
    for name in ("dev", "held-out"):
        chosen = [record for record in records if half(record) == name]
        report = compare_with_gold(Pii(), chosen)
        print(f"{name}: {len(chosen)} records")
        for row in (*report.recall, report.overall_recall):
            print(f"  {row.label:20} {row.found:4} of {row.gold:4}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
