"""References to settings and calls in messages, which each caller can word in its own way.

Code outside the command line does not know its options. Its messages refer to a setting or a call
in backquotes, as written in Python, such as ```overwrite=True` replaces it`` or
```sfumato.train(TEXT, RUN, epsilon=inf)` trains one``. Users of Python read the message as it is;
the command line replaces each reference by an option or a command.

Names in capitals are placeholders for the reader's own values, and ``...`` stands for the rest.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_QUOTED = re.compile(r"`([^`\n]+)`")
_PACKAGE = "sfumato."


@dataclass(frozen=True)
class Reference:
    """A call of a function of the package, or settings of the current call if none is named.

    Values are evaluated as Python literals; a name is kept as text.
    """

    function: str
    given: Sequence[Any]
    settings: Mapping[str, Any]

    @classmethod
    def read(cls, written: str) -> Reference | None:
        """The reference between backquotes; None for anything else.

        >>> Reference.read("sfumato.train(TEXT, RUN, epsilon=8)")
        Reference(function='train', given=('TEXT', 'RUN'), settings={'epsilon': 8})
        >>> Reference.read("settings={'folds': 2}")
        Reference(function='', given=(), settings={'settings': {'folds': 2}})
        >>> Reference.read("an order")
        """
        called = written.startswith(_PACKAGE)
        try:
            tree = ast.parse(written if called else f"_({written})", mode="eval").body
            if not isinstance(tree, ast.Call) or not (called or tree.keywords):
                return None
            function = ast.unparse(tree.func).removeprefix(_PACKAGE) if called else ""
            given = tuple(map(_value, tree.args))
            return cls(function, given, {str(one.arg): _value(one.value) for one in tree.keywords})
        except (SyntaxError, ValueError):
            return None


def references(message: str) -> Iterator[Reference]:
    """Everything that a message refers to."""
    found = (Reference.read(one) for one in _QUOTED.findall(message))
    return (one for one in found if one is not None)


def reword(message: str, word: Callable[[Reference], str]) -> str:
    """A message with every reference in it worded another way, and all else as it was.

    >>> reword("a.txt exists already; `overwrite=True` replaces it", lambda one: "a new name")
    'a.txt exists already; a new name replaces it'
    """

    def replaced(match: re.Match[str]) -> str:
        found = Reference.read(match[1])
        return match[0] if found is None else word(found)

    return _QUOTED.sub(replaced, message)


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {_value(key): _value(value) for key, value in pairs if key is not None}
    if isinstance(node, ast.List):
        return [_value(one) for one in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(map(_value, node.elts))
    return ast.literal_eval(node)
