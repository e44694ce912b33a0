"""Processes that are forked off a test, to do something at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable


def in_a_child(work: Callable[[], int]) -> int:
    """The process that does some work and ends with what it returns."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(work())
        except BaseException:
            os._exit(255)
    return child


def granted(children: list[int]) -> int:
    """What they return, added up, once all of them are done."""
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert 255 not in codes
    return sum(codes)
