"""A live campaign to look at: scenes that we draw ourselves, a real server, simulated workers; it ends by itself."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from amcc.errors import EngineError
from amcc.serve.scenes import Scenes, write_scenes
from amcc.serve.service import Service, new_campaign
from amcc.serve.simulated import Crowd, Done, read_answers

# Small enough that the charts move at every look, large enough that not everything is settled in the first minute.
N_SCENES = 60

# Share of the scenes that is known, so that there are check pages.
KNOWN_SHARE = 0.1

# In euros, with 0.02 for an answer and 0.01 for a page: about 1,500 answers.
BUDGET, PRICE, PAGE_PRICE = "35.00", "0.02", "0.01"

# Seconds until the server must listen, and until it must have ended.
PATIENCE = 60

INSTRUCTIONS = """\
You see a little picture, or a sentence about one. Say for each thing whether it is there.

- **yes**: you see it, or the sentence says so.
- **no**: it is not there.
- **cannot tell**: you really cannot say. It is paid like the others.

Example: "A tall pine in the pouring rain." has a **tree** and **rain**, and no **boat**.
"""


@dataclass(frozen=True)
class LiveDemo:
    """Where to look while it runs."""

    address: str
    password: str
    link: str


def live_demo(
    seconds: float, workers: int, seed: int, ready: Callable[[LiveDemo], object], tell: Callable[[Done], None]
) -> Done:
    """Run the demo for so long; `ready` is told the addresses, `tell` how far the simulated workers are."""
    with tempfile.TemporaryDirectory(prefix="amcc-live-") as place:
        scenes, folder = write_scenes(Path(place) / "scenes", N_SCENES, seed), Path(place) / "scenes-campaign"
        password = secrets.token_urlsafe(6)
        make_demo_campaign(folder, scenes, password)
        with served(folder) as address, Service.open(folder) as service:
            names = [f"simulated worker {number}" for number in range(1, workers + 1)]
            links = service.invite([*names, "you"], actor="demo")
            ready(LiveDemo(address, password, f"{address}/w/{links[-1].token}"))
            tokens = [each.token for each in links[:-1]]
            crowd = Crowd(address, tokens, read_answers(scenes.truth_file), seed=seed, pause=0.8)
            end = time.monotonic() + seconds
            try:
                done = crowd.run(10**6, seconds, tell)
            finally:
                crowd.stop()
            # Time to look, and to answer a page oneself, also where the simulated workers had enough.
            threading.Event().wait(max(0.0, end - time.monotonic()))
            return done


def make_demo_campaign(folder: Path, scenes: Scenes, password: str) -> None:
    """A campaign about the scenes, with the truth of the first few for check pages."""
    known = scenes.truth_file.with_name("known.csv")
    lines = scenes.truth_file.read_text(encoding="utf-8").splitlines(keepends=True)
    known.write_text("".join(lines[: 1 + round(KNOWN_SHARE * (len(lines) - 1))]), encoding="utf-8")
    new_campaign(
        folder, items=scenes.items, labels=scenes.labels, budget=BUDGET, currency="EUR", price=PRICE,
        page_price=PAGE_PRICE, truth=[known], password=password, title="What is in the scene?",
        instructions=INSTRUCTIONS, completion_code="SCENES-DONE",
    )  # fmt: skip


@contextmanager
def served(folder: Path, *options: str) -> Iterator[str]:
    """The address of a server process of its own, as `amcc serve` starts it; it ends with the block."""
    command = [sys.executable, "-m", "amcc", "serve", str(folder), "--port", "0", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None and server.stderr is not None
    # Whatever does not come in time is not waited for: the pipe ends with the process.
    guard = threading.Timer(PATIENCE, server.kill)
    guard.start()
    try:
        first = server.stdout.readline()
        guard.cancel()
        if " is served at " not in first:
            said = server.stderr.read().strip().splitlines()
            raise EngineError(f"the server must start; it said {(said or ['nothing'])[-1]!r}.")
        yield first.rsplit(" ", 1)[1].strip()
    finally:
        guard.cancel()
        server.send_signal(signal.SIGTERM)
        try:
            server.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.communicate()
