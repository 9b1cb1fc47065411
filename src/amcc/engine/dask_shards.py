"""Shards of coins that live with the processes of a Dask cluster, see `DaskEngine.shards`.

What a shard keeps is in the result of a task, which stays with its process (`Kept`). Every process has some shards and
some runs of blocks. How a round passes over the votes (`DaskShards.votes`):

1. Of what is believed about its coins, each process sends to every other what concerns the other's blocks (`sent`).
2. Each puts together what arrived, and adds up its own runs of blocks (`arrived`, `dask.total_of_runs`).
3. Of these sums, each sends to every other what concerns the other's shards (`part_for`).
4. Each adds up what arrived for its shards (`brought_together`); sums over labels come to the leader (`without_slots`).

So a process sends and receives what concerns its own blocks and shards, and nothing that is as long as the coins goes
through the leader. Shards follow from the coins alone, and sums are added in the order of shards, or in the tree over
runs of blocks (`dask.merged`): a result does not depend on how many processes there are. A process that is lost takes
its shards with it. Dask knows what they were computed from, and computes them again, if need be from the first round
on.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, cast, get_args, get_origin

import dask
import numpy as np
import numpy.typing as npt

from amcc.arrays import Ints
from amcc.engine.base import Block
from amcc.engine.dask import (
    N_PARTS,
    USELESS,
    Parcel,
    Place,
    Runs,
    Sums,
    _engine,
    _plus,
    handed_on,
    merged,
    total_of_runs,
    whole_sum,
)
from amcc.engine.local import runs_of
from amcc.engine.shards import Shards
from amcc.fields import Each, hints_of
from amcc.threads import one_thread
from amcc.votes import Coins

if TYPE_CHECKING:
    from amcc.engine.dask import DaskEngine

Result = TypeVar("Result")
State = TypeVar("State")

# Shards that coins are cut into. Fixed, so that results do not depend on how many processes there are. So many
# processes share what the leader of a fit would do alone; with more, the parts that processes send each other would
# become too many for Dask's scheduler, which needs a millisecond or two for each.
N_SHARDS = 16

# Labels up to which what groups and labels are like is sent to each process by the leader: a hundred kilobytes then,
# sooner there than through a task of its own.
FEW_LABELS = 500


class Shard(NamedTuple):
    """Some workers and all their coins, from the first up to those of the next shard."""

    number: int
    first_worker: int
    next_worker: int
    first_coin: int
    next_coin: int

    def rows(self, axis: str) -> slice:
        """Its part of an array over workers, coins or slots."""
        if axis == "worker":
            return slice(self.first_worker, self.next_worker)
        per_coin = 2 if axis == "slot" else 1
        return slice(per_coin * self.first_coin, per_coin * self.next_coin)


def shards_of(coins: Coins, n_workers: int) -> list[Shard]:
    """Shards with about as many coins each; coins stand in the order of workers.

    >>> worker = np.array([0, 0, 0, 1, 2, 2])
    >>> shards_of(Coins(worker, worker, worker), 3)[-1]
    Shard(number=2, first_worker=2, next_worker=3, first_coin=4, next_coin=6)
    """
    cuts = np.linspace(0, len(coins), N_SHARDS + 1)[1:-1].astype(np.int64)
    firsts = np.unique(coins.worker[cuts]).tolist() if len(coins) else []
    bounds = [0, *filter(None, firsts), n_workers]
    places = np.searchsorted(coins.worker, bounds)
    ends = zip(itertools.pairwise(bounds), itertools.pairwise(places), strict=True)
    return [Shard(number, *map(int, (*workers, *coins))) for number, (workers, coins) in enumerate(ends)]


@dataclass(frozen=True, eq=False)
class Kept:
    """What each shard keeps: for each process with shards, a future of their values by number.

    path : the part of the values that is meant, attribute by attribute
    """

    futures: tuple[Any, ...]
    path: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Kept:
        if name.startswith("__"):  # Python asks for many of these, to see what an object can do
            raise AttributeError(name)
        return Kept(self.futures, (*self.path, name))


class Process(NamedTuple):
    """What a process has: its shards, by number, and its runs of blocks."""

    shards: dict[int, Shard]
    runs: Runs


class DaskShards(Shards):
    """Shards on the processes that a cluster has when it is made; others may take the places of those that are lost.

    engine : whose blocks and processes they are
    """

    def __init__(self, engine: DaskEngine) -> None:
        super().__init__(engine.coins)
        self.engine = engine
        self._homes: list[Any] = [*engine._processes()] or [None]
        runs = runs_of(len(engine.packed.entries), N_PARTS)
        shards = shards_of(engine.coins, engine.n_workers)
        self._processes = [Process({}, {}) for _ in self._homes]
        for number, home in enumerate(engine._homes(runs, self._homes)):  # others may have come since
            self._processes[self._homes.index(home)].runs[number] = runs[number]
        for shard in shards:
            self._processes[shard.number * len(self._homes) // len(shards)].shards[shard.number] = shard
        self._holders = [number for number, process in enumerate(self._processes) if process.shards]
        self._readers = [number for number, process in enumerate(self._processes) if process.runs]
        self._believed: list[tuple[Any, list[Any]]] = []

    def over(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """A task for each process with shards."""
        kept: list[Kept] = []
        template = taken_out(arguments, kept)
        told = self._told((function, template))
        futures = [
            self._submit(holder, in_shards, self.engine._place, self._processes[holder].shards, told, *values)
            for holder, *values in zip(self._holders, *(each.futures for each in kept), strict=True)
        ]
        result: Any = Kept(tuple(futures))
        return result  # type: ignore[no-any-return]  # stands wherever what the function returns would stand

    def total(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Sums of shards come to the leader, who adds them up."""

        def add_up() -> Result:
            found: Any = self.over(function, *arguments)
            return functools.reduce(_plus, self._values(found))  # type: ignore[no-any-return]

        return self.engine._persistently(add_up)

    def votes(self, function: Callable[..., Result], *shared: Any) -> Result:
        """Every process adds up its own blocks; sums over slots go to the shards, all others come to the leader."""

        def add_up() -> Result:
            self._move_in()
            told = [self._tell(value) for value in shared]
            sums = [
                self._submit(
                    reader, total_of_runs, self.engine._place, self._processes[reader].runs, function,
                    *(each[place] for each in told),
                )
                for place, reader in enumerate(self._readers)
            ]  # fmt: skip
            small = [
                self._submit(reader, without_slots, each) for reader, each in zip(self._readers, sums, strict=True)
            ]
            together: Any = Kept(tuple(self._sent_to(holder, sums) for holder in range(len(self._holders))))
            rest: Any = whole_sum(merged(self.engine._results(small)))
            return rest._replace(**{name: getattr(together, name) for name in slot_fields(rest)})  # type: ignore[no-any-return]

        return self.engine._persistently(add_up)

    def cut(self, state: State) -> State:
        """Each part goes to its process; once in a fit, for it goes through the leader."""
        if not (is_dataclass(state) or isinstance(state, tuple)):
            return state
        parts, kind = {}, cast("Any", type(state))
        for name, hint in hints_of(kind).items():
            value, axis = getattr(state, name), axis_of(hint)
            parts[name] = self.cut(value) if axis is None or value is None else self._placed(value, axis)
        return cast("State", with_parts(state, parts))

    def gathered(self, state: State) -> State:
        """Whole arrays, which only the end of a fit and a checkpoint need."""

        def whole(kept: Kept) -> Any:
            return self.engine._persistently(lambda: joined(self._values(self.over(as_it_is, kept))))

        return exchanged(state, Kept, whole)  # type: ignore[no-any-return]

    # -- tasks -------------------------------------------------------------------------------------------------------

    def _submit(self, process: int, task: Callable[..., Any], *arguments: Any) -> Any:
        return self.engine._submit(task, *arguments, home=self._homes[process])

    def _told(self, value: Any) -> Any:
        """A value that all tasks get: in them, or, where that would be much, through one of them that has it."""
        parcel = Parcel(value)
        return parcel if self.engine.n_labels <= FEW_LABELS else self.engine._submit(handed_on, parcel)

    def _move_in(self) -> None:
        """Who came instead of a process that was lost gets what that one had."""
        there = self.engine._processes()
        idle = [process for process in there if process not in self._homes]
        for number, home in enumerate(self._homes):
            if home not in there and there:
                self._homes[number] = idle.pop() if idle else there[number % len(there)]

    def _values(self, kept: Kept) -> list[Any]:
        """What shards keep, in their order, brought here."""
        found = {}
        for values in self.engine._results(list(kept.futures)):
            found.update(values)
        return [functools.reduce(getattr, kept.path, found[number]) for number in sorted(found)]

    def _placed(self, array: npt.NDArray[Any], axis: str) -> Kept:
        """An array over workers, coins or slots, kept by the shards."""
        parts = [
            {number: array[shard.rows(axis)] for number, shard in self._processes[holder].shards.items()}
            for holder in self._holders
        ]
        # As large as the coins on purpose, see `DaskEngine._share`.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return Kept(
                tuple(
                    self._submit(holder, unpacked, Parcel(part))
                    for holder, part in zip(self._holders, parts, strict=True)
                )
            )

    def _tell(self, value: Any) -> list[Any]:
        """What each process with blocks needs of a value; not again what it was told in the round before."""
        kept: list[Kept] = []
        told = self._told(taken_out(value, kept))
        if not kept:
            return [told] * len(self._readers)
        for other, futures in self._believed:
            if other is value and not any(future.status in USELESS for future in futures):
                return futures
        parts = [
            [
                self._submit(holder, sent, self._met[place][here], told, *(each.futures[here] for each in kept))
                for here, holder in enumerate(self._holders)
            ]
            for place in range(len(self._readers))
        ]
        every = [self._processes[holder].shards for holder in self._holders]
        futures = [
            self._submit(reader, arrived, told, every, self._met[place], parts[place])
            for place, reader in enumerate(self._readers)
        ]
        # Two are enough: what is believed now, and what was before.
        self._believed = [*self._believed[-1:], (value, futures)]
        return futures

    def _sent_to(self, here: int, sums: list[Any]) -> Any:
        """Sums of all processes for the shards of one."""
        holder, met = self._holders[here], [each[here] for each in self._met]
        shards = self._processes[holder].shards
        parts = [
            self._submit(reader, part_for, shards, each, of_reader)
            for reader, each, of_reader in zip(self._readers, met, sums, strict=True)
        ]
        return self._submit(holder, brought_together, shards, met, parts)

    @functools.cached_property
    def _met(self) -> list[list[Any]]:
        """For each process with blocks and each with shards: which coins of these shards occur in those blocks."""
        place, n_coins = self.engine._place, len(self.coins)
        found = []
        for reader in self._readers:
            met = self._submit(reader, coins_met, place, self._processes[reader].runs, n_coins)
            found.append(
                [self._submit(reader, met_of, met, self._processes[holder].shards) for holder in self._holders]
            )
        return found


