"""Rounds and fits on a Dask cluster whose machines are network namespaces, beside what the simulation says of them.

    sudo python benchmarks/cluster_network.py            1, 2 and 4 processes; one killed; one with a slow link
    sudo python benchmarks/cluster_network.py --write    also into docs/scaling.md

Scheduler and leader are on one machine, each process on another, all behind links of limited bandwidth and delay
(namespaces.py). The simulation (scaling.py, cluster.py) gets its costs as it always does, from one and two processes on
the loopback, and the bandwidth of the links; it is asked before anything is measured here. Every result must be that of
LocalEngine. All share the cores of one machine, so this tells of the network, of losses and of waiting, not of cores.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import namespaces
import scaling
from child import Others
from cluster import Work, simulate_round
from namespaces import Link, Network
from page import short, table
from script import hush, parser_of, seconds_of, whole_number, write_between

LINK = Link(mbit=1000, ms=1)
SLOW = Link(mbit=100, ms=20)
# Rounds that are timed one by one, and rounds of a fit: enough for a median, and for a loss in the middle.
N_TIMED, N_FITTED = 7, 15
# The call of `total` at which a process is killed: in the middle of the rounds of the fit.
KILL_AT = 8
PORT = 8786
# What a process may take to start on a busy machine, and what a measurement may.
START_SECONDS, PATIENCE = 60, 120


# -- on the machine that leads -----------------------------------------------------------------------------------------


def lead(address: str, packed: Path, n_processes: int, victim: int | None) -> dict[str, Any]:
    """Seconds of rounds, seconds of a fit for each of its rounds, what it says, and how many processes are left."""
    import amcc
    from amcc.consensus.rounds import one_round

    hush()
    with amcc.engine.DaskEngine(packed, address, timeout=START_SECONDS) as engine:
        engine.client.wait_for_workers(n_processes, timeout=START_SECONDS)
        beliefs = scaling.in_turn(engine)
        engine.total(one_round, *beliefs())  # blocks are read, loops compiled
        rounds = [seconds_of(lambda: engine.total(one_round, *beliefs())) for _ in range(N_TIMED)]
        if victim is not None:
            kill_in_a_round(engine, victim)
        return {"rounds": rounds, **fitted(engine), "left": len(engine._processes())}


def fitted(engine: Any) -> dict[str, Any]:
    """A fit of Dawid–Skene, cut after some rounds: the leader has next to nothing to do between them."""
    import amcc

    start = time.perf_counter()
    model = amcc.consensus.DawidSkene(max_iter=N_FITTED).fit(engine)
    seconds = time.perf_counter() - start
    proba = [value for part in model.tables(engine, frame="arrow") for value in part["probability"].to_pylist()]
    return {"fit": seconds / model.n_iter_, "proba": proba}


def kill_in_a_round(engine: Any, victim: int) -> None:
    """Let a process die while it has work."""
    total, n_calls = engine.total, 0

    def total_and_kill(*arguments: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls == KILL_AT:
            threading.Timer(0.05, os.kill, (victim, signal.SIGKILL)).start()
        return total(*arguments)

    engine.total = total_and_kill


# -- the cluster -------------------------------------------------------------------------------------------------------


@contextmanager
def processes(net: Network, n_processes: int) -> Iterator[list[int]]:
    """A scheduler on machine 0 and a process on each of the next; their process ids. All end at the end."""
    scheduler = "scheduler", "--host", net.address(0), "--port", str(PORT), "--no-dashboard", "--no-show"
    worker = "worker", f"tcp://{net.address(0)}:{PORT}", "--nthreads", "1", "--no-nanny", "--no-dashboard"
    with ExitStack() as running:
        scratch = running.enter_context(tempfile.TemporaryDirectory())
        ids = []
        for machine in range(n_processes + 1):
            what = (*worker, "--host", net.address(machine), "--local-directory", scratch) if machine else scheduler
            command = net.on(machine, sys.executable, "-m", "dask", *what)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            running.callback(process.wait)
            running.callback(process.kill)
            ids.append(process.pid)
        yield ids[1:]


def measured(net: Network, packed: Path, n_processes: int, *, kill: bool = False) -> dict[str, Any]:
    """What the leader finds on a new cluster of so many processes, the last of which may be killed."""
    with processes(net, n_processes) as ids:
        lead_it = ["--lead", f"tcp://{net.address(0)}:{PORT}", "--packed", str(packed), "--processes", str(n_processes)]
        command = net.on(0, sys.executable, __file__, *lead_it, *(["--victim", str(ids[-1])] if kill else []))
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise SystemExit(f"the leader of {n_processes} processes failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if found["left"] != n_processes - kill:
        raise SystemExit(f"{n_processes - kill} processes must be left after the fit, not {found['left']}")
    return found


# -- beside the simulation ---------------------------------------------------------------------------------------------


@dataclass
class Case:
    """A cluster, what was measured on it, and the simulated seconds of a round; None where it simulates no such thing.

    rounds : seconds of rounds without the leader's part; fit : seconds of a fit for each of its rounds, all included
    difference : the largest between its probabilities and those of LocalEngine
    """

    title: str
    rounds: list[float] = field(repr=False)
    fit: float
    difference: float
    simulated: float | None = None

    @property
    def line(self) -> list[str]:
        """Cells of the table."""
        median, ends = statistics.median(self.rounds), f"{min(self.rounds):.2f} to {max(self.rounds):.2f}"
        said = ["", ""]
        if self.simulated is not None:
            said = [f"{self.simulated:.2f}", f"{100 * (self.simulated / median - 1):+.0f} %"]
        return [self.title, f"{median:.2f} ({ends})", *said, f"{self.fit:.2f}", f"{self.difference:.0e}"]


HEAD = ["processes", "round, s (range)", "simulated, s", "error", "fit, s a round", "difference"]


def simulated_rounds(packed: Path, work: Work, numbers: tuple[int, ...]) -> dict[int, float]:
    """Seconds of a round without the leader's part, as scaling.py would say before it sees any of this."""
    from amcc.engine.dask import FAN_IN, N_PARTS

    costs = scaling.on_cluster(scaling.measured_costs(packed), LINK.mbit * 1e6 / 8)
    rounds = {number: simulate_round(costs, work, number, N_PARTS, FAN_IN) for number in numbers}
    return {number: each.seconds - each.leader for number, each in rounds.items()}


