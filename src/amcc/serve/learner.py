"""The thread beside the server: ends overdue leases, starts fits, takes over what they learned, keeps the history.

Nothing here may harm the server: whatever goes wrong is logged, and tried again later.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time

from amcc.active.beliefs import GROWTH
from amcc.serve.core import Core
from amcc.serve.handing import Desk
from amcc.serve.learned import newest_version
from amcc.serve.noticing import tell_fit, tell_proposals
from amcc.serve.reports import note_history

logger: logging.Logger = logging.getLogger("amcc.serve")

# Seconds between two looks: a page is half an hour, and a fit takes seconds.
TICK = 0.5

# New votes before which no fit is worth its time: fewer than a page or two.
FEWEST = 20

# Seconds to wait after a fit that failed; doubled each time, up to the second number.
PATIENCE, MOST_PATIENCE = 30.0, 600.0

# New known truth is learned from after this many seconds, also without new votes: a requester decides several at once.
TRUTH_SECONDS = 20.0

LOG = "fit.log"


class Learner:
    """Started with the server, stopped with it."""

    def __init__(self, core: Core, desk: Desk, *, fits: bool = True) -> None:
        self._core, self._desk, self._fits = core, desk, fits
        self._stop = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._started = self._not_before = 0.0
        self._failures = 0
        self._fitted_truth = -1
        self._told = 0  # the version of the beliefs of which webhooks know
        self._thread = threading.Thread(target=self._run, name="amcc-learner", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; a fit that runs is given up, for it follows from the votes."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def fitting(self) -> bool:
        """Whether a fit runs now."""
        return self._process is not None

    def _run(self) -> None:
        while not self._stop.wait(TICK):
            for step in (self._desk.expire, self._fit, self._note):
                try:
                    step()
                except Exception as error:
                    # The kind only: what a database says may hold data.
                    logger.warning("beside the server: %s failed (%s)", step.__name__, type(error).__name__)
                    self._not_before = max(self._not_before, time.monotonic() + TICK)

    def _note(self) -> None:
        live = self._core.live_now
        learned = live is not None and live.believed.learned.version != self._told
        if live is not None and learned:
            tell_fit(self._core)
            self._told = live.believed.learned.version
        if note_history(self._core, learned=learned):
            tell_proposals(self._core)

    def _fit(self) -> None:
        if self._process is not None:
            if self._process.poll() is not None:
                self._ended(self._process.returncode)
                self._process = None
        elif self._fits and time.monotonic() >= self._not_before and self._is_wanted():
            self._started = time.monotonic()
            with (self._core.folder.path / LOG).open("wb") as log:
                command = [sys.executable, "-m", "amcc.serve.fit", str(self._core.folder.path), str(os.getpid())]
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if not self._core.database.is_sqlite:
            self._core.take_new_beliefs()  # of other servers

    def _is_wanted(self) -> bool:
        core = self._core
        with core.database.read() as connection:
            till = core.look(connection)
            live = core.live(connection)
            before = live.believed.learned
            if newest_version(connection) > before.version:
                return False  # another server's; it is taken over below
        if self._fitted_truth < 0:
            self._fitted_truth = till.n_truth if before.version else 0
        grown = till.n_votes - before.n_votes
        told = till.n_truth > self._fitted_truth and time.monotonic() - self._started > TRUTH_SECONDS
        wanted = grown >= max(FEWEST, GROWTH * before.n_votes) or (told and till.n_votes > 0)
        if wanted:
            self._fitted_truth = till.n_truth
        return wanted

    def _ended(self, code: int) -> None:
        took = time.monotonic() - self._started
        if code == 0:
            self._failures = 0
            self._core.take_new_beliefs()
            self._not_before = time.monotonic() + took  # at most half of one processor's time
            return
        self._failures += 1
        wait = min(PATIENCE * 2 ** (self._failures - 1), MOST_PATIENCE)
        logger.warning("a fit ended with code %s; the next one in %.0f s; see %s", code, wait, LOG)
        self._not_before = time.monotonic() + wait
