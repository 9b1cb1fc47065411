"""One campaign's database: engines, transactions, the lock of the server, and errors in words.

`write` runs a function in a transaction that is on the disk when it returns. On a usual disk that takes milliseconds,
whatever it writes, so those who come meanwhile share the next transaction: each in a savepoint of its own, all
committed at once. So hundreds of answers a second are stored, and none is acknowledged before it is safe.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, exc
from sqlalchemy.engine import make_url

from amcc.errors import AmccError, StoreError

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

Result = TypeVar("Result")

# Functions that share a transaction, at most: a commit takes as long as some dozens of them.
MOST_TOGETHER = 64

# Seconds to wait for another process that writes: longer than a backup or a large import holds the lock.
PATIENCE = 30

# Connections per process: as many as the web server has threads, and some for the learner.
CONNECTIONS = 50

# Times that a transaction is tried again which PostgreSQL ended because of another one.
TRIES = 3


class _Job(Generic[Result]):
    """A function that waits for its transaction, then what came of it: nothing counts before it is `done`."""

    def __init__(self, work: Callable[[Connection], Result]) -> None:
        self.work, self.done = work, False
        self.wake = threading.Lock()
        self.wake.acquire()
        self.result: Result
        self.error: BaseException | None = None

    def run(self, connection: Connection) -> None:
        self.error = None
        try:
            self.result = self.work(connection)
        except (exc.OperationalError, exc.InternalError):
            raise  # the transaction may be gone: nobody in it is served
        except BaseException as error:
            self.error = error
            raise _UndoneError from error

    def outcome(self, url: str) -> Result:
        if self.error is None:
            return self.result
        with in_words(url):
            raise self.error


class _UndoneError(Exception):
    """A job failed by itself: what it wrote is undone, the others go on."""


class _UnsureError(Exception):
    """The connection was lost while a transaction was committed: it may be on the disk, or not."""


class Database:
    """The database of a campaign: an SQLite file, or PostgreSQL by URL."""

    def __init__(self, url: str) -> None:
        self.url: str = _normal(url)
        self.is_sqlite: bool = self.url.startswith("sqlite")
        self.engine: Engine = _engine(self.url, self.is_sqlite)
        self._guard = threading.Lock()
        self._waiting: deque[_Job[Any]] = deque()
        self._busy = False  # whether somebody runs jobs, who then also sees to those that wait

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    @contextlib.contextmanager
    def read(self, *, snapshot: bool = False) -> Iterator[Connection]:
        """A connection to read from; `snapshot`: all reads see the same moment, on PostgreSQL, too."""
        options = {"isolation_level": "REPEATABLE READ"} if snapshot and not self.is_sqlite else {}
        with in_words(self.url), self.engine.connect() as connection:
            connection = connection.execution_options(**options)
            with connection.begin():  # said aloud: prepared statements go by SQLAlchemy, which would not begin for them
                yield connection

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in a transaction, perhaps together with others; on the disk when this returns.

        `work` must do nothing but read and write by its connection, for it may be run again.
        """
        job = _Job(work)
        with self._guard:
            self._waiting.append(job)
            leads, self._busy = not self._busy, True
        if not leads:
            job.wake.acquire()  # until somebody has done it, or it is our turn to do what waits
        if not job.done:
            self._run_waiting()
        return job.outcome(self.url)

    def _run_waiting(self) -> None:
        """Run the jobs that wait, ours is the first, in one transaction; one by one where it fails."""
        with self._guard:
            jobs = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
        try:
            self._run(jobs)
        except BaseException as error:  # whatever it was: nobody may take what is not on the disk for done
            for job in jobs:
                job.error = job.error if job.done else error
        finally:
            with self._guard:
                # Each wakes once: those whose work is done, and who goes on with what waits now.
                further = self._waiting[0] if self._waiting else None
                self._busy = further is not None
            for job in jobs:
                job.done = True
                job.wake.release()
            if further is not None:
                further.wake.release()

    def _run(self, jobs: list[_Job[Any]]) -> None:
        if len(jobs) > 1:
            with contextlib.suppress(exc.DBAPIError):  # perhaps the fault of one: below each stands for itself
                self._together(jobs)
                return
        for job in jobs:
            self._alone(job)

    def _together(self, jobs: list[_Job[Any]]) -> None:
        with self._begin() as connection:
            for job in jobs:
                with contextlib.suppress(_UndoneError), connection.begin_nested():
                    job.run(connection)
        for job in jobs:
            job.done = True

    def _alone(self, job: _Job[Any]) -> None:
        for left in reversed(range(TRIES)):
            try:
                with contextlib.suppress(_UndoneError), self._begin() as connection:
                    job.run(connection)
                break
            except exc.DBAPIError as error:
                if left and not self.is_sqlite and _is_passing(error):
                    continue
                job.error = error
                break
        job.done = True

    @contextlib.contextmanager
    def _begin(self) -> Iterator[Connection]:
        """A connection in a transaction; _UnsureError where nobody knows whether it was committed."""
        ran = False
        try:
            with self.engine.execution_options(amcc_write=True).begin() as connection:
                yield connection
                ran = True
        except exc.DBAPIError as error:
            if ran and error.connection_invalidated:  # run again, it might be done twice
                raise _UnsureError from error
            raise


