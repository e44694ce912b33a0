"""A user's own class, written ``file.py:Class`` wherever a component can be named.

Loading it runs the file with the rights of the user, so only what the user has typed is loaded. A
name in a file that may come from elsewhere (a side file, a run, a study) is never loaded without
permission: ``names_code`` recognizes such a name, and studies ask for permission first.

A file is loaded once for each content. After a change it becomes another module, and existing
objects keep their old class. Objects are sent to worker processes together with the paths of the
files that define their classes (``files_of``); a file that was changed in between is refused.

Whether a class from outside this package is the same as before is decided by the file that defines
it (``code_of``); other modules that this file imports are not compared.

An error in such a file is reported by its type and its line. Its message is not repeated, because
it may quote a text that the code was working on.
"""

from __future__ import annotations

import inspect
import re
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from importlib.abc import InspectLoader
from importlib.util import decode_source, module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from sfumato.core.errors import InvalidArgument, SfumatoError, UnknownName

# Names of the running script as a module, and the prefix of modules made from users' files: with
# it, a file called json.py does not replace another module.
_SCRIPT = ("__main__", "__mp_main__")
_PREFIX = "sfumato_own_"
_WRITTEN = re.compile(r"(?P<path>[^:]+\.py):(?P<name>[^\W\d]\w*)")


@dataclass(frozen=True)
class OwnClass:
    """A file and the name of a class in it."""

    path: Path
    name: str

    @classmethod
    def read(cls, written: str) -> OwnClass | None:
        """The file and class in what a user wrote, if it is ``file.py:Class``.

        >>> OwnClass.read("mine/shy.py:Shy").name, OwnClass.read("regex:shy.py:Shy")
        ('Shy', None)
        """
        found = _WRITTEN.fullmatch(written)
        return None if found is None else cls(Path(found["path"]), found["name"])

    @classmethod
    def split(cls, written: str) -> tuple[str, str | None] | None:
        """``file.py:Class`` and the text after a further colon.

        >>> OwnClass.split("shy.py:Shy:a:b"), OwnClass.split("pii:email")
        (('shy.py:Shy', 'a:b'), None)
        """
        found = _WRITTEN.match(written)
        if found is None or written[found.end() : found.end() + 1] not in ("", ":"):
            return None
        return found[0], written[found.end() + 1 :] if found.end() < len(written) else None

    def at(self, path: str | Path) -> str:
        """How the same class is written if the file has another path."""
        return f"{path}:{self.name}"

    def load(self) -> type[Any]:
        """The class itself; this runs the file."""
        return class_in(_load_file(self.path), self.name, str(self.path))


def names_code(written: str) -> bool:
    """Whether a text from a file would run code if it were loaded as a component.

    >>> names_code("digits + imperfect:shy.py:Shy"), names_code("pii:email")
    (True, False)
    """
    return ".py:" in written


def class_in(module: ModuleType, name: str, place: str) -> type[Any]:
    """The class of that name; the error suggests the nearest one."""
    found = getattr(module, name, None)
    if not inspect.isclass(found):
        classes = inspect.getmembers(module, inspect.isclass)
        own = [one for one, value in classes if value.__module__ == module.__name__]
        raise UnknownName(f"class in {place}", name, own)
    return found


def loaded_files() -> tuple[tuple[str, str], ...]:
    """The modules of this process that were loaded from users' files, each with its path."""
    return tuple(
        (name, str(module.__file__))
        for name, module in sorted(sys.modules.items())
        if name.startswith(_PREFIX)
    )


def files_of(pickled: bytes) -> tuple[tuple[str, str], ...]:
    """The files that define the classes of pickled objects."""
    return tuple(one for one in loaded_files() if one[0].encode() in pickled)


def load_again(files: Iterable[tuple[str, str]]) -> None:
    """In another process: load the same files, so that their objects can be unpickled."""
    for name, path in files:
        if name not in sys.modules and _load_file(Path(path)).__name__ != name:
            raise InvalidArgument(f"{path} was changed while it was in use; start again")


