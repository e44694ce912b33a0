"""Where in a file the text stands, how the file is encoded, and the error for a missing field.

The error says which field is missing and never what the record holds.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import InitVar, dataclass
from dataclasses import field as member
from difflib import get_close_matches

from sfumato.core.checks import names
from sfumato.core.errors import InvalidArgument, MalformedRecord, UnknownName
from sfumato.files.dialect import Dialect
from sfumato.files.paths import WHOLE, Place, leads_to, names_many

# To be named when somebody mistypes one; any other encoding of text that Python has will do.
_COMMON = (
    "ascii", "big5", "cp1251", "cp1252", "euc_jp", "gb18030", "iso8859-15", "koi8-r", "latin-1",
    "mac_roman", "shift_jis", "utf-8",
)  # fmt: skip

# The field that holds labeled spans, unless it is called otherwise.
SPANS = "spans"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Fields are columns or keys; plain text has none.

    ``field`` names the one that holds the text. Only who keeps the texts of a record together
    may ask for ``several``: each is a document of its own, and whoever counts documents would
    take one person for many.
    ``author_field``, ``label_field`` and ``language_field`` are looked for only if they are given;
    every record must have them then, and so it is with ``span_field``, which holds labeled spans of
    the text. ``group_field`` holds a second label, beside that of ``label_field``.

    What is in ``drop`` is taken out; what is in ``keep`` is left as it is on purpose. ``others``
    asks for what stands in all other columns. ``live`` records are handed on one by one. The lines
    of a stream count from ``skipped``, if so many were left out before.
    """

    field: str | tuple[str, ...] = "text"
    id_field: str = "id"
    encoding: str = "utf-8"
    whole_file: bool = False
    author_field: str | None = None
    label_field: str | None = None
    group_field: str | None = None
    language_field: str | None = None
    span_field: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    dialect: Dialect = member(default_factory=Dialect)
    others: bool = False
    live: bool = False
    skipped: int = 0
    several: InitVar[bool] = False

    def __post_init__(self, several: bool) -> None:
        object.__setattr__(self, "encoding", _usable(self.encoding))
        self._name_columns()
        fields = names("field", self.field)
        # One of them is one, however it was given: what is written down must be the same.
        object.__setattr__(self, "field", fields[0] if len(fields) == 1 else fields)
        if not fields or len(set(fields)) < len(fields):
            raise InvalidArgument("field must name a column or key, or several different ones")
        if len(fields) > 1 and not several:
            raise InvalidArgument(
                f"`field=...` takes one name here, and {len(fields)} were given; only `privatize` "
                "takes several"
            )
        if not several and any("*" in one or "[]" in one for one in fields) and self.means_many:
            raise InvalidArgument(
                f"`field={fields[0]!r}` means several texts of a record, one is read here; only "
                "`privatize` takes several"
            )
        if WHOLE in fields and len(fields) > 1:
            raise InvalidArgument("`field='*'` is the whole record: no other field can be named")
        for name, given in (
            *(("field", one) for one in fields),
            ("author_field", self.author_field),
            ("label_field", self.label_field),
            ("group_field", self.group_field),
            ("language_field", self.language_field),
            ("span_field", self.span_field),
            *(("drop", one) for one in self.drop),
            *(("keep", one) for one in self.keep),
        ):
            if given == "":
                raise InvalidArgument(f"{name}='' must be the name of a column or key")
        if self.group_field is not None and self.label_field is None:
            raise InvalidArgument(
                "`group_field=...` names groups of labeled documents; give `label_field=NAME`, too"
            )
        self._refuse_two_fates()

    def _name_columns(self) -> None:
        """Names in one form, whatever kind of list they came in."""
        for name in ("drop", "keep"):
            each = tuple(dict.fromkeys(names(name, getattr(self, name))))
            object.__setattr__(self, name, each)
        for name in ("id_field", "author_field", "label_field", "language_field", "span_field"):
            given = getattr(self, name)
            found = (None,) if given is None else names(name, given)
            if len(found) != 1:
                raise InvalidArgument(f"`{name}=...` takes one name")
            object.__setattr__(self, name, found[0])

    def _refuse_two_fates(self) -> None:
        if self.language_field in self.drop and self.language_field is not None:
            raise InvalidArgument(
                f"{self.language_field!r} is named in `language_field=...` and in `drop=...`: what "
                "is put in shows the language anyway; keep it, or let it be guessed"
            )
        if WHOLE in self.drop:
            raise InvalidArgument("`drop='*'` would leave nothing")
        fates = [("field", self.fields), ("drop", self.drop), ("keep", self.keep)]
        for number, (one, columns) in enumerate(fates):
            for other, others in fates[number + 1 :]:
                for name in columns:
                    if name in others and name != WHOLE:
                        raise InvalidArgument(
                            f"{name!r} is named in `{one}=...` and in `{other}=...`: choose one"
                        )

    @property
    def means_many(self) -> bool:
        """Whether a field may mean several texts of a record, and not only those it names."""
        try:
            return any(map(names_many, self.fields))
        except InvalidArgument:
            return False  # then it is a name

    @property
    def whole_record(self) -> bool:
        """Whether every text of a record is meant."""
        return self.fields == (WHOLE,)

    def kept(self, place: Place) -> str | None:
        """The name that says that a column is to be left as it is."""
        return next((one for one in self.keep if leads_to(one, place, below=True)), None)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that hold text."""
        return (self.field,) if isinstance(self.field, str) else self.field

    @property
    def wanted(self) -> Iterator[tuple[str, str]]:
        """The fields that every record must have, each with the setting that names it."""
        for setting, name in (
            *(("field", one) for one in self.fields if one != WHOLE),
            ("author_field", self.author_field),
            ("label_field", self.label_field),
            ("group_field", self.group_field),
            ("language_field", self.language_field),
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


def labels_of(value: str | None, group: str | None = None) -> tuple[str, ...]:
    """The label, and the group if there is one; a label that is missing is none.

    >>> labels_of(None), labels_of("1"), labels_of("1", "GB")
    ((), ('1',), ('1', 'GB'))
    """
    if group is not None:
        return value or "", group
    return () if value is None else (value,)


def language_of(value: str | None) -> str:
    """The code of a language as a field may give it; what is no code names none.

    >>> language_of("de-AT"), language_of("EN"), language_of("Deutsch"), language_of(None)
    ('de', 'en', '', '')
    """
    found = _LANGUAGE.fullmatch((value or "").strip())
    return found[1].lower() if found else ""


# Names that columns have in many files, and that are therefore no data.
_USUAL = re.compile(
    r"(?:ids?|key|col(?:umn)?|field|uuid|hash|text|body|subject|title|messages?|content|comments?|"
    r"notes?|description|summary|(first_|last_|user)?name|user|author|owner|assignee|reporter|agent|customer|client|"
    r"patient|role|e?mail|phone|address|street|city|region|state|country|zip|postcode|place|lat|"
    r"lon|lng|latitude|longitude|date|time(stamp)?|created|updated|closed|due|year|month|day|age|"
    r"sex|gender|type|kind|labels?|category|tags?|status|priority|severity|score|rating|price|"
    r"amount|total|currency|value|count|number|url|ip|lang(uage)?|locale|source|channel|product|"
    r"brand|model|version|v\d{1,2}|order|ticket|team|department|company|meta(data)?|data|items?|"
    r"ort|stadt|plz|datum|kunde|betreff|nachricht|ville|pays|nom|objet|ciudad|nombre|asunto)"
    r"[ _-]?\d{0,4}",
    re.IGNORECASE,
)


def is_usual_name(name: str) -> bool:
    """Whether a name is one that columns have in many files.

    >>> is_usual_name("Lang"), is_usual_name("col_17"), is_usual_name("Tom Miller")
    (True, True, False)
    """
    return _USUAL.fullmatch(name) is not None


_WORD = r"[^\W\d][\w-]*(?: [^\W\d][\w-]*)?(?:\[\])?"
_SMALL = re.compile(r"[^\W\dA-Z][\w-]*")
_NAME = re.compile(rf"{_WORD}(?:\.{_WORD}){{0,5}}")
_LISTED = 20
# A code of two letters, and perhaps a country or a script.
_LANGUAGE = re.compile(r"([A-Za-z]{2})(?:[-_][A-Za-z0-9]{2,8}){0,3}")
_LONGEST = 40


def missing_field(
    field: str,
    present: Iterable[str],
    *,
    where: str,
    setting: str = "field",
    quotable: bool = True,
    keys: bool = False,
) -> MalformedRecord:
    """An error that lists the fields there are and names the nearest.

    Where names may be data they are numbers; a key that does not look like a name is not shown. Of
    ``keys`` of a record, which may be data more easily than the head of a table, only those are
    that begin with a small letter, as names in programs do, or that are usual.
    """
    listed = list(present)
    shown = [name for name in listed if _is_shown(name, keys=keys)] if quotable else listed
    names = {name.lower(): (listed.index(name) + 1, name) for name in shown}
    close = get_close_matches(field.lower(), names, n=1)
    hint = f"`{setting}=NAME` names another"
    if close:
        number, name = names[close[0]]
        hint = f"did you mean {name!r}?" if quotable else f"did you mean column {number}?"
    there = _there(shown, len(listed)) if quotable else _counted(len(listed))
    return MalformedRecord(f"{where}: there is no field {field!r}; {hint}{there}")


def _is_shown(name: str, *, keys: bool) -> bool:
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        return False
    parts = name.replace("[]", "").split(".") if keys else ()
    return all(is_usual_name(one) or _SMALL.fullmatch(one) for one in parts)


def _there(shown: list[str], count: int) -> str:
    if not count:
        return ""
    others = count - len(shown[:_LISTED])
    more = [f"{others} more" if shown else f"{others} whose names are not shown"] if others else []
    return f" (there are: {', '.join([*shown[:_LISTED], *more])})"


def _counted(count: int) -> str:
    if not count:
        return ""
    return f" (there are {count} columns)" if count > 1 else " (there is 1 column)"
