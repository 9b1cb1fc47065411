"""The contract of every engine: map a function over blocks of whole items, and add up what it says about each.

A fit asks nothing else of the votes, so the same mathematics runs in memory, over blocks on disk and on a cluster. A
function gets a `Block` and whatever the round shares (beliefs about coins and labels), changes neither, and returns a
named tuple of arrays and numbers that add up over blocks. What concerns coins is as long as the table of all coins:
`Block.of_slots` takes the block's part of it, `Block.spread` puts it back.

Why two verbs are enough. Given what is believed about workers and labels, items say nothing about each other: the
probability of a pair depends on the votes on its own item. So a block that holds whole items can be judged alone. What
is learned from all of them (rates of workers, frequencies of labels, the log-likelihood) are sums over pairs or votes,
or a maximum, and sums over blocks are sums of sums: that is `total`. What is wanted for every item is made block by
block, in order: that is `each`. A model with a step that is neither needs its votes in memory, and says so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.arrays import Codes, Floats, Ints, Signs
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.shards import Shards
from amcc.passes import add_at_coins, at_coins
from amcc.votes import Coins, Pairs, Votes

if TYPE_CHECKING:
    from amcc.engine.packed import PackedVotes

Result = TypeVar("Result")
State = TypeVar("State")
Values = TypeVar("Values", bound=np.generic)

# No truth at all. Empty rather than all zeros, so that loops need not look at every pair.
NOTHING_KNOWN: Signs = np.empty(0, np.int8)


class Largest(float):
    """A number that adds up to the larger one: so a maximum fits among the sums of `Engine.total`.

    >>> Largest(2.0) + Largest(5.0) + 3.0
    5.0
    """

    def __add__(self, other: float) -> Largest:
        return Largest(max(self, other))


@dataclass(frozen=True, eq=False)
class SpreadSums:
    """Sums over the slots of some coins, on their way into a table of all slots.

    place : (n_coins here,) where they stand among all coins; values : two for each, no and yes
    n_coins : of all
    """

    place: Ints
    values: npt.NDArray[Any]
    n_coins: int

    def add_to(self, table: npt.NDArray[Any]) -> None:
        """Add them to a table of all slots, in their places: no coin is there twice."""
        add_at_coins(self.place, self.values, table)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The table with nothing else in it."""
        table = np.zeros(2 * self.n_coins, dtype or self.values.dtype)
        self.add_to(table)
        return table

    def __add__(self, other: Any) -> npt.NDArray[Any]:
        return np.asarray(np.asarray(self) + np.asarray(other))