# -- values with parts that are kept elsewhere -----------------------------------------------------------------------


class Hole(NamedTuple):
    """The place of something that was kept: which of all, and the part of it that is meant, see `Kept`."""

    number: int
    path: tuple[str, ...]


def exchanged(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """The same with all parts of a kind changed, however deep they stand in dataclasses and tuples.

    >>> exchanged((1, ("a", 2)), str, str.upper)
    (1, ('A', 2))
    """
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(exchanged(part, kind, change) for part in value)
    if isinstance(value, type) or not (hasattr(value, "_fields") or is_dataclass(value)):
        return value
    names = value._fields if hasattr(value, "_fields") else [field.name for field in fields(value)]
    return with_parts(value, {name: exchanged(getattr(value, name), kind, change) for name in names})


def with_parts(value: Any, parts: Mapping[str, Any]) -> Any:
    """A dataclass or named tuple with other parts; the same where none is another."""
    others = {name: part for name, part in parts.items() if part is not getattr(value, name)}
    if not others:
        return value
    return value._replace(**others) if hasattr(value, "_replace") else replace(value, **others)


def taken_out(value: Any, kept: list[Kept]) -> Any:
    """The same with holes where something is kept elsewhere, which is put into the list."""

    def hole(each: Kept) -> Hole:
        kept.append(each)
        return Hole(len(kept) - 1, each.path)

    return exchanged(value, Kept, hole)


def axis_of(hint: Any) -> str | None:
    """Over what an array runs, of that which shards have parts of: as is declared with its field."""
    rules = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    axes = [rule.of[0] for rule in rules if isinstance(rule, Each) and rule.of]
    return next((axis for axis in axes if axis in ("worker", "coin", "slot")), None)


def slot_fields(step: Any) -> list[str]:
    """Fields of a named tuple that are sums over slots."""
    return [name for name, hint in hints_of(cast("Any", type(step))).items() if axis_of(hint) == "slot"]


def joined(parts: Sequence[Any]) -> Any:
    """Arrays of shards as one, also within dataclasses and named tuples."""
    first = parts[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    names = list(hints_of(cast("Any", type(first))))
    return with_parts(first, {name: joined([getattr(part, name) for part in parts]) for name in names})


def filled(template: Any, values: Sequence[Any]) -> Any:
    """What `taken_out` made holes in, with the values of one shard."""
    return exchanged(template, Hole, lambda hole: functools.reduce(getattr, hole.path, values[hole.number]))


# -- in the processes ------------------------------------------------------------------------------------------------

OfShards = dict[int, Shard]


def in_shards(place: Place, shards: OfShards, told: Parcel, *values: Mapping[int, Any]) -> dict[int, Any]:
    """What a function makes of each shard."""
    function, template = told.value
    with one_thread():
        return {
            number: function(coins_of(place, shard), *filled(template, [each[number] for each in values]))
            for number, shard in shards.items()
        }


@functools.lru_cache(maxsize=2 * N_SHARDS)
def coins_of(place: Place, shard: Shard) -> Coins:
    """The coins of a shard, with workers numbered from 0; every process has read them all from the folder."""
    coins, here = _engine(*place).coins, shard.rows("coin")
    return Coins(coins.worker[here] - np.int32(shard.first_worker), coins.label[here], coins.slot[:0])


def as_it_is(_: Coins, value: Any) -> Any:
    """The value itself."""
    return value


def unpacked(parcel: Parcel) -> Any:
    """What is in it."""
    return parcel.value


def without_slots(sums: Sums) -> Sums:
    """Sums without those over slots."""
    return {node: step._replace(**dict.fromkeys(slot_fields(step), 0.0)) for node, step in sums.items()}


def coins_met(place: Place, runs: Runs, n_coins: int) -> npt.NDArray[np.bool_]:
    """(n_coins,) whether each occurs in these runs of blocks."""
    engine, met = _engine(*place), np.zeros(n_coins, np.bool_)
    for number in (number for run in runs.values() for number in run):
        block: Block = engine.block(number)
        if block.place is None:  # numbered among all coins, so look which have votes
            met[block.coins.slot >> 1] = True
        else:
            met[block.place] = True
    return met


# For each shard: the places among its coins of those that occur in the blocks of some process.
Met = dict[int, Ints]


def met_of(met: npt.NDArray[np.bool_], shards: OfShards) -> Met:
    """Which coins of these shards occur."""
    return {number: np.flatnonzero(met[shard.rows("coin")]) for number, shard in shards.items()}


def sent(met: Met, told: Parcel, *values: Mapping[int, Any]) -> dict[int, list[npt.NDArray[Any]]]:
    """Of arrays over slots that were kept, what concerns the coins that another process meets."""
    holes: list[Hole] = []
    exchanged(told.value, Hole, holes.append)
    return {
        number: [
            functools.reduce(getattr, hole.path, values[hole.number][number]).reshape(-1, 2)[places] for hole in holes
        ]
        for number, places in met.items()
    }


def arrived(
    told: Parcel, every: list[OfShards], met: list[Met], parts: list[dict[int, list[npt.NDArray[Any]]]]
) -> Parcel:
    """A value with arrays over all slots in its holes; of coins that are not met here, they say nothing."""
    n_slots = max(shard.rows("slot").stop for shards in every for shard in shards.values())

    def whole(hole: Hole) -> npt.NDArray[Any]:
        table = np.zeros((n_slots // 2, 2))
        for shards, places, values in zip(every, met, parts, strict=True):
            for number, shard in shards.items():
                table[shard.first_coin + places[number]] = values[number][hole.number]
        return table.ravel()

    return Parcel(exchanged(told.value, Hole, whole))


def part_for(shards: OfShards, met: Met, sums: Sums) -> dict[int, Sums]:
    """What sums over all slots say about the coins of these shards that are met here."""

    def rows(step: Any, shard: Shard) -> Any:
        mine = {
            name: getattr(step, name)[shard.rows("slot")].reshape(-1, 2)[met[shard.number]]
            for name in slot_fields(step)
        }
        return step._replace(**{**dict.fromkeys(step._fields, 0.0), **mine})

    return {number: {node: rows(step, shard) for node, step in sums.items()} for number, shard in shards.items()}


def brought_together(shards: OfShards, met: list[Met], parts: list[dict[int, Sums]]) -> dict[int, Any]:
    """Sums over the slots of these shards, added up in the tree over the runs of blocks."""

    def table(shard: Shard, places: Ints, step: Any) -> Any:
        def whole(name: str) -> npt.NDArray[Any]:
            values = np.zeros((shard.next_coin - shard.first_coin, 2))
            values[places] = getattr(step, name)
            return values.ravel()

        return step._replace(**{name: whole(name) for name in slot_fields(step)})

    def of_shard(shard: Shard) -> Any:
        return whole_sum(
            merged(
                {node: table(shard, places[shard.number], step) for node, step in part[shard.number].items()}
                for places, part in zip(met, parts, strict=True)
            )
        )

    return {number: of_shard(shard) for number, shard in shards.items()}
