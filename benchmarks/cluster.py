"""A round of a fit on a cluster as a small simulation, from what its parts cost.

broadcast   the leader sends what is believed about coins to one process, and those who have it pass it on
votes       runs of blocks are tasks; a process takes the next when it is free
reduce      sums of tasks are added up, some at a time, by the processes; the last sum goes to the leader
leader      groups and rates of workers are updated before the next round
"""

from __future__ import annotations

import heapq
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
    belief, sums : bytes per coin that go out to every process, and that come back from every task
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
    """One round with its blocks in `n_parts` tasks, sums of which are added up `fan_in` at a time."""
    n_parts = min(n_parts, work.blocks)
    arrived = arrivals(costs, work, n_processes)
    scheduler = Scheduler(costs.task)
    done, free = map_blocks(costs, work, n_parts, arrived, scheduler)
    mapped = max(end for end, _ in done)
    summed = add_up(costs, work, fan_in, done, free, scheduler)
    fetched = summed + costs.trip + work.coins * costs.sums * costs.fetch
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


Done = list[tuple[float, int]]  # when a result is there, and at which process


def map_blocks(
    costs: Costs, work: Work, n_parts: int, arrived: list[float], scheduler: Scheduler
) -> tuple[Done, list[float]]:
    """Ends of all tasks over blocks, and when each process is free again."""
    seconds = (work.votes * costs.vote + work.blocks * work.coins * costs.place) / n_parts
    free, waiting = list(arrived), [(time, process) for process, time in enumerate(arrived)]
    heapq.heapify(waiting)
    done = []
    for _ in range(n_parts):
        time, process = heapq.heappop(waiting)
        free[process] = max(time, scheduler.dispatched(0.0)) + seconds
        heapq.heappush(waiting, (free[process], process))
        done.append((free[process], process))
    return done, free


def add_up(costs: Costs, work: Work, fan_in: int, done: Done, free: list[float], scheduler: Scheduler) -> float:
    """When the sum of all results is there; results that are elsewhere come one after the other."""
    table = work.coins * costs.sums
    while len(done) > 1:
        level, done = done, []
        for first in range(0, len(level), fan_in):
            some = level[first : first + fan_in]
            process = some[0][1]
            start = max(free[process], scheduler.dispatched(max(end for end, _ in some) + costs.trip))
            elsewhere = sum(other != process for _, other in some)
            received = elsewhere * table * costs.between
            free[process] = start + received + (len(some) - 1) * work.coins * costs.add
            done.append((free[process], process))
    return done[0][0]
