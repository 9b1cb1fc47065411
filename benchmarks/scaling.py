"""What a fit costs on a cluster: parts of a round are measured here, put together by simulation, and carried on.

How far the simulation (cluster.py) is from rounds on machines behind real links, cluster_network.py measures. `--write`
puts the numbers into docs/scaling.md.
"""

from __future__ import annotations

import itertools
import os
import pickle
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cluster import Costs, Round, Work, simulate_round
from page import figure, short, table
from rows import DOCS
from script import parser_of, seconds_of, whole_number

from amcc.threads import one_thread

PAGE, PLOT = DOCS / "scaling.md", DOCS / "scaling-cores.svg"
BEGIN, END = "<!-- simulated: written by benchmarks/scaling.py -->", "<!-- end of simulated -->"
SEED = 0
# Of every time, the best counts.
REPEATS = 7
# Blocks of a measured crowd: enough that two processes have something to share.
N_BLOCKS = 16
# Size of the arrays whose travel is timed.
MEGABYTES = 64

# Bytes per second between machines of the cluster that is not here: 10 Gbit/s. An assumption.
NETWORK = 10e9 / 8

# Labels of the crowds, rounds that a fit of the default takes on them, and the usual size of a block.
N_LABELS, N_ROUNDS, BLOCK_VOTES = 20, 45, 10**6
CORES = 1, 10, 100, 1000


# -- measuring -------------------------------------------------------------------------------------------------------


