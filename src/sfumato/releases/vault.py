"""The vault of a run: what its pseudonyms stand for, sealed, for whoever has the key.

Guarantee
    With the vault and its key every pseudonym of the run can be undone. With one of them alone, or
    with neither, nothing can: ``core/sealing.py`` says why. No original is written to a disk but
    under seal: what a worker found travels through a pipe, and what is kept for a run that is
    killed is sealed before it is written.

What shows without the key
    How many chunks the text had, and roughly how long the originals of each are together.

A run that goes on seals under the same header. A vault that is there already is replaced only on
demand, or by the run that it belongs to: whoever loses a vault loses what is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.core.errors import (
    CannotResume,
    CannotUnseal,
    InvalidArgument,
    OutputExists,
    StorageFailed,
)
from sfumato.core.files import refuse_existing, write_whole
from sfumato.core.keys import Key
from sfumato.core.sealing import (
    Seal,
    header_of,
    is_sealed,
    read_sealed,
    require_cipher,
    write_sealed,
)
from sfumato.files.output import is_stream
from sfumato.mechanisms.by_type import ByType
from sfumato.mechanisms.pseudonym import Pseudonym
from sfumato.mechanisms.selective import Selective
from sfumato.releases.places import Places
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.public_settings import name_of

KEY_VARIABLE = "SFUMATO_VAULT_KEY"


@dataclass(frozen=True)
class Vault:
    """Where a vault is or shall be, and its key."""

    path: Path
    key: Key = field(repr=False)

    @classmethod
    def of(cls, path: str | Path, key_file: str | Path | None = None) -> Vault:
        """With the key in a file, or else in the environment."""
        require_cipher()
        key = Key.from_environment(KEY_VARIABLE) if key_file is None else Key.from_file(key_file)
        if key is None:
            raise InvalidArgument(
                "a vault needs a key: `vault_key=FILE`, or the environment variable "
                f"{KEY_VARIABLE}; 'openssl rand -hex 32 > FILE' makes a good one"
            )
        if key_file is not None and Path(path).resolve() == Path(key_file).resolve():
            raise InvalidArgument("the vault and its key must be two files")
        return cls(Path(path), key)

    def places(self) -> Iterator[Places]:
        """What is in it, chunk by chunk; whoever reads to the end knows that it is whole."""
        with closing(read_sealed(self.path, self.key)) as contents:
            for content in contents:
                yield Places.read(content)

    def refuse(self, others: Iterable[Path | None], *, overwrite: bool, resume: bool) -> None:
        """Say no to a place that is taken; whose a vault is that exists, is seen when going on."""
        path = self.path
        if is_stream(path):
            raise InvalidArgument("`vault=...` names a file, not a pipe")
        for other in others:
            if other is not None and path.resolve() == other.resolve():
                raise OutputExists(f"{path} is the input, the output or beside it; name another")
        refuse_existing(path, overwrite=overwrite or resume)
        if path.exists() and not is_sealed(path):
            raise OutputExists(f"{path} exists and is no vault; move it away")


def refuse_irreversible(privatizer: Privatizer) -> None:
    """Only a pseudonym stands for one text and says which one by its code.

    In a table by type the pseudonyms can be undone, and nothing else.
    """
    chosen = privatizer.selective
    found: object = chosen.mechanism if isinstance(chosen, Selective) else None
    mechanisms = found.mechanisms() if isinstance(found, ByType) else [found]
    if not any(isinstance(one, Pseudonym) for one in mechanisms):
        raise InvalidArgument(
            f"`vault=...` undoes pseudonyms, and {name_of(privatizer.mechanism)!r} puts in "
            "something that does not say what it stands for; `mechanism='pseudonym'` does"
        )


@dataclass(frozen=True)
class SealedParts:
    """What a run keeps for its vault, beside its finished parts."""

    vault: Vault
    folder: Path
    seal: Seal

    @classmethod
    def begun(cls, vault: Vault, folder: Path, *, overwrite: bool) -> SealedParts:
        """Under the header of the run that is gone on with, or under a new one."""
        header = folder / "vault"
        if header.exists():
            try:
                seal = Seal.under(header.read_bytes(), vault.key)
            except CannotUnseal as error:
                raise CannotResume(f"{header} is damaged: {error}") from None
        else:
            seal = Seal.fresh(vault.key)
            write_whole(header, seal.header, private=True)
        if vault.path.exists() and not overwrite and header_of(vault.path) != seal.header:
            raise OutputExists(f"{vault.path} is the vault of another run; name another file")
        return cls(vault, folder, seal)

    def keep(self, index: int, content: bytes) -> None:
        """Seal what is behind the pseudonyms of a part, and write it down."""
        write_whole(self._record(index), self.seal.seal(index, content), private=True)

    def kept(self, index: int) -> bytes:
        """The sealed record of a finished part; one that does not open is refused."""
        path = self._record(index)
        try:
            sealed = path.read_bytes()
            ends = self.seal.unseal(index, sealed) is None
        except FileNotFoundError:
            problem = "it is missing"
        except CannotUnseal as error:
            problem = str(error)
        else:
            if not ends:
                return sealed
            problem = "it is damaged"
        raise CannotResume(
            f"cannot resume: {path} does not open: {problem}; give the key that the run began "
            "with, or start again with `overwrite=True`"
        )

    def put_in_place(self, count: int) -> None:
        """Write the vault: all records, each looked at once more."""
        try:
            write_sealed(self.vault.path, self.seal, map(self.kept, range(count)))
        except CannotResume:
            raise
        except OSError as error:
            raise StorageFailed(f"cannot write {self.vault.path}: {error.strerror}") from None

    def _record(self, index: int) -> Path:
        return self.folder / f"{index:08d}.vault"
