"""Waits come to an end, also where what is waited for never comes."""

from __future__ import annotations

from typing import Any

import pytest

from browser import waiting
from browser.waiting import wait_until


class Page:
    """A page on which time goes by."""

    def __init__(self) -> None:
        self.waits = 0

    def wait_for_timeout(self, timeout: float) -> None:
        assert timeout > 0
        self.waits += 1


def test_what_comes_later_is_waited_for() -> None:
    page: Any = Page()
    wait_until(page, lambda: page.waits == 3, "three waits")
    assert page.waits == 3


def test_what_never_comes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waiting.FOREVER <= 300_000  # minutes
    monkeypatch.setattr(waiting, "FOREVER", -1.0)
    page: Any = Page()
    with pytest.raises(TimeoutError, match="two downloads"):
        wait_until(page, lambda: False, "two downloads")