def code_of(kind: type) -> tuple[tuple[str, str], ...] | None:
    """Name and file hash of a class and its bases, as far as they are not part of this package.

    Empty for a class of this package. None if the source of one cannot be read (for instance if it
    was typed interactively), so that nobody can tell whether it is the same next time. The hash
    allows others to test guesses about the code, so it must not be written to a file as it is.

    >>> code_of(OwnClass)
    ()
    """
    classes = _not_ours(kind)
    if not all(_is_at_home(one) for one in classes):
        return None  # another class may have the same name and file
    try:
        return tuple((one.__qualname__, _source_hash(one)) for one in classes)
    except (OSError, TypeError, AttributeError):
        return None


def own_classes(kind: type) -> list[str]:
    """A class and its bases outside this package, as ``file.py:Class`` or ``module:Class``.

    Only the name of a file is given, without its folder, which may be private. The module name is
    not used, because it contains a hash of the file.
    """
    return [f"{_place(one)}:{one.__qualname__}" for one in _not_ours(kind)]


def stands_in_script(kind: type) -> bool:
    """Whether a class, or one of its bases, is defined in the script that is running."""
    return any(one.__module__ in _SCRIPT for one in kind.__mro__)


def _not_ours(kind: type) -> list[type]:
    """A class and its bases outside this package and Python, whatever their module claims."""
    packages = {"sfumato", *sys.stdlib_module_names}
    return [
        one
        for one in kind.__mro__
        if one.__module__.partition(".")[0] not in packages or not _is_at_home(one)
    ]


def _is_at_home(kind: type) -> bool:
    """Whether a class is the one that its module holds under its name.

    A class that was made by a function is not: another class may have the same name and file.
    """
    found: object = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind


def _source_hash(kind: type) -> str:
    """In the running script only the class is hashed: to resume a run, users edit the rest."""
    loader = getattr(sys.modules.get(kind.__module__), "__loader__", None)
    if isinstance(loader, _Content):
        return sha256(loader.content).hexdigest()  # what runs, whatever the file holds by now
    if kind.__module__ in _SCRIPT:
        source = inspect.getsource(kind).encode()
    else:
        source = Path(inspect.getfile(kind)).read_bytes()
    return sha256(source).hexdigest()


def _place(kind: type) -> str:
    if not kind.__module__.startswith(_PREFIX):
        return kind.__module__
    return Path(str(sys.modules[kind.__module__].__file__)).name


def say_where(error: BaseException, path: str | Path | None = None) -> str | None:
    """The type of an error and its line in a user's file; None if it was raised elsewhere."""
    files = {str(path)} if path is not None else {place for _, place in loaded_files()}
    if isinstance(error, SyntaxError) and error.filename in files:
        return f"{type(error).__name__} in line {error.lineno}"
    places = [one for one in traceback.extract_tb(error.__traceback__) if one.filename in files]
    return f"{type(error).__name__} in line {places[-1].lineno}" if places else None


def blame(error: BaseException) -> InvalidArgument | None:
    """The error to report if a user's file raised this one; None if it did not."""
    for _, path in () if isinstance(error, SfumatoError) else loaded_files():
        where = say_where(error, path)
        if where is not None:
            return InvalidArgument(f"{path} failed: {where}")
    return None


class _Content(InspectLoader):
    """Runs content that was read before, and writes no cache beside the file."""

    def __init__(self, content: bytes, path: Path) -> None:
        self.content, self.path = content, path

    def get_source(self, fullname: str) -> str:  # noqa: ARG002  # it has one module only
        return decode_source(self.content)

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return self.source_to_code(self.content, str(self.path))


def _load_file(path: Path) -> ModuleType:
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = f"there is no file {path}" if not path.exists() else f"cannot read {path}"
        raise InvalidArgument(f"{reason}: {error.strerror}") from None
    where = path.resolve()
    digest = sha256(str(where).encode() + b"\0" + content).hexdigest()
    name = f"{_PREFIX}{path.stem}_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, where, loader=_Content(content, where))
    if spec is None or spec.loader is None:
        raise InvalidArgument(f"{path} cannot be imported")
    module = module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for the module of a class
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a module that exits has failed, too
        del sys.modules[name]
        if isinstance(error, SfumatoError):
            raise
        told = say_where(error, where) or type(error).__name__
        raise InvalidArgument(f"importing {path} failed: {told}") from error
    except BaseException:
        del sys.modules[name]
        raise
    return module