class Block(ABC):
    """Votes of some whole items.

    pairs : their asked pairs; items count from 0 within the block, and from `first_item` among all
    coins : the (worker, label) combinations that occur in them, and each vote's slot among those
    place : (n_coins of the block,) where these stand among all coins, or None where they are all coins
    known : (n_pairs,) +1 present, −1 absent, 0 not known; (0,) where no truth is known
    n_items, n_labels : items of the block, labels in the vocabulary
    n_coins : coins of all blocks together
    """

    pairs: Pairs
    coins: Coins
    place: Ints | None
    known: Signs
    first_item: int
    n_items: int
    n_labels: int
    n_coins: int
    _recent: tuple[Iterable[Floats], Floats] | None = None

    @abstractmethod
    def votes(self, *, names: bool = False) -> Votes:
        """The block's votes with all workers and labels; items have their names if asked, else numbers."""

    @cached_property
    def n_yes(self) -> Ints:
        """(n_pairs,) how many workers said yes to each pair."""
        slot, start = self.coins.slot, self.pairs.start
        return np.add.reduceat(slot & 1, start[:-1], dtype=np.int64) if len(slot) else np.empty(0, np.int64)

    def of_slots(self, values: npt.NDArray[Values]) -> npt.NDArray[Values]:
        """The part that concerns the block's slots, of an array over all slots."""
        return values if self.place is None else at_coins(self.place, values)

    def spread(self, values: npt.NDArray[Values]) -> npt.NDArray[Values]:
        """Sums over the block's slots as sums over all slots, with zeros where the block has no coin.

        The table of all slots is not made here: `added` makes one for many blocks.
        """
        if self.place is None:
            return values
        # Whoever sees it takes it for an array: it becomes one as soon as it is added up or looked at.
        return cast("npt.NDArray[Values]", SpreadSums(self.place, values, self.n_coins))

    def places_among(self, items: Ints) -> Codes:
        """(n_items,) place of each item of the block in the ordered `items`, −1 where it is not there."""
        # A search for the two ends instead of one for each item: `items` may be most of millions.
        first, last = np.searchsorted(items, [self.first_item, self.first_item + self.n_items])
        place = np.full(self.n_items, -1, np.int32)
        place[items[first:last] - self.first_item] = np.arange(first, last)
        return place

    # Probabilities of the last round need not be computed again where the block stays in memory. That saves time and
    # changes no result: what is remembered is what would be computed.

    def remember(self, belief: Iterable[Floats], proba: Floats) -> None:
        """Keep the probabilities that came from a belief."""
        self._recent = belief, proba

    def recall(self, belief: Iterable[Floats]) -> Floats | None:
        """The probabilities that came from this belief, if they were kept."""
        if self._recent is None:
            return None
        recent, proba = self._recent
        same = recent is belief or all(map(np.array_equal, recent, belief))  # another process may have sent it
        return proba if same else None