def pack_crowd(folder: Path, n_votes: int, n_workers: int, n_blocks: int = N_BLOCKS) -> Path:
    """A packed crowd of this size."""
    import amcc
    from amcc.data.simulate import CrowdSpec, write_crowd

    write_crowd(CrowdSpec.for_votes(n_votes, n_labels=N_LABELS, n_workers=n_workers, seed=SEED), folder)
    amcc.pack_votes(folder / "votes.parquet", folder / "packed", overwrite=True, block_votes=n_votes // n_blocks)
    return folder / "packed"


def belief_about(engine: Any, number: int = 0) -> Any:
    """What could be believed in this round."""
    from amcc.passes import Belief

    evidence = np.random.default_rng(SEED).normal(size=2 * len(engine.coins))
    return Belief(evidence + 0.01 * number, np.full(engine.n_labels, -1.5))


def in_turn(engine: Any) -> Callable[[], tuple[Any, Any]]:
    """Gives what is believed now, and what was believed before, round after round."""
    last = belief_about(engine)
    numbers = itertools.count(1)

    def beliefs() -> tuple[Any, Any]:
        nonlocal last
        before, last = last, belief_about(engine, next(numbers))
        return last, before

    return beliefs


def work_of(engine: Any) -> Work:
    """What a round over these blocks has to go through."""
    return Work(engine.n_votes, len(engine.coins), len(engine.packed.entries))


def best_seconds(task: Callable[..., Any], prepare: Callable[[], tuple[Any, ...]] = tuple) -> float:
    """The best time of a task that has run before; what it is given is made anew each time, out of time."""
    task(*prepare())
    times = []
    for _ in range(REPEATS):
        times.append(seconds_of(partial(task, *prepare())))
    return min(times)


def measure_process(packed: Path) -> dict[str, float]:
    """Seconds of one process, on one core: per vote, and per coin for each block and each sum."""
    import amcc
    from amcc.consensus.rounds import one_round
    from amcc.engine.base import added
    from amcc.engine.dask import merged

    engine = amcc.engine.LocalEngine(packed)
    work, numbers = work_of(engine), range(len(engine.packed.entries))
    with one_thread():
        every = best_seconds(partial(engine.total_of, numbers, one_round), in_turn(engine))
        step = one_round(engine.block(0), *in_turn(engine)())
        place = best_seconds(lambda: added([step, step._replace(present=_placed(engine.block(0)))])) / work.coins
        add = best_seconds(lambda: merged([{(0, 0): step}, {(0, 1): step}])) / work.coins
    return {"vote": (every - work.blocks * work.coins * place) / work.votes, "place": place, "add": add}


def measure_processes(engine: Any, packed: Path) -> dict[str, float]:
    """The same in all processes of a cluster at once, on average: cores that are busy slow each other down."""
    addresses = list(engine.client.scheduler_info(n_workers=-1)["workers"])
    found = engine.client.gather(
        [engine.client.submit(measure_process, packed, pure=False, workers=[address]) for address in addresses]
    )
    return {cost: sum(each[cost] for each in found) / len(found) for cost in found[0]}


def _placed(block: Any) -> Any:
    """Sums of a block in a table of all coins, which is what `rounds.one_round` ends with."""
    return block.spread(np.ones(2 * len(block.coins)))


def measure_leader(packed: Path) -> float:
    """Seconds per coin that the leader takes between two rounds, on all cores of its machine.

    Strengths are left out: in a fit as large as these they are learned from some thousand workers.
    """
    import amcc
    from amcc.consensus.default import crowd as model
    from amcc.consensus.default.likelihood import THOROUGH
    from amcc.consensus.default.settings import Settings
    from amcc.consensus.rounds import first_look

    engine = amcc.engine.LocalEngine(packed)
    first = engine.total(first_look, None)
    prior = model.crowd_prior(Settings())
    crowd = model.start_crowd(engine.n_workers, engine.n_labels, 5, prior)
    counts = model.CoinCounts.of_slots(first.present, first.slot_votes)
    times, shards = [], engine.shards()
    for number in range(4 * THOROUGH):
        start = time.perf_counter()
        thorough = number % THOROUGH == 0
        crowd, _ = model.update_members(crowd, shards, counts, thorough=thorough)
        crowd = model.update_rates(crowd, prior, shards, counts)
        model.slot_evidence(engine.coins, crowd, counts)
        times.append(time.perf_counter() - start)
    return np.reshape(times, (-1, THOROUGH)).mean(axis=1).min() / len(engine.coins)


def measure_bytes(packed: Path) -> dict[str, float]:
    """Bytes per coin of what goes out in a round and of what comes back from each process."""
    import amcc
    from amcc.consensus.rounds import one_round
    from amcc.engine.dask import Parcel

    engine = amcc.engine.LocalEngine(packed)
    step = one_round(engine.block(0), *in_turn(engine)())
    n_coins = len(engine.coins)
    return {
        "belief": len(pickle.dumps(Parcel(belief_about(engine)), protocol=5)) / n_coins,
        "sums": len(pickle.dumps(step, protocol=5)) / n_coins,
    }


@contextmanager
def dask_engine(packed: Path, n_processes: int) -> Iterator[Any]:
    """The blocks on so many processes of this machine."""
    import amcc

    with amcc.engine.DaskEngine(packed, n_processes=n_processes) as engine:
        yield engine


def measure_dask(engine: Any) -> dict[str, float]:
    """Seconds of Dask per task, per trip (from an empty round), and per byte from the leader, on the way, and to it."""
    client, n_tasks = engine.client, 200
    here, there = client.scheduler_info(n_workers=-1)["workers"]

    def made_here() -> tuple[Any]:
        made = client.submit(_array, pure=False, workers=[here])
        _wait(made)
        return (made,)

    def many_tasks() -> None:
        client.gather([client.submit(_nothing, number, pure=False) for number in range(n_tasks)])

    big = _array()
    n_tasks_of_round = len(engine._processes())
    task = best_seconds(many_tasks) / n_tasks
    trip = (best_seconds(lambda: engine.total(_empty)) - n_tasks_of_round * task) / 2  # there and back
    send = best_seconds(lambda value: _wait(engine._share((value,))), lambda: (_array(),))
    between = best_seconds(lambda made: _wait(client.submit(_nothing, made, pure=False, workers=[there])), made_here)
    fetch = best_seconds(lambda made: engine._results([made]), made_here)
    there_and_back = best_seconds(lambda: client.submit(_nothing, 0, pure=False).result())
    per_byte = {"send": send - there_and_back / 2, "between": between - there_and_back, "fetch": fetch}
    costs = {way: max(seconds, 0.0) / big.nbytes for way, seconds in per_byte.items()}
    return {"task": task, "trip": trip, **costs}


class Nothing(NamedTuple):
    """What an empty round adds up to."""

    number: float


def _empty(_: Any) -> Nothing:
    """A round that does not look at the votes."""
    return Nothing(0.0)


def _nothing(_: Any) -> None:
    """A task that takes no time."""


def _array() -> Any:
    return np.ones(MEGABYTES << 17)


def _wait(future: Any) -> None:
    from distributed import wait

    wait(future)


# -- the report ------------------------------------------------------------------------------------------------------


def on_cluster(costs: Costs, network: float = NETWORK) -> Costs:
    """The same where bytes also have to cross a network of so many bytes per second."""
    return replace(costs, **{way: getattr(costs, way) + 1 / network for way in ("send", "between", "fetch")})


def cost_table(costs: Costs) -> list[str]:
    """What was measured."""
    rows = [
        ("a vote, a process among two that are busy", f"{1e9 * costs.vote:.1f} ns"),
        ("a coin, for every block: its sums into the table of all coins", f"{1e9 * costs.place:.1f} ns"),
        ("a coin, to add two tables", f"{1e9 * costs.add:.1f} ns"),
        ("a coin, leader between rounds", f"{1e9 * costs.leader:.0f} ns"),
        ("a task, Dask's scheduler", f"{1e3 * costs.task:.2f} ms"),
        ("until a process or the leader hears of a result, from an empty round", f"{1e3 * costs.trip:.2f} ms"),
        ("bytes of a coin that go to every process", f"{costs.belief:.0f}"),
        ("bytes of a coin that come back from every process", f"{costs.sums:.0f}"),
        ("leader to process, loopback", f"{1e-9 / costs.send:.2f} GB/s"),
        ("process to process, loopback", f"{1e-9 / costs.between:.2f} GB/s"),
        ("process to leader, loopback", f"{1e-9 / costs.fetch:.2f} GB/s"),
    ]
    return table(["a round costs", ""], rows)


def rounds_on(
    costs: Costs, n_votes: int, n_workers: int, block_votes: int, all_cores: Sequence[int] = CORES
) -> dict[int, Round]:
    """Rounds on clusters of every size."""
    from amcc.engine.dask import FAN_IN, N_PARTS

    work = Work(n_votes, n_workers * N_LABELS, max(1, n_votes // block_votes))
    return {cores: simulate_round(costs, work, cores, max(N_PARTS, 2 * cores), FAN_IN) for cores in all_cores}


CASES = [(n_votes, n_workers) for n_votes in (10**9, 10**10) for n_workers in (10**5, 10**6)]
LARGER_BLOCKS = 10 * BLOCK_VOTES


def plan_table(costs: Costs, block_votes: int) -> list[str]:
    """Seconds of a round, and what takes most of it."""
    lines = []
    for n_votes, n_workers in CASES:
        rounds = rounds_on(costs, n_votes, n_workers, block_votes)
        cells = [f"{figure(each.seconds)} s, {each.bound}" for each in rounds.values()]
        lines.append([short(n_votes), short(n_workers), *cells])
    return table(["votes", "workers", *(f"{cores} core{'s' * (cores > 1)}" for cores in CORES)], lines)


def parts_table(costs: Costs) -> list[str]:
    """The parts of a round on 10¹⁰ votes, and how much travels at most."""
    lines = []
    for n_workers in (10**5, 10**6):
        for cores, each in rounds_on(costs, 10**10, n_workers, LARGER_BLOCKS).items():
            sent = n_workers * N_LABELS * cores * (costs.belief + costs.sums) / 1e9
            parts = [figure(value) for value in vars(each).values()]
            minutes = N_ROUNDS * each.seconds / 60
            lines.append([short(n_workers), str(cores), *parts, figure(minutes), figure(sent)])
    head = [
        "workers",
        "cores",
        "broadcast s",
        "votes s",
        "reduce s",
        "leader s",
        f"{N_ROUNDS} rounds, min",
        "GB a round",
    ]
    return table(head, lines)


def turning_table(costs: Costs) -> list[str]:
    """How many cores it takes until votes are less than half of a round, and what is the most of the rest then."""
    lines = []
    for n_votes, n_workers in CASES:
        rounds = rounds_on(costs, n_votes, n_workers, LARGER_BLOCKS, [2**power for power in range(13)])
        turned = [(cores, each) for cores, each in rounds.items() if each.votes < each.seconds / 2]
        cores, rest = (str(turned[0][0]), replace(turned[0][1], votes=0.0).bound) if turned else ("more than 4096", "")
        lines.append([short(n_votes), short(n_workers), cores, rest])
    return table(["votes", "workers", "cores", "most of the rest"], lines)


def main() -> None:
    """Measure, compare, simulate; write if asked."""
    warnings.simplefilter("ignore")
    parser = parser_of(__doc__)
    parser.add_argument("--votes", type=whole_number, default=4 * 10**6, help="of the crowd measured")
    parser.add_argument("--workers", type=whole_number, default=10**5, help="of the crowd measured")
    parser.add_argument("--write", action="store_true", help="also write docs/scaling.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        costs = measured_costs(pack_crowd(Path(scratch), arguments.votes, arguments.workers))
    lines = [
        f"Measured on {date.today()} with amcc's default method on a machine of {os.cpu_count()} cores:",
        "",
        *cost_table(costs),
        f"Seconds of a round on a cluster with 10 Gbit/s (assumed), blocks of {short(BLOCK_VOTES)} votes,",
        f"{N_LABELS} labels, and what takes most of it:",
        "",
        *plan_table(on_cluster(costs), BLOCK_VOTES),
        f"The same with blocks of {short(LARGER_BLOCKS)} votes (`amcc pack --block-votes`):",
        "",
        *plan_table(on_cluster(costs), LARGER_BLOCKS),
        "From so many cores on (powers of two), a round is less than half votes:",
        "",
        *turning_table(on_cluster(costs)),
        f"10¹⁰ votes in blocks of {short(LARGER_BLOCKS)}, part by part:",
        "",
        *parts_table(on_cluster(costs)),
        f"![Hours of a fit by cores]({PLOT.name})",
    ]
    print("\n".join(lines))
    if arguments.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END + rest.partition(END)[2]]))
        draw_plan(on_cluster(costs))


def measured_costs(packed: Path) -> Costs:
    """What the parts of a round cost, on two processes of this machine."""
    costs = {"leader": measure_leader(packed), **measure_bytes(packed)}
    with dask_engine(packed, 2) as engine:
        costs |= measure_processes(engine, packed) | measure_dask(engine)
    return Costs(**costs)


def draw_plan(costs: Costs) -> None:
    """Hours of a fit by cores."""
    from plots import draw

    lines = {
        f"{short(n_votes)} votes, {short(n_workers)} workers": [
            (cores, N_ROUNDS * each.seconds / 3600)
            for cores, each in rounds_on(costs, n_votes, n_workers, LARGER_BLOCKS).items()
        ]
        for n_votes, n_workers in CASES
    }
    draw(lines, f"hours for {N_ROUNDS} rounds", PLOT, across="cores")


if __name__ == "__main__":
    main()
