"""Lines of a text without what cannot be seen of them."""

from __future__ import annotations


def tidy_lines(text: str) -> str:
    r"""The text with one blank between words, and no empty line.

    >>> tidy_lines("SYS:  Hello. \n\n USR: Hi.\r\n")
    'SYS: Hello.\nUSR: Hi.'
    """
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def is_printable(text: str) -> bool:
    r"""Whether every line can be printed.

    >>> is_printable("a\nb"), is_printable("a\x00b")
    (True, False)
    """
    return all(line.isprintable() for line in text.split("\n"))