def _normal(url: str) -> str:
    """The URL with the driver that amcc brings: psycopg 3."""
    try:
        parsed = make_url(url)
    except exc.ArgumentError:
        raise StoreError(f"the database must be a URL such as postgresql://user@host/name; got {url!r}.") from None
    if parsed.get_backend_name() == "postgresql":
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise StoreError("PostgreSQL needs the extra: pip install 'amcc[postgres]'.") from None
        parsed = parsed.set(drivername="postgresql+psycopg")
    elif parsed.get_backend_name() != "sqlite":
        raise StoreError(f"the database must be SQLite or PostgreSQL; got {parsed.get_backend_name()!r}.")
    return parsed.render_as_string(hide_password=False)


def sqlite_url(path: Path) -> str:
    """The URL of an SQLite file."""
    return f"sqlite:///{path}"


def _engine(url: str, is_sqlite: bool) -> Engine:
    pool = {"pool_size": CONNECTIONS, "max_overflow": CONNECTIONS, "pool_timeout": PATIENCE}
    if not is_sqlite:
        return create_engine(url, pool_pre_ping=True, **pool)
    engine = create_engine(url, connect_args={"timeout": PATIENCE}, **pool)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say so, see below
        # FULL: a commit is on the disk before it is acknowledged. secure_delete: what is forgotten is overwritten.
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # IMMEDIATE: who writes waits here for others, and not halfway, where waiting would be a deadlock.
        if connection.get_execution_options().get("amcc_write"):
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:  # by the driver itself, a quarter of what a read takes: it locks nothing yet, so nothing can go wrong
            connection.connection.cursor().execute("BEGIN")

    return engine


def _is_passing(error: exc.DBAPIError) -> bool:
    """Whether PostgreSQL says that the same may succeed in another moment: a deadlock, or a lost connection."""
    return getattr(error.orig, "sqlstate", None) in ("40001", "40P01") or error.connection_invalidated


def problem_of(error: exc.DBAPIError | exc.TimeoutError | _UnsureError, url: str) -> AmccError:
    """What a database says about a problem, in our words. What it says may hold data, so it is not repeated whole."""
    where = make_url(url).database or "the database"
    if isinstance(error, _UnsureError):
        return StoreError(f"the connection to {where} was lost just when this was written. Look whether it is there.")
    if isinstance(error, exc.TimeoutError):
        return StoreError(f"{where} is busy: all connections to it have been in use for {PATIENCE} s. Try again.")
    said = next(iter(str(error.orig).splitlines()), "") if error.orig is not None else ""
    state = getattr(error.orig, "sqlstate", None)
    if "disk is full" in said or "disk I/O error" in said or state == "53100":
        return StoreError(f"{where} cannot be written: the disk is full. Nothing was lost; make room and try again.")
    if "locked" in said or state == "55P03":
        return StoreError(f"{where} is busy: another process has been writing for {PATIENCE} s. Try again.")
    if "readonly" in said or state == "25006":
        return StoreError(f"{where} cannot be written: it is read-only. Check its owner and its folder.")
    if "malformed" in said or "not a database" in said:
        return StoreError(f"{where} is damaged ({said}). Take it from a backup: amcc campaign restore.")
    if isinstance(error, exc.IntegrityError):
        return StoreError(f"a rule of the database forbids this ({type(error.orig).__name__}); nothing was changed.")
    return StoreError(f"{where} cannot be used: {said}")


@contextlib.contextmanager
def in_words(url: str) -> Iterator[None]:
    """Say errors of the database in our words."""
    try:
        yield
    except (exc.DBAPIError, exc.TimeoutError, _UnsureError) as error:
        raise problem_of(error, url) from error
    except UnicodeDecodeError as error:  # what SQLite itself says about a file of which a letter is no letter any more
        where = make_url(url).database
        raise StoreError(f"{where} is damaged. Take it from a backup: amcc campaign restore.") from error


class ServerLock:
    """Held by the one server process of an SQLite file; the system lets go of it when the process ends, however."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a+b")
        if fcntl is None:
            return  # Windows: SQLite's own locks still keep the data whole
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise StoreError(
                f"{path.parent} is served already: only one server can use an SQLite campaign at a time. Stop the "
                "other one, or use PostgreSQL (amcc campaign new --database URL)."
            ) from None

    def close(self) -> None:
        """Let another server take it."""
        self._file.close()
