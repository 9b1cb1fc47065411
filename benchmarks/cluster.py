"""A round of a fit on a cluster as a small simulation, from what its parts cost.

broadcast   the leader sends what is believed about coins to one process, and those who have it pass it on
votes       every process goes through its own runs of blocks, in one task, and adds up their sums
reduce      sums of processes are added up, some at a time, by processes, until the leader can add up the last few
leader      groups and rates of workers are updated before the next round
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import ceil, log2


@dataclass(frozen=True)
class Costs:
    """What the parts of a round cost.

    vote : seconds of a process per vote
    place : seconds of a process per coin, for every block: its sums go into a table of all coins
    add : seconds of a process per coin, to add one such table to another
    leader : seconds of the leader per coin
    task, trip : seconds of the scheduler per task, and until what was waiting for a result hears of it
    belief, sums : bytes per coin that go out to every process, and that come back from every process
    send, between, fetch : seconds per byte from the leader, from process to process, and to the leader
    """

    vote: float
    place: float
    add: float
    leader: float
    task: float
    trip: float
    belief: float
    sums: float
    send: float
    between: float
    fetch: float


@dataclass(frozen=True)
class Work:
    """What a round has to go through."""

    votes: float
    coins: float
    blocks: int


@dataclass(frozen=True)
class Round:
    """Seconds of a round, part by part."""

    broadcast: float
    votes: float
    reduce: float
    leader: float

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.broadcast + self.votes + self.reduce + self.leader

    @property
    def bound(self) -> str:
        """The part that takes longest."""
        parts = vars(self)
        return max(parts, key=lambda name: parts[name])


def simulate_round(costs: Costs, work: Work, n_processes: int, n_parts: int, fan_in: int) -> Round:
    """One round with its blocks in `n_parts` runs; sums of processes are added up `fan_in` at a time."""
    arrived = arrivals(costs, work, n_processes)
    scheduler = Scheduler(costs.task)
    done = own_sums(costs, work, min(n_parts, work.blocks), arrived, scheduler)
    mapped = max(done)
    last = add_up(costs, work, fan_in, done, scheduler)
    table = work.coins * costs.sums
    fetched = max(last) + costs.trip + len(last) * table * costs.fetch + (len(last) - 1) * work.coins * costs.add
    return Round(max(arrived), mapped - max(arrived), fetched - mapped, work.coins * costs.leader)


class Scheduler:
    """Hands out tasks one by one."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.free = seconds, 0.0

    def dispatched(self, ready: float) -> float:
        """When a task that is ready then reaches its process."""
        self.free = max(self.free, ready) + self.seconds
        return self.free


def arrivals(costs: Costs, work: Work, n_processes: int) -> list[float]:
    """When each process has the belief: every one that has it passes it on to one more at a time."""
    n_bytes = work.coins * costs.belief
    steps = [ceil(log2(number + 1)) for number in range(n_processes)]
    return [costs.trip + n_bytes * costs.send + step * n_bytes * costs.between for step in steps]


def own_sums(costs: Costs, work: Work, n_parts: int, arrived: list[float], scheduler: Scheduler) -> list[float]:
    """When each process that has blocks has added them up."""
    run = (work.votes * costs.vote + work.blocks * work.coins * costs.place) / n_parts
    n_runs = Counter(int((number + 0.5) / n_parts * len(arrived)) for number in range(n_parts))
    return [
        max(arrived[process], scheduler.dispatched(0.0)) + number * run + (number - 1) * work.coins * costs.add
        for process, number in sorted(n_runs.items())
    ]


def add_up(costs: Costs, work: Work, fan_in: int, done: list[float], scheduler: Scheduler) -> list[float]:
    """When the last few sums are there; a process adds to its own those of others, which come one after the other."""
    one_more = work.coins * (costs.sums * costs.between + costs.add)
    while len(done) > fan_in:
        some = [done[first : first + fan_in] for first in range(0, len(done), fan_in)]
        done = [scheduler.dispatched(max(each) + costs.trip) + (len(each) - 1) * one_more for each in some]
    return done
