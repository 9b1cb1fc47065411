"""A campaign's server: one process, or on PostgreSQL several that share an address.

It ends by SIGINT or SIGTERM: no new requests, those that run are answered, and the database is let go. Whatever kills
it otherwise loses nothing that was acknowledged.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

import uvicorn
from anyio.to_thread import current_default_thread_limiter

from amcc.errors import InputError, ParameterError
from amcc.serve.folders import Folder
from amcc.serve.service import Service
from amcc.serve.web.app import create_app
from amcc.serve.web.security import LOG, JsonLines

# Seconds that running requests get when the server ends: they take milliseconds, downloads some seconds.
LAST_SECONDS = 10

# Connections that wait to be accepted.
BACKLOG = 1024

# Requests that are worked on at once; others wait for their turn. Python runs one thread at a time, so more of them
# only take the processor from each other; these few keep it busy while some wait for the disk.
THREADS = 8

# Seconds between two looks whether all processes are alive, and whether a signal came.
LOOK_SECONDS = 0.2

# A server process that ends by itself is started again, but not without end: then something is wrong with the machine.
MOST_RESTARTS = 10


@dataclass(frozen=True)
class ServerPlan:
    """What is served where.

    hosts : names under which it is reached from outside, beside the loopback. https : whether a proxy in front of it
    speaks TLS. processes : more than one on PostgreSQL only. log : whether requests are written to standard error.
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8000
    hosts: Sequence[str] = ()
    https: bool = False
    processes: int = 1
    log: bool = False


def serve(plan: ServerPlan, ready: Callable[[str], object]) -> None:
    """Serve until a signal ends it; `ready` is told the address once everything is open."""
    with _listening(plan.host, plan.port) as listener:
        address = address_of(listener)
        if plan.processes == 1:
            with Service.open(plan.folder, server=True) as service:
                _run(service, plan, listener, lambda: ready(address))
            return
        if Folder.read(plan.folder).database.startswith("sqlite"):
            raise ParameterError(
                f"--workers must be 1 for a campaign on SQLite, which one process serves; got {plan.processes}. For "
                "more, make the campaign with --database postgresql://…"
            )
        _run_several(plan, listener, lambda: ready(address))


def address_of(listener: socket.socket) -> str:
    """Where a socket listens, as people type it."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens; InputError where it cannot."""
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
        )
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise InputError(
            f"the server must be able to listen at {host}:{port}; {why}. Is another server there? --port chooses "
            "another place."
        ) from None
    with listener:
        listener.set_inheritable(True)
        yield listener


def _run(service: Service, plan: ServerPlan, listener: socket.socket, ready: Callable[[], object]) -> None:
    """Serve in this process until a signal comes."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[lines])
    LOG.setLevel(logging.INFO if plan.log else logging.WARNING)
    config = uvicorn.Config(
        create_app(service, https=plan.https, hosts=tuple(plan.hosts)), log_config=None, access_log=False, ws="none",
        server_header=False, date_header=False, timeout_graceful_shutdown=LAST_SECONDS, backlog=BACKLOG,
        proxy_headers=plan.https, forwarded_allow_ips="127.0.0.1",
    )  # fmt: skip
    server = _Server(config, ready)
    with _on_signals(server.handle_exit):
        server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """Says when it is ready, and leaves signals to us: uvicorn would end the process before the database is closed."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        current_default_thread_limiter().total_tokens = THREADS
        # What is there now stays until the end: to look through all of it for garbage again and again would keep
        # everybody waiting for a tenth of a second.
        gc.collect()
        gc.freeze()
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """See uvicorn."""
        yield


@contextlib.contextmanager
def _on_signals(handle: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Let a function handle the signals that end a server."""
    ending = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, handle) for each in ending}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


# -- several processes ---------------------------------------------------------------------------------------------


def _run_several(plan: ServerPlan, listener: socket.socket, ready: Callable[[], object]) -> None:
    """Processes that accept from one socket; one that is lost is replaced."""
    spawn = get_context("spawn")
    # A plain list: the lock of an event could be held by the very thread that the signal interrupts.
    signals: list[int] = []

    def start() -> BaseProcess:
        process = spawn.Process(target=_serve_one, args=(plan, listener))
        process.start()
        return process

    processes = [start() for _ in range(plan.processes)]
    with _on_signals(lambda number, frame: signals.append(number)):
        ready()
        restarts = 0
        try:
            while not signals:
                time.sleep(LOOK_SECONDS)
                for place, process in enumerate(processes):
                    if process.is_alive() or signals:
                        continue
                    restarts += 1
                    if restarts > MOST_RESTARTS:
                        raise InputError(f"server processes must stay alive; {restarts} ended. See what they said.")
                    processes[place] = start()
        finally:
            for process in processes:
                if process.pid is not None and process.is_alive():
                    os.kill(process.pid, signal.SIGTERM)
            for process in processes:
                process.join(LAST_SECONDS + 5)


def _serve_one(plan: ServerPlan, listener: socket.socket) -> None:
    """One of several processes; it ends with the first one, however that ended."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with Service.open(plan.folder, server=True) as service:
        _run(service, plan, listener, lambda: None)


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
