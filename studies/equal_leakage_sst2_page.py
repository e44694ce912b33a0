"""The page ``docs/results/equal-leakage-sst2.md`` and its charts (``equal_leakage_page``).

python studies/equal_leakage_sst2_page.py > docs/results/equal-leakage-sst2.md
"""

from __future__ import annotations

import equal_leakage_page as dialogues
from equal_leakage_subjects import SST2
from kept import Figures


def main() -> None:
    """Print the page and write its charts."""
    dialogues.main(SST2)


def page(computed: Figures) -> list[str]:
    """All of it in Markdown."""
    return dialogues.page(computed, SST2)


def charts(found: Figures) -> dict[str, bytes]:
    """The charts by the names of their files."""
    return dialogues.charts(found, SST2)


if __name__ == "__main__":
    main()
