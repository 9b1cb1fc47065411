"""Which questions to buy next: `next_questions`, what `amcc next` prints.

    found = next_questions(votes, budget="20.00", decimals=2, prices={"ann": "0.08", "bob": "0.05"})
    found.table()       # item, label, worker, price, utility, why

It works before the first vote, too, where `items`, `labels` and `workers` say what there is. For a whole programme of
asking, paying and recording, see `amcc.active.campaign`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from amcc import tables
from amcc.active.accounts import Account
from amcc.active.basket import Basket
from amcc.active.beliefs import CurrentBeliefs, Learner
from amcc.active.candidates import Anything, OtherPairs
from amcc.active.forecast import Forecast, NextMoney, check_target, cost_of_rest, forecast, next_money
from amcc.active.given_prices import listed_prices, paid_prices
from amcc.active.pages import cost_per_vote, select_with_pages
from amcc.active.plan import PlannedPair, planned_pairs
from amcc.active.prices import Money, Prices, as_number, budget_units, eq12_prices, is_eq12
from amcc.active.questions import NOTHING_ASKED, Questions, Triplets
from amcc.active.reasons import reasons
from amcc.active.strategies import check_features_used, make_strategy
from amcc.active.strategies.baselines import RandomSets, Uniform
from amcc.active.strategies.voi import ValueOfInformation
from amcc.active.strategy import Strategy
from amcc.active.yourself import YOU, check_free_name, reading_gain, with_expert, with_my_price
from amcc.arrays import Mask
from amcc.consensus import ConsensusModel, make_model
from amcc.errors import EmptyInputError, InputError, ParameterError
from amcc.roster import Roster, Seats
from amcc.tables import Frame, Tabular, as_frame
from amcc.truth import Truth, positions
from amcc.votes import Votes

__all__ = ["NextQuestions", "next_questions", "with_names"]

# The best compromise in replays on real sets (docs/active-results.md).
DEFAULT_STRATEGY = "voi"

# Questions at a time: a crowd answers many between two looks at what it said.
CROWD_BATCH = 100

# Digits of the small coin of most currencies: where amounts are whole numbers, a hundred of them are the large one.
CENTS = 2

# What to do where the budget does not pay for one vote.
TOO_LITTLE = " Raise the budget: that is what the cheapest vote costs of those who can be asked."

# Where nobody gave a list, nobody knows what the cheapest worker costs.
BY_EQ12 = " That is the price of the cheapest worker by eq12: raise the budget, or lower price."


@dataclass(frozen=True, repr=False)
class NextQuestions(Tabular):
    """Questions worth buying, the best first.

    questions : their codes, utilities, and what the utility was made of.
    price : (n,) what each costs, in minor units. budget : what they may cost together, in minor units.
    strategy : what chose them. beliefs : what it knew. model : fitted to the votes, None before the first vote.
    prices : what votes cost of everybody. allowed : (n_workers,) who could be asked. roster : who they are, if known.
    stopped : why nothing is asked, where a rule says so.
    """

    questions: Questions
    price: Money
    budget: int
    strategy: Strategy
    beliefs: CurrentBeliefs
    model: ConsensusModel | None
    prices: Prices
    allowed: Mask
    roster: Roster | None = None
    stopped: Literal["target", "gain"] | None = None

    def __len__(self) -> int:
        return len(self.questions)

    def __repr__(self) -> str:
        cost, budget = (self.prices.text(units) for units in (self.cost, self.budget))
        return f"NextQuestions({len(self)} questions for {cost} of {budget})"

    def _heading(self) -> str:
        return repr(self)

    def to_arrow(self) -> pa.Table:
        """Table item, label, worker, price, utility, why; see `table`."""
        return self.table("arrow")

    @property
    def decimals(self) -> int:
        """Digits after the point in which amounts are written."""
        return self.prices.decimals

    @property
    def page(self) -> Money:
        """(n,) the part of each price that is for the page."""
        return self.price - self.prices.vote[self.questions.asked.worker]

    @property
    def seats(self) -> Seats | None:
        """Kinds and families of the workers, where a roster says them."""
        return None if self.roster is None else self.roster.seats(self.votes.worker_names)

    @cached_property
    def why(self) -> list[str]:
        """How open each pair is and what is known of the worker, in words."""
        drawn = isinstance(self.strategy, Uniform | RandomSets)
        return reasons(self.questions, self.beliefs, self.seats, drawn=drawn)

    def plan(self) -> list[PlannedPair]:
        """How many people, models and so on each pair is asked of, and why these."""
        return planned_pairs(self.questions, self.price, self.beliefs, self.seats, self.prices, self.allowed)

    @property
    def n_mine(self) -> int:
        """Questions that are for you."""
        expert = self.beliefs.expert
        return 0 if expert is None else int((self.questions.asked.worker == expert.worker).sum())

    @property
    def votes(self) -> Votes:
        """The votes they follow from, with the names of all items, labels and workers that could be chosen."""
        return self.beliefs.votes

    @property
    def cost(self) -> int:
        """What they cost together, in minor units."""
        return int(self.price.sum())

    @property
    def n_worthless(self) -> int:
        """Questions from which nothing is expected: utility 0 of `voi`. Other strategies only rank."""
        return int((self.questions.utility <= 0).sum()) if isinstance(self.strategy, ValueOfInformation) else 0

    def next_money(self) -> NextMoney:
        """What the next unit of money is expected to buy: 1.00, or 100 where amounts are written in cents.

        Where all that can be asked costs less, it is that: more cannot be spent.
        """
        prices = cost_per_vote(self.prices, self.votes)
        unit = min(float(10 ** max(self.decimals, CENTS)), cost_of_rest(self.beliefs, prices, self.allowed))
        return next_money(self.beliefs, prices, self.questions.asked, self.price, unit)

    def forecast(self, target_error: float) -> Forecast | None:
        """What an expected error of at most so much will cost; None before the first vote."""
        prices = cost_per_vote(self.prices, self.votes)
        most = cost_of_rest(self.beliefs, prices, self.allowed)
        return forecast(self.beliefs, prices, target_error, most=most)

    def amount(self, units: int) -> float:
        """Minor units as the number that a person writes."""
        return as_number(units, self.decimals)

    def table(self, frame: Frame = "pandas", *, explain: bool = False) -> Any:
        """Table item, label, worker, price (as it is written), utility, why; `explain`: what the utility is made of."""
        price = pa.array(map(self.amount, self.price.tolist()), pa.float64() if self.decimals else pa.int64())
        table = pa.table(
            {
                **self.questions.asked.named(self.votes),
                "price": price,
                "utility": self.questions.utility,
                "why": pa.array(self.why, pa.string()),
                **(self.questions.parts if explain else {}),
            }
        )
        return as_frame(table, frame)


def next_questions(
    votes: Any = None,
    *,
    budget: Any = None,
    account: Account | None = None,
    prices: Any = None,
    price: Any = None,
    kind_prices: Mapping[str, Any] | None = None,
    page: Any = None,
    my_price: Any = None,
    me: str = YOU,
    decimals: int = 0,
    strategy: str | Strategy = DEFAULT_STRATEGY,
    batch: int = CROWD_BATCH,
    workers: Sequence[Any] | None = None,
    items: Sequence[Any] = (),
    labels: Sequence[Any] = (),
    truth: Truth | None = None,
    features: Any = None,
    roster: Roster | None = None,
    target_error: float | None = None,
    stop_gain: float | None = None,
    exclusive: Any = None,
    reference: Any = None,
    seed: int = 0,
) -> NextQuestions:
    """Choose the questions that help most for the money.

    Parameters
    ----------
    votes : Votes, or a table as `Votes.from_frame` reads it; None before the first vote.
    budget : what all questions together may cost. It is never overspent.
    account : in place of a budget, one that holds for many calls, see `amcc.active.accounts`. What waits there for an
        answer is not asked again, and what is chosen now is on the disk when this returns.
    prices : what a vote costs: one number for everybody; a mapping worker → price; a pandas, polars or Arrow table with
        the columns worker and price; `Prices` of the workers of the votes, in their order; or "eq12" or
        "eq12-printed", the paper's own cost by what the model then knows, see `eq12_prices`.
    price : what a vote costs of everybody who is not listed. Without `prices`, and without this, it is 1. With eq12,
        what a worker costs at c_w = 1; without this, 100 minor units.
    kind_prices : what a vote costs of those of a kind of the roster ("human", "model", "code"), by kind. A worker's own
        price comes first, then that of their kind, then `price`.
    page : what a worker is paid for an item beside their votes on it: one amount, or amounts by kind (others: 0).
    my_price : what an answer of your own costs; you are then one of those who can be asked. Your answers are known
        truth, and no votes.
    me : what you are called among the workers.
    decimals : digits after the point of all amounts: 0 for whole cents, 2 for "1.25". `Prices` have their own.
    strategy : a name among `STRATEGIES`, or a strategy with settings of your own.
    batch : at most so many questions; then come back with the answers.
    workers : who may be asked; everybody who voted or is listed, unless it is given. With eq12, which has no list,
        they may be newcomers, who cost the mean.
    items, labels : further ones, which nobody was asked about.
    truth : what is known already. It teaches about workers, and nobody is asked about it.
    features : (n_items, n_features), for strategies and models that use them; further items come after those voted on.
    roster : who the workers are, for models that use it.
    target_error : ask nothing where the model expects an error of at most so much (`CurrentBeliefs.expected_error`).
    stop_gain : ask nothing where the next unit of money is expected to put right fewer wrong decisions than this, see
        `NextQuestions.next_money`.
    exclusive : labels of which exactly one is true, as `AMCC` takes them. Declare them where questions are bought one
        by one: what an answer to one label says of the others is not seen otherwise.
    reference : whose view counts where a roster says who the workers are, as `AMCC` takes it.
    seed : decides between questions that are equally good.

    Examples
    --------
    >>> found = next_questions(budget=3, items=["photo"], labels=["cat", "dog"], workers=["ann", "bob"])
    >>> len(found), found.cost, sorted(found.table("arrow")["label"].to_pylist())
    (2, 2, ['cat', 'dog'])
    """
    chooser = checked_strategy(strategy, features=features is not None, roster=roster is not None)
    decimals = prices.decimals if isinstance(prices, Prices) else decimals
    check_call(budget, account, decimals, my_price, batch, target_error, stop_gain)
    listed, others = listed_prices(prices, price, decimals, kind_prices)
    wanted = [] if workers is None else as_list(workers, "worker")
    there = with_things(votes, items, labels)
    votes = with_people(there, [*listed, *on_record(account, wanted)], wanted, newcomers=is_eq12(prices))
    allowed = allowed_workers(votes, wanted)
    if my_price is not None:
        check_free_name(me, votes, roster)
    money, waiting = account.before_asking(votes) if account else (budget_units(budget, decimals), NOTHING_ASKED)
    make = model_maker(chooser.model, exclusive=exclusive, reference=reference)
    learner = Learner(make, features=features, truth=truth, roster=roster)
    prices, beliefs = prices_by_model(learner, votes, prices, price, decimals)
    paid = paid_prices(votes, allowed, prices, listed, others, page, roster, decimals)
    if my_price is not None:
        paid, allowed = with_my_price(paid, my_price), np.append(allowed, True)
    basket = funded_basket(paid, money, batch, allowed, account, TOO_LITTLE if beliefs is None else BY_EQ12)
    beliefs = beliefs or learner.learn(votes)
    if my_price is not None:
        beliefs = with_expert(beliefs, me, reading_gain(learner.model, votes, basket.most_of_last, seed))
    fill_basket(basket, chooser, beliefs, paid, batch, np.random.default_rng(seed), waiting)
    found = NextQuestions(*in_order(basket, paid), money, chooser, beliefs, learner.model, paid, allowed, roster)
    return written_down(account, stopped(found, target_error, stop_gain))


def model_maker(name: str, **told: Any) -> Callable[[], ConsensusModel]:
    """What makes the model of a strategy with the parameters that are told; an error where these make no sense."""
    make = partial(make_model, name, **{parameter: value for parameter, value in told.items() if value is not None})
    make().check_params()
    return make


def prices_by_model(
    learner: Learner, votes: Votes, prices: Any, price: Any, decimals: int
) -> tuple[Any, CurrentBeliefs | None]:
    """Prices by eq12, which only the fitted model can tell, and what it then knows; other prices as they are.

    These are checked before the model is fitted, which may take minutes.
    """
    if not is_eq12(prices):
        return prices, None
    beliefs = learner.learn(votes)
    return eq12_prices(learner.model, votes, prices, price=price, decimals=decimals), beliefs


def on_record(account: Account | None, wanted: Sequence[Any]) -> list[str]:
    """Those wanted who were asked before: they are known, though they have not answered yet."""
    asked = set() if account is None else {each.worker for each in account.workers()}
    return [str(name) for name in wanted if str(name) in asked]


def funded_basket(paid: Prices, money: int, batch: int, allowed: Mask, account: Account | None, way_out: str) -> Basket:
    """An empty basket with the money that there is; an error where it does not pay for a vote."""
    basket = Basket(paid, max(money, 0), batch, np.where(allowed, batch, 0))
    if account is not None and not basket.open_workers().any():
        account.stop_out_of_money(int(paid.lone_vote[allowed].min()))
    basket.check_pays_for_a_vote(way_out)
    return basket


def written_down(account: Account | None, found: NextQuestions) -> NextQuestions:
    """The questions, on the disk before anybody sees them: who sees a question may answer it."""
    if account is not None:
        if len(found):
            names = {role: column.to_pylist() for role, column in found.questions.asked.named(found.votes).items()}
            account.ask(names, found.price, found.page)
        account.save()
    return found


def in_order(basket: Basket, prices: Prices) -> tuple[Questions, Money]:
    """What was chosen and what it costs, the best first; where pages cost something, page by page."""
    # Choices that took the place of refused ones come last in the basket, but may be better than some before them.
    order = basket.by_page() if np.any(prices.page) else basket.best_first()
    return basket.questions.take(order), basket.price[order]


def stopped(found: NextQuestions, target_error: float | None, stop_gain: float | None) -> NextQuestions:
    """The questions, or none of them where a rule says that enough was asked."""
    reason: Literal["target", "gain"] | None = None
    if target_error is not None and found.beliefs.expected_error() <= target_error:
        reason = "target"
    # Before the first vote nobody can say what one is worth, and it must be bought to know.
    elif stop_gain is not None and len(found) and len(found.votes) and found.next_money().put_right < stop_gain:
        reason = "gain"
    if reason is None:
        return found
    nothing = found.questions.take(np.empty(0, np.int64))
    return replace(found, questions=nothing, price=found.price[:0], stopped=reason)


def check_call(
    budget: Any, account: Account | None, decimals: int, my_price: Any, batch: int, target_error: float | None,
    stop_gain: float | None,
) -> None:  # fmt: skip
    """Raise an error where money, a batch, or a rule to stop by makes no sense."""
    check_money(budget, account, decimals, my_price)
    check_batch(batch)
    if target_error is not None:
        check_target(target_error, "target_error")
    if stop_gain is not None and not 0 <= stop_gain < np.inf:
        raise ParameterError(f"stop_gain must be a number of at least 0; got {stop_gain!r}.")


def fill_basket(
    basket: Basket, strategy: Strategy, beliefs: CurrentBeliefs, prices: Prices, batch: int, rng: np.random.Generator,
    waiting: Triplets = NOTHING_ASKED,
) -> None:  # fmt: skip
    """Fill the basket with what the strategy chooses.

    Where some of its choices are too expensive, it chooses again: other pairs, and workers who are not. While there are
    other pairs, none is asked about that waits for an answer, which will change what is worth asking.
    """

    def propose() -> Questions:
        candidates = beliefs.open_among(Anything(beliefs.votes, basket.open_workers(), waiting))
        if len(waiting) and (others := OtherPairs.than(waiting, candidates)).open_pairs().any():
            candidates = others
        # A whole batch: it may repeat pairs that are in the basket, but of so many, as many as are missing are new.
        return select_with_pages(strategy, beliefs, candidates, prices, batch, rng)

    basket.fill(propose)


def checked_strategy(strategy: str | Strategy, *, features: bool, roster: bool) -> Strategy:
    """The strategy; ParameterError where it and its model have no use for features or a roster that are given."""
    chooser = make_strategy(strategy)
    model = make_model(chooser.model)
    if features:
        check_features_used(chooser, model)
    if roster:
        model.check_uses_roster()
    return chooser


def check_one_budget(budget: Any, account: Account | None, decimals: int) -> None:
    """Raise ParameterError unless there is a budget or an account, whose amounts are written in the same way."""
    if (budget is None) == (account is None):
        raise ParameterError("give either a budget, for this call, or an account, whose budget holds for all calls.")
    if account is not None and account.decimals != decimals:
        raise ParameterError(f"decimals must be {account.decimals}, as in the ledger; got {decimals}.")


def check_money(budget: Any, account: Account | None, decimals: int, my_price: Any) -> None:
    """Raise an error where there is no budget, or two, or where the requester would be one of those who are paid."""
    check_one_budget(budget, account, decimals)
    if account is None:
        budget_units(budget, decimals)
    elif my_price is not None:
        raise ParameterError(
            "my_price has no place in an account: your answers are known truth, not votes that are paid. Choose what "
            "you answer in a call without account."
        )


def check_batch(batch: int) -> None:
    """Raise ParameterError where a batch is empty."""
    if batch < 1:
        raise ParameterError(f"batch must be at least 1; got {batch}.")


# -- what there is ---------------------------------------------------------------------------------------------------


def nothing_known() -> Votes:
    """No vote, and no names."""
    codes, names = np.empty(0, np.int32), pa.array([], pa.string())  # Votes.from_... refuse an empty table
    return Votes(codes, codes, codes, np.empty(0, np.int8), names, names, names)


def as_list(names: Any, role: tables.Role) -> list[Any]:
    """Names from a list, an array or a column; a single text is refused, since it would pass for a list of letters."""
    if isinstance(names, str):
        raise ParameterError(f"{role} names must be a list; got the text {names!r}. Put it in a list: [{names!r}].")
    return list(names.tolist() if hasattr(names, "tolist") else names)


def with_names(votes: Votes, role: tables.Role, names: Iterable[Any]) -> Votes:
    """Votes with further items, labels or workers, though there is no vote about or by them."""
    known = getattr(votes, f"{role}_names")
    given = tables.vocabulary_of(list(dict.fromkeys(as_list(names, role))), role).cast(pa.string())
    new = given.filter(pa.array(positions(given, known) < 0))
    if not len(new):
        return votes
    tables.refuse_slips(new, known, role)  # "cat " beside "cat" would be asked about, and paid, twice
    # Behind those there are, so that the codes of all votes stay what they are.
    changed: dict[str, Any] = {f"{role}_names": pa.concat_arrays([known.cast(pa.string()), new])}
    return replace(votes, **changed)


def with_things(votes: Any, items: Iterable[Any], labels: Iterable[Any]) -> Votes:
    """Votes, perhaps none, in which these items and labels can be asked about; there must be one of each."""
    votes = nothing_known() if votes is None else votes
    known = votes if isinstance(votes, Votes) else Votes.from_frame(votes)
    known = with_names(with_names(known, "item", items), "label", labels)
    if not known.n_items or not known.n_labels:
        raise EmptyInputError("without votes it must be said what can be asked: items=[…] and labels=[…].")
    return known


def with_people(votes: Votes, listed: Iterable[str], wanted: Sequence[Any], *, newcomers: bool = False) -> Votes:
    """Votes with the workers of the price list; with those `wanted`, where nothing else can say who there is.

    newcomers : there is no list that could name them, only `wanted`.
    """
    # Otherwise a name that nobody knows is more likely a slip than a newcomer, and `allowed_workers` refuses it.
    nobody_known = not votes.n_workers and not listed
    named = (name for name in wanted if str(name).strip())
    votes = with_names(votes, "worker", named if newcomers or nobody_known else listed)
    if not votes.n_workers:
        raise EmptyInputError(
            "there must be somebody to ask, and nobody has voted. Name people in a price list (prices=…) or one by "
            "one (workers=[…])."
        )
    return votes


def allowed_workers(votes: Votes, wanted: Sequence[Any] | None) -> Mask:
    """(n_workers,) who may be asked: those wanted, or everybody."""
    if not wanted:
        return np.ones(votes.n_workers, dtype=bool)
    names = pa.array(map(str, wanted), pa.string())
    place = positions(names, votes.worker_names)
    if (place < 0).any():
        tables.refuse_slips(names, votes.worker_names, "worker")
        unknown = names[int((place < 0).argmax())].as_py()
        raise InputError(
            f"workers must name somebody who has voted or is in the price list; {unknown!r} is neither. Check "
            "the spelling, or add newcomers to the list (prices=…)."
        )
    return np.isin(np.arange(votes.n_workers), place)
