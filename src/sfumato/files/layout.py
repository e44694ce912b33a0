"""Where in a file the text stands, how the file is encoded, and the error for a missing field.

The error says which field is missing and never what the record holds.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import InitVar, dataclass
from difflib import get_close_matches

from sfumato.core.errors import InvalidArgument, MalformedRecord, UnknownName

# To be named when somebody mistypes one; any other encoding of text that Python has will do.
_COMMON = (
    "ascii", "big5", "cp1251", "cp1252", "euc_jp", "gb18030", "iso8859-15", "koi8-r", "latin-1",
    "mac_roman", "shift_jis", "utf-8",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Fields are columns or keys; plain text has none.

    ``field`` names the one that holds the text. Only who keeps the texts of a record together
    may ask for ``several``: each is a document of its own, and whoever counts documents would
    take one person for many.
    ``author_field`` and ``label_field`` are looked for only if they are given; every record must
    have them then.
    """

    field: str | tuple[str, ...] = "text"
    id_field: str = "id"
    encoding: str = "utf-8"
    whole_file: bool = False
    author_field: str | None = None
    label_field: str | None = None
    several: InitVar[bool] = False

    def __post_init__(self, several: bool) -> None:
        object.__setattr__(self, "encoding", _usable(self.encoding))
        fields = (self.field,) if isinstance(self.field, str) else tuple(self.field)
        # One of them is one, however it was given: what is written down must be the same.
        object.__setattr__(self, "field", fields[0] if len(fields) == 1 else fields)
        if not fields or len(set(fields)) < len(fields):
            raise InvalidArgument("field must name a column or key, or several different ones")
        if len(fields) > 1 and not several:
            raise InvalidArgument(
                f"`field=...` takes one name here, and {len(fields)} were given; only `privatize` "
                "takes several"
            )
        for name, given in (
            *(("field", one) for one in fields),
            ("author_field", self.author_field),
            ("label_field", self.label_field),
        ):
            if given == "":
                raise InvalidArgument(f"{name}='' must be the name of a column or key")

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that hold text."""
        return (self.field,) if isinstance(self.field, str) else self.field

    @property
    def wanted(self) -> Iterator[tuple[str, str]]:
        """The fields that every record must have, each with the setting that names it."""
        for setting, name in (
            *(("field", one) for one in self.fields),
            ("author_field", self.author_field),
            ("label_field", self.label_field),
        ):
            if name is not None:
                yield setting, name


def _usable(encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError):
        raise UnknownName("encoding", encoding, _COMMON) from None
    if codec.name == "utf-8-sig":
        return "utf-8"  # a byte order mark is kept as it stands
    try:
        separate_lines = "\n".encode(codec.name) == b"\n"
        _ = ("a" * 100 + " ü. b").encode(codec.name, "replace")  # idna is for names of hosts alone
    except (LookupError, TypeError, UnicodeError):
        raise InvalidArgument(f"encoding={encoding!r} is not an encoding of text") from None
    if not separate_lines:
        raise InvalidArgument(
            f"encoding={encoding!r} does not mark the end of a line by one byte; "
            "convert the file to utf-8 first"
        )
    return codec.name


def labels_of(value: str | None) -> tuple[str, ...]:
    """A label that is missing is none."""
    return () if value is None else (value,)


def missing_field(
    field: str,
    present: Iterable[str],
    *,
    where: str,
    setting: str = "field",
    quotable: bool = True,
) -> MalformedRecord:
    """An error that names the nearest field; where names may be data, only its number."""
    names = {name.lower(): (number, name) for number, name in enumerate(present, start=1)}
    close = get_close_matches(field.lower(), names, n=1)
    hint = f"`{setting}=NAME` names another"
    if close:
        number, name = names[close[0]]
        hint = f"did you mean {name!r}?" if quotable else f"did you mean column {number}?"
    return MalformedRecord(f"{where}: there is no field {field!r}; {hint}")