def all_cases(packed: Path, simulated: dict[int, float]) -> tuple[list[Case], bool]:
    """All that is measured, and whether packets were delayed."""
    import amcc

    with amcc.engine.LocalEngine(packed) as engine:
        expected = fitted(engine)["proba"]

    def case(title: str, found: dict[str, Any], said: float | None = None) -> Case:
        difference = max(abs(a - b) for a, b in zip(found["proba"], expected, strict=True))
        made = Case(title, found["rounds"], found["fit"], difference, said)
        print(" | ".join(made.line), file=sys.stderr, flush=True)
        return made

    most = max(simulated)
    with namespaces.network(most + 1, LINK) as net:
        cases = [case(str(n), measured(net, packed, n), said) for n, said in simulated.items()]
        cases.append(case(f"{most}, one killed in a fit", measured(net, packed, most, kill=True)))
        net.limit(most, SLOW)
        cases.append(case(f"{most}, one with a slow link", measured(net, packed, most)))
        return cases, net.netem


def report(cases: list[Case], work: Work, netem: bool, others: float) -> list[str]:
    """The lines of the page; `others` is the share of the processors that other programs took."""

    def words(link: Link) -> str:
        return f"{link.mbit:g} Mbit/s and {link.ms:g} ms" if netem else f"{link.mbit:g} Mbit/s"

    size = f"{short(round(work.votes))} votes, {work.coins:,.0f} coins, {work.blocks} blocks"
    about = f"`sudo python benchmarks/cluster_network.py --write`, {date.today()}, seed {scaling.SEED}: {size},"
    links = f"links of {words(LINK)} each (the slow one {words(SLOW)}),"
    cores = f"{os.cpu_count()} cores for all processes together, of which other programs took {others:.0%} meanwhile."
    delay = [] if netem else ["The kernel of this machine has no netem, so packets were not delayed."]
    return [
        *textwrap.wrap(" ".join([about, links, cores, *delay]), 120),
        "",
        *table(HEAD, [each.line for each in cases]),
    ]


def main() -> None:
    """Simulate, measure, compare; write if asked."""
    warnings.simplefilter("ignore")
    parser = parser_of(__doc__)
    parser.add_argument("--votes", type=whole_number, default=500_000)
    parser.add_argument("--workers", type=whole_number, default=10_000)
    parser.add_argument("--write", action="store_true", help="also write docs/scaling.md")
    for hidden, kind in (("lead", str), ("packed", Path), ("processes", int), ("victim", int)):
        parser.add_argument(f"--{hidden}", type=kind, help="(used by the script itself)")
    options = parser.parse_args()
    if options.lead:
        print(json.dumps(lead(options.lead, options.packed, options.processes, options.victim)))
        return
    if missing := namespaces.what_is_missing():
        raise SystemExit(f"cluster_network.py cannot run here: {missing}.")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that namespaces go also when somebody ends it
    import amcc

    with tempfile.TemporaryDirectory() as scratch:
        packed = scaling.pack_crowd(Path(scratch), options.votes, options.workers)
        work = scaling.work_of(amcc.engine.LocalEngine(packed))
        others = Others()
        simulated = simulated_rounds(packed, work, (1, 2, 4))
        cases, netem = all_cases(packed, simulated)
    lines = report(cases, work, netem, others.share())
    print("\n".join(lines))
    if options.write:
        write_between(scaling.PAGE, "measured in namespaces", lines)
    if any(each.difference > 1e-9 for each in cases):
        raise SystemExit("results differ from those of LocalEngine by more than 1e-9")


if __name__ == "__main__":
    main()