class Engine(ABC):
    """Votes in blocks, and what is the same for all of them.

    A subclass fills `total` and `each`, and calls this constructor with its votes or packed votes. Two engines with the
    same votes must give the same results up to rounding, and one engine exactly the same result each time: blocks are
    added up in an order that does not depend on which of them was ready first.

    worker_names, label_names : the vocabularies, shared by all blocks
    coins : all (worker, label) combinations that occur, without votes
    features : descriptions of the items, which only votes in memory have
    identity : says which votes these are
    checkpoint : where a fit notes how far it is, None where it does not
    """

    features: Any = None
    identity: str = "votes in memory"

    def __init__(self, source: Votes | PackedVotes, n_pairs: int, checkpoint: Checkpoint | None = None) -> None:
        self.worker_names: pa.Array = source.worker_names
        self.label_names: pa.Array = source.label_names
        self.coins: Coins = source.coins
        self.n_votes: int = len(source)
        self.n_pairs = n_pairs
        self.n_items: int = source.n_items
        self.n_workers: int = len(self.worker_names)
        self.n_labels: int = len(self.label_names)
        self.checkpoint = checkpoint

    @abstractmethod
    def total(self, function: Callable[..., Result], *shared: Any) -> Result:
        """Sum over blocks of function(block, *shared), a named tuple, see `added`.

        The function may travel to another process: it stands at the top of a module, not within another function.
        """

    @abstractmethod
    def each(self, function: Callable[..., Result], *shared: Any) -> Iterator[Result]:
        """Results of function(block, *shared), in the order of the items."""

    def shards(self) -> Shards:
        """The coins, cut by worker for a fit: here, one shard."""
        return Shards(self.coins, self.total)

    def recall(self, stage: str, kind: type[State]) -> State | None:
        """How far an interrupted fit had come in this stage."""
        return None if self.checkpoint is None else self.checkpoint.recall(stage, kind)

    def keep(self, stage: str, state: State, whole: Callable[[State], State] | None = None) -> None:
        """Note how far the fit has come in this stage; `whole` makes what is written of the state, if it is written."""
        if self.checkpoint is not None:
            self.checkpoint.keep(stage, state, whole)

    def close(self) -> None:  # noqa: B027  # most have nothing to let go of
        """Let go of processes and files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def added(results: Iterable[Result]) -> Result:
    """Sum of named tuples, one after the other; the arrays of the first take up the others.

    So no new table of all coins is made for each block, which would take longer than the sum. Who needs the first
    result again must copy it.
    """
    total: Any = None
    for result in results:
        if total is None:
            spread = any(isinstance(value, SpreadSums) for value in result)  # type: ignore[attr-defined]
            total = type(result)(*map(_table, result)) if spread else result  # type: ignore[call-overload]
        else:
            total = type(total)(*map(_plus, total, result))  # type: ignore[call-overload]
    return total  # type: ignore[no-any-return]


def _table(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, SpreadSums) else value


def _plus(total: Any, value: Any) -> Any:
    if not isinstance(total, np.ndarray):
        return total + value
    if isinstance(value, SpreadSums):
        value.add_to(total)
    else:
        total += value
    return total


def coin_keys(worker: npt.NDArray[Any], label: npt.NDArray[Any], n_labels: int) -> Ints:
    """(n_coins,) one whole number for each coin; it rises with the worker, then with the label."""
    keys: Ints = worker.astype(np.int64) * max(n_labels, 1) + label  # 64 bits: a product of codes does not fit in 32
    return keys


@dataclass(eq=False)
class WholeBlock(Block):
    """Votes in memory as one block: all of them, or a part.

    source : the votes; known : truth on their pairs as in `Block`
    first_item, all_coins : for a part, the number of its first item and the coins of all parts
    """

    source: Votes
    known: Signs = field(default_factory=lambda: NOTHING_KNOWN)
    first_item: int = 0
    all_coins: Coins | None = None

    def __post_init__(self) -> None:
        self.pairs: Pairs = self.source.pairs
        self.coins: Coins = self.source.coins
        self.n_items: int = self.source.n_items
        self.n_labels: int = self.source.n_labels
        self.n_coins: int = len(self.coins)
        self.place: Ints | None = None
        if self.all_coins is not None:
            every, own = (coin_keys(one.worker, one.label, self.n_labels) for one in (self.all_coins, self.coins))
            self.n_coins, self.place = len(every), np.searchsorted(every, own)

    def votes(self, *, names: bool = False) -> Votes:
        """The votes themselves."""
        return self.source


class InMemory(Engine):
    """Votes as they are: one block; its loops run in pieces (`amcc.threads`).

    known : (n_pairs,) truth on the asked pairs as in `Block`
    features : (n_items, n_features) descriptions of the items, an array or a sparse matrix of scipy
    """

    def __init__(self, votes: Votes, known: Signs = NOTHING_KNOWN, features: Any = None) -> None:
        super().__init__(votes, len(votes.pairs))
        self.block: WholeBlock = WholeBlock(votes, known)
        self.features = features

    def total(self, function: Callable[..., Result], *shared: Any) -> Result:
        """The function's result for the one block there is."""
        return function(self.block, *shared)

    def each(self, function: Callable[..., Result], *shared: Any) -> Iterator[Result]:
        """The same, as a sequence."""
        yield function(self.block, *shared)


def as_engine(votes: Votes | Engine) -> Engine:
    """Engines as they are, votes in memory."""
    return InMemory(votes) if isinstance(votes, Votes) else votes


def gather(engine: Engine, items: Ints) -> Votes:
    """The votes on some items, given by their numbers in order, in memory; items are named by these numbers."""
    # All items in memory: the votes as they are, with their names, and nothing to copy.
    if isinstance(engine, InMemory) and len(items) == engine.n_items:
        return engine.block.source
    parts = list(engine.each(block_votes_on, items))
    # Items are sorted over all blocks, so the parts one after the other are in the order that `Votes` wants.
    item, worker, label, value = (
        np.concatenate([getattr(part, role) for part in parts]) for role in ("item", "worker", "label", "value")
    )
    return Votes(item, worker, label, value, pa.array(items), engine.worker_names, engine.label_names)


def block_votes_on(block: Block, items: Ints) -> Votes:
    """Votes of the block on those of its items that are in `items`; their places there become their codes."""
    votes = block.votes()
    item = block.places_among(items)[votes.item]
    chosen = votes.select(item >= 0)
    return replace(chosen, item=item[item >= 0])
