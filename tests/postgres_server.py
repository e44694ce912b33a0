"""A PostgreSQL server for tests: really started, on a socket of its own, and stopped afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("initdb", "pg_ctl", "postgres")


def missing() -> str:
    """Why no server can be started here; nothing if one can."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"no PostgreSQL here ({', '.join(lacking)} not on the path): NOT TESTED with it"
    if os.geteuid() == 0 and (shutil.which("runuser") is None or not _has_user("postgres")):
        return "PostgreSQL does not run as root, and nobody else can here: NOT TESTED with it"
    return ""


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@contextmanager
def server(*, durable: bool = False) -> Iterator[str]:
    """The address of a new server; it listens on a socket in its folder only.

    Unless it is ``durable`` it does not wait for its disk.
    """
    folder = Path(tempfile.mkdtemp(prefix="sfumato-pg-"))
    owner = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if owner:
        shutil.chown(folder, "postgres")
    data = folder / "data"
    fsync = "on" if durable else "off"
    asked = f"-k {folder} -c listen_addresses='' -c fsync={fsync} -c max_connections=200"

    def run(*command: str) -> None:
        subprocess.run(
            [*owner, *command],
            check=True,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    try:
        run("initdb", "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "-N")
        run("pg_ctl", "-D", str(data), "-w", "-t", "300", "-l", str(folder / "log"), "-o", asked,
            "start")  # fmt: skip
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
