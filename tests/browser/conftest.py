"""One browser for all, and pages made once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.waiting import FOREVER
from unit.reports.fixtures import file_report, hostile_report, run_report, study_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["file_report", "hostile_report", "run_report", "study_report"]

CHROMIUM = Path(os.environ.get("SFUMATO_CHROMIUM", "/usr/bin/chromium"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all; without it nothing is looked at, and that is said."""
    if not CHROMIUM.exists():
        pytest.skip(
            f"SKIPPED WITHOUT CHROMIUM: there is no {CHROMIUM}, so no page was looked at in a "
            "browser; set SFUMATO_CHROMIUM to where it is"
        )
    sync_api = pytest.importorskip(
        "playwright.sync_api",
        reason="SKIPPED WITHOUT PLAYWRIGHT: no page was looked at in a browser",
    )
    with sync_api.sync_playwright() as playwright:
        # Inside a container the kernel may not give it a sandbox; the pages are our own.
        chromium = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"], timeout=FOREVER
        )
        yield chromium
        chromium.close()
