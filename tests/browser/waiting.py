"""How long a browser is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Milliseconds after which it hangs. A busy machine takes seconds; whoever watches a run that does
# not end learns within minutes which wait it was.
FOREVER = 180_000.0


def wait_until(page: Page, done: Callable[[], bool], awaited: str, between: float = 20) -> None:
    """Let the page go on until something is so; an error that names it if it never is."""
    end = time.monotonic() + FOREVER / 1000
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"{awaited}: not within {FOREVER / 1000:.0f} seconds")
        page.wait_for_timeout(between)
