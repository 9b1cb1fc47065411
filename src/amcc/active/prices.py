"""Money in whole minor units (cents), and what a question costs.

An amount is what a person writes: 12, "0.05", 7.5. `minor_units` turns it into an integer, once, where it comes in;
from there on money is counted in integers, so that sums are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc import tables
from amcc.arrays import Floats, Ints
from amcc.consensus.base import ConsensusModel
from amcc.consensus.worth import worker_costs
from amcc.errors import ColumnError, InputError, ParameterError
from amcc.io import naming, read_table
from amcc.roster import WORKER_KINDS, Roster
from amcc.truth import positions
from amcc.votes import Votes

__all__ = [
    "EQ12",
    "PriceList",
    "Prices",
    "budget_units",
    "eq12_prices",
    "is_eq12",
    "major_units",
    "minor_units",
    "price_list",
    "prices_by_kind",
    "read_price_list",
]

Money = Ints

# No currency has more than four, but one answer of a small language model costs less than a ten-thousandth: 500 tokens
# at 0.10 per million are 0.00005.
MOST_DECIMALS = 6

# Minor units of the largest amount: sums of thousands of them still fit in 64 bits.
LARGEST = 10**15

# What the column of prices may be called; the first that is there counts.
PRICE_COLUMNS = ("price", "cost", "rate", "pay", "reward")

# What may stand where a price list does: the paper's own cost of a worker, and the same as printed (`worker_worth`).
EQ12 = ("eq12", "eq12-printed")

# Minor units that a worker costs at c_w = 1 of eq12, unless it is said: others cost whole percents.
PRICE_AT_ONE = 100


def minor_units(amount: Any, decimals: int = 0, what: str = "an amount", *, fixed: bool = False) -> int:
    """An amount of money as a whole number of minor units.

    `decimals` is how many digits after the point amounts may have: 0 where they are given in minor units, 2 for
    euros and cents. `fixed` says that this cannot be changed any more, so that nobody is told to.

    >>> minor_units("0.05", decimals=2), minor_units(12)
    (5, 12)
    """
    number, decimals = _decimal(amount, what), _checked_decimals(decimals)
    if number < 0:
        raise InputError(f"{what} must not be negative; got {amount}.")
    if number > LARGEST or (units := number.scaleb(decimals)) > LARGEST:
        raise InputError(f"{what} must be at most {major_units(LARGEST, decimals)}; got {amount}.")
    if units != units.to_integral_value():
        way_out = "" if fixed else f", or say how many decimals amounts have: {_way_out(number)}"
        raise InputError(f"{what} must {_precision(decimals)}; got {amount}. Round it{way_out}.")
    return int(units)


def major_units(units: int, decimals: int = 0) -> str:
    """Minor units as a person writes them.

    >>> major_units(1205, decimals=2)
    '12.05'
    """
    return f"{Decimal(units).scaleb(-decimals):.{decimals}f}"


def as_number(units: int, decimals: int = 0) -> float:
    """Minor units as the number that a person writes, for tables and JSON; whole where amounts are.

    >>> as_number(1205, decimals=2), as_number(1205)
    (12.05, 1205)
    """
    return float(major_units(units, decimals)) if decimals else units


def budget_units(budget: Any, decimals: int = 0) -> int:
    """A budget as a whole number of minor units, which must be above 0.

    >>> budget_units("12.50", decimals=2)
    1250
    """
    units = minor_units(budget, decimals, "the budget")
    if units == 0:
        raise InputError(f"the budget must be above 0; got {budget}.")
    return units


def _decimal(amount: Any, what: str) -> Decimal:
    """The number as it is written: 0.1 is a tenth, not the binary fraction next to it."""
    # True is 1 to Python, and a mistake to whoever pays.
    text = None if isinstance(amount, bool | np.bool_) else tables.number_in(amount)
    if text is None and str(amount).strip().lower() in ("nan", "inf", "-inf", "infinity"):
        raise InputError(f"{what} must be a finite number; got {amount}.")
    if text is None:
        raise InputError(f"{what} must be a number; got {amount!r}.")
    return Decimal(text)


def _precision(decimals: int) -> str:
    return f"have at most {decimals} decimals" if decimals else "be a whole number of minor units (cents)"


def _way_out(number: Decimal) -> str:
    """What to say so that the amount is taken as it is, as far as that is possible."""
    needed = max(2, -int(number.normalize().as_tuple().exponent))
    if needed > MOST_DECIMALS:
        return f"at most decimals={MOST_DECIMALS} (command line: --decimals {MOST_DECIMALS})"
    return f"decimals={needed} (command line: --decimals {needed})"


def _checked_decimals(decimals: int) -> int:
    if not isinstance(decimals, Integral) or isinstance(decimals, bool) or not 0 <= decimals <= MOST_DECIMALS:
        raise ParameterError(f"decimals must be a whole number from 0 to {MOST_DECIMALS}; got {decimals!r}.")
    return int(decimals)


@dataclass(frozen=True, eq=False)
class Prices:
    """What questions cost, in minor units.

    Labels of one item that one worker is asked about together stand on one page.

    Parameters
    ----------
    vote : (n_workers,) int64. Price of one vote of each worker.
    page : int, or (n_workers,) int64. Price of each page, beside those of its votes: of all, or of each worker's.
    decimals : int. Digits after the point in which amounts are written, see `minor_units`.

    Examples
    --------
    >>> prices = Prices.of(["ann", "bob"], {"ann": "0.05"}, default="0.03", page="0.02", decimals=2)
    >>> prices.vote, prices.lone_vote
    (array([5, 3]), array([7, 5]))
    """

    vote: Money
    page: int | Money = 0
    decimals: int = 0

    def __post_init__(self) -> None:
        if self.vote.dtype != np.int64 or self.vote.ndim != 1:
            raise ParameterError(f"vote must hold one int64 for each worker; got {self.vote.dtype} {self.vote.shape}.")
        if np.shape(self.page) not in ((), self.vote.shape):
            raise ParameterError(f"page must hold one price, or one for each worker; got {np.shape(self.page)}.")
        if np.min(self.page, initial=0) < 0 or (self.vote < 0).any():
            raise ParameterError("prices must not be negative; use Prices.of, which says whose is.")

    @classmethod
    def of(
        cls,
        workers: pa.Array | Sequence[Any],
        listed: Mapping[Any, Any] | None = None,
        *,
        default: Any | None = None,
        page: Any = 0,
        decimals: int = 0,
    ) -> Prices:
        """Prices of these workers: those `listed` by name, the `default` for all others.

        page : what all pages cost, or those of some workers by name; the others' cost nothing.

        All amounts are checked; a vote must cost something, for strategies divide by its price.
        """
        names = tables.vocabulary_of(workers, "worker")
        # −1 is no price, as none can be negative: who still has it in the end was forgotten.
        everybody = -1 if default is None else minor_units(default, decimals, "the default price")
        vote = np.full(len(names), everybody, dtype=np.int64)
        if listed:
            amounts = [minor_units(price, decimals, f"the price of worker {name!r}") for name, price in listed.items()]
            vote[_places(list(listed), names)] = amounts
        if (vote < 0).any():
            missing = names.filter(pa.array(vote < 0)).to_pylist()
            raise InputError(
                f"every worker must have a price; there is none for {_some(missing)}. Add them to the list, or give a "
                "default price for everybody who is not in it."
            )
        if isinstance(page, Mapping):
            of_page = np.zeros(len(names), dtype=np.int64)
            amounts = [minor_units(each, decimals, f"the page price of {name!r}") for name, each in page.items()]
            of_page[_places(list(page), names) if page else []] = amounts
            prices = cls(vote, of_page, decimals)
        else:
            prices = cls(vote, minor_units(page, decimals, "the page price"), decimals)
        if (prices.lone_vote == 0).any():
            free = names.filter(pa.array(prices.lone_vote == 0)).to_pylist()
            raise InputError(
                f"a vote must cost at least one minor unit; those of {_some(free)} cost nothing. Give "
                "a price, of votes or of pages, that is above 0."
            )
        return prices

    @property
    def page_of_worker(self) -> Money:
        """(n_workers,) what a page of each worker costs."""
        return np.broadcast_to(np.asarray(self.page, dtype=np.int64), self.vote.shape)

    @property
    def lone_vote(self) -> Money:
        """(n_workers,) what one vote costs on a page of its own."""
        return self.vote + self.page

    def of_votes(self, votes: Votes) -> int:
        """What all these votes cost, each answer being one page."""
        return int(self.vote[votes.worker].sum() + (self.page_of_worker * votes.answers_per_worker).sum())

    def text(self, units: int) -> str:
        """Minor units as amounts in this currency are written."""
        return major_units(units, self.decimals)


def _places(names: list[Any], workers: pa.Array) -> Ints:
    """Codes of workers who have a price, each of whom must be there."""
    # As text: workers who are called by numbers in a table are called so in a price list, too.
    given = tables.vocabulary_of([str(name) for name in names], "worker")
    place = positions(given, workers)
    if (place < 0).any():
        tables.refuse_slips(given, workers, "worker")  # "ann " is a slip, and not a stranger
        unknown = [name for name, code in zip(names, place, strict=True) if code < 0]
        raise InputError(
            f"prices must be of known workers; {_some(unknown)} are not among the {len(workers)} there are. Check the "
            "spelling, leave them out, or add them to the workers."
        )
    return place


def is_eq12(prices: Any) -> bool:
    """Whether prices are to be what workers cost by eq12."""
    return isinstance(prices, str) and prices in EQ12


def eq12_prices(
    model: ConsensusModel | None, votes: Votes, kind: str = "eq12", *, price: Any = None, decimals: int = 0
) -> Prices:
    """What workers cost by the paper's eq12, after these votes and by what the model knows; its reward is linear.

    model : fitted to the votes or to earlier ones; None before the first vote, when everybody costs the same.
    kind : "eq12", or "eq12-printed" for the equation as printed.
    price : what a worker costs at c_w = 1, as one does who never says yes; 100 minor units, unless it is given.
        Others cost their c_w of it, in whole minor units and at least one.

    >>> eq12_prices(None, Votes.from_dense([[[1]], [[-1]]]), price="0.25", decimals=2).vote
    array([25, 25])
    """
    if not is_eq12(kind):
        raise ParameterError(f"kind must be one of {', '.join(EQ12)}; got {kind!r}.")
    at_one = price_at_one(price, decimals)
    cost = worker_costs(model, votes, printed=kind == "eq12-printed")
    return Prices(whole_units(cost * at_one), decimals=decimals)


def price_at_one(price: Any, decimals: int, what: str = "price") -> int:
    """What a worker costs at c_w = 1 of eq12, in minor units; `what` is what the price is called by whoever gave it."""
    if price is None:
        return PRICE_AT_ONE
    if _decimal(price, what) <= 0:
        raise InputError(f"{what} must be at least one minor unit with eq12; got {price}.")
    return minor_units(price, decimals, what)


def whole_units(amount: Floats) -> Money:
    """Amounts in minor units, rounded half up; nobody is free, for strategies divide by the price.

    >>> whole_units(np.array([0.2, 2.5, 3.4]))
    array([1, 3, 3])
    """
    if amount.max(initial=0.0) > LARGEST:
        raise InputError(f"a vote must cost at most {LARGEST} minor units; by eq12 one costs {amount.max():.3g}.")
    return np.maximum(np.floor(amount + 0.5), 1).astype(np.int64)


class PriceList(dict[str, Any]):
    """Amount by worker; `kinds` has the amounts of the kinds of a roster, for those who have none of their own."""

    def __init__(self, workers: Mapping[str, Any] | None = None, kinds: Mapping[str, Any] | None = None) -> None:
        super().__init__(workers or {})
        self.kinds: dict[str, Any] = dict(kinds or {})


def price_list(frame: Any, *, decimals: int = 0) -> PriceList:
    """The prices of a table with a column for the price, and one for the worker, one for the kind, or both.

    A row that names a worker is the price of that worker, whatever its kind. A row that names only a kind is the price
    of all of that kind who have no row of their own.
    """
    found: dict[str, str] = {}  # what the columns are called

    def choose(columns: Sequence[str]) -> list[str]:
        kind = tables.only_column("kind", ("kind",), columns, lambda *_: "Rename the others.")
        worker = tables.match_columns(columns, needed=("worker",) if kind is None else (), roles=("worker",))
        named = {"worker": worker.get("worker"), "kind": kind, "price": _priced(columns)}
        found.update({role: column for role, column in named.items() if column is not None})
        return list(found.values())

    table = tables.as_arrow(frame, choose)
    cells = {role: table[column].to_pylist() for role, column in found.items()}
    blank = [None] * table.num_rows
    kinds = [str(cell or "").strip().lower() for cell in cells.get("kind", blank)]
    # Names as text, as everywhere; a cell may be empty where the row is that of a kind.
    workers = _worker_cells(table[found["worker"]], found["worker"], kinds) if "worker" in found else blank
    listed = PriceList()
    for row, (worker, kind, amount) in enumerate(zip(workers, kinds, cells["price"], strict=True), start=1):
        if worker is None:
            _enter_kind(listed, kind, amount, row)
        elif worker in listed:
            raise InputError(
                f"every worker must have one price; {worker!r} has another in row {row}. Leave one of the two out."
            )
        else:
            listed[worker] = amount
        whose = f"kind {kind!r}" if worker is None else f"worker {worker!r}"
        minor_units(amount, decimals, f"the price of {whose} (row {row})")  # refused where the row is known
    return listed


def _worker_cells(column: pa.ChunkedArray, name: str, kinds: Sequence[str]) -> list[str | None]:
    """The worker of each row; None where the cell is empty and the row has a kind instead."""
    empty = [not str("" if cell is None else cell).strip() for cell in column.to_pylist()]
    of_kind = [not_named and bool(kind) for not_named, kind in zip(empty, kinds, strict=True)]
    if all(of_kind):
        return [None] * len(of_kind)
    # Any worker will do in the rows of kinds: without these rows, errors would give wrong row numbers.
    ids = tables.encode_ids(pc.if_else(pa.array(of_kind), column[of_kind.index(False)], column), "worker", name)
    names = tables.text_of(ids.names, ids.codes).to_pylist()
    return [None if without else worker for without, worker in zip(of_kind, names, strict=True)]


def _enter_kind(listed: PriceList, kind: str, amount: Any, row: int) -> None:
    """Note the price of a kind, which must be one and have one price."""
    check_kind(kind, f"row {row} of a price list")
    if kind in listed.kinds:
        raise InputError(
            f"every kind must have one price; {kind!r} has another in row {row}. Leave one of the two out."
        )
    listed.kinds[kind] = amount


def prices_by_kind(
    kinds: Mapping[str, Any], roster: Roster | None, worker_names: pa.Array, decimals: int = 0, what: str = "price"
) -> dict[str, Any]:
    """Amount by worker, of all whose kind has one.

    kinds : amount by kind. what : what the amount is, for errors.

    >>> roster = Roster.from_frame(pa.table({"worker": ["ann", "gpt"], "kind": ["", "model"]}))
    >>> prices_by_kind({"model": 2}, roster, pa.array(["ann", "bob", "gpt"]))
    {'gpt': 2}
    """
    if not kinds:
        return {}
    for kind, amount in kinds.items():
        check_kind(kind, f"the {what} of a kind")
        minor_units(amount, decimals, f"the {what} of kind {kind!r}")
    if roster is None:
        raise ParameterError(
            f"the {what} of a kind can be paid only where it is known who is of that kind; say so in a roster "
            "(roster=…)."
        )
    of_worker = roster.seats(worker_names).kinds().to_pylist()
    if unused := [kind for kind in kinds if kind not in of_worker]:
        raise InputError(
            f"the {what} of a kind must be that of somebody; nobody is of kind {_some(unused)}. Leave it out, or say "
            "in the roster who is."
        )
    names = tables.text_of(worker_names).to_pylist()
    return {name: kinds[kind] for name, kind in zip(names, of_worker, strict=True) if kind in kinds}


def check_kind(kind: Any, where: str) -> None:
    """Raise InputError unless a roster knows the kind."""
    if kind not in WORKER_KINDS:
        raise InputError(f"a kind must be {', '.join(WORKER_KINDS[:-1])} or {WORKER_KINDS[-1]}; {where} has {kind!r}.")


def read_price_list(path: str | Path, *, decimals: int = 0) -> PriceList:
    """`price_list` of a CSV, TSV, Parquet or JSON-lines file."""
    table = read_table(path)
    with naming(path):
        return price_list(table, decimals=decimals)


def _priced(columns: Sequence[str]) -> str:
    """The column that holds the price; the first of the names it may have wins."""
    by_name = {column.strip().lower(): column for column in reversed(columns)}  # of two alike, the first
    for name in PRICE_COLUMNS:
        if name in by_name:
            return by_name[name]
    raise ColumnError(f"a column for the price is missing; the columns are {', '.join(columns)}. Call it 'price'.")


def _some(names: Sequence[Any], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more
