"""A throw-away PostgreSQL: a cluster in a temporary folder, a socket in it, no port, and any number of databases."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

# Where Debian keeps what its packages install beside the PATH, newest last.
DEBIAN = Path("/usr/lib/postgresql")

# Seconds until a new cluster answers, on a machine that is busy with something else.
PATIENCE = 60

# Nobody reads these data after a crash of the machine: the tests kill servers of ours, not the database.
CARELESS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


def programs() -> Path | None:
    """The folder of initdb and postgres, or None."""
    for folder in sorted(DEBIAN.glob("*/bin"), key=lambda each: float(each.parent.name), reverse=True):
        if (folder / "initdb").exists():
            return folder
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found and shutil.which("postgres") else None


def as_postgres() -> list[str]:
    """What to put before a command: the server refuses to run as root. It ends when the tests end, however they do."""
    if shutil.which("setpriv") is None:
        return []
    root = ["--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
    return ["setpriv", *root, "--pdeathsig=INT"]


class Cluster:
    """A running cluster; `database` makes a new, empty database and gives its URL."""

    def __init__(self, folder: Path, *, careful: bool = False, connections: int = 100) -> None:
        self.folder = folder
        self._numbers = count(1)
        bin_folder = programs()
        assert bin_folder is not None, "PostgreSQL is not installed"
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        data, run_as = folder / "data", as_postgres()
        subprocess.run(
            [*run_as, bin_folder / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C",
             "--no-sync"],
            check=True, capture_output=True, cwd=folder,
        )  # fmt: skip
        settings = [f"max_connections={connections}", *(() if careful else CARELESS)]
        self._command = [
            *run_as, bin_folder / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=",
            *(word for setting in settings for word in ("-c", setting)),
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start it, or start it again where it has ended."""
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self.folder)
        self._wait()

    @property
    def is_up(self) -> bool:
        """Whether it has not ended."""
        return self._server.poll() is None

    def url(self, name: str = "postgres") -> str:
        """The address of a database; its socket is a file that only this user can reach."""
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def database(self, *, on: Path | None = None) -> str:
        """A new, empty database; its tables in the folder `on`, which is made, instead of beside all others."""
        name = f"d{next(self._numbers)}"
        if on is None:
            self._run(f"CREATE DATABASE {name}")
            return self.url(name)
        on.mkdir()
        if os.geteuid() == 0:
            shutil.chown(on, "postgres", "postgres")
        self._run(f"CREATE TABLESPACE {name} LOCATION '{on}'", f"CREATE DATABASE {name} TABLESPACE {name}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Take a database away that has a folder of its own, and let go of the folder."""
        name = urlsplit(url).path.strip("/")
        self._run(f"DROP DATABASE {name} WITH (FORCE)", f"DROP TABLESPACE {name}")

    def _run(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def stop(self) -> None:
        """End it at once, as when its machine loses power."""
        self._server.send_signal(signal.SIGQUIT)
        self._server.wait(timeout=PATIENCE)

    def _wait(self) -> None:
        """Until it takes connections."""
        import psycopg

        end = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.url()).close()
                return
            except psycopg.OperationalError as error:
                if self._server.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()}") from error
                time.sleep(0.05)


@contextlib.contextmanager
def cluster(*, careful: bool = False, connections: int = 100) -> Iterator[Cluster]:
    """A cluster for the length of a block. `careful`: on the disk at every commit, as for people who pay money."""
    # The path of a socket has at most about 100 characters, which folders of pytest do not leave.
    short = "/tmp" if Path("/tmp").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="pg", dir=short, ignore_cleanup_errors=True) as folder:
        made = Cluster(Path(folder), careful=careful, connections=connections)
        try:
            yield made
        finally:
            made.stop()
