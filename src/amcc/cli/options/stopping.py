"""When to stop asking, and what people are told about it: what the next money buys, and what a target will cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import Annotated, Any

import typer

from amcc.active.buying import NextQuestions
from amcc.active.forecast import COVERAGE, Forecast, NextMoney
from amcc.active.prices import major_units
from amcc.cli.options.groups import OptionGroup

# Said where a target is given before anybody has voted.
NO_FORECAST = "what a smaller error will cost can be said only after the first votes"


@dataclass(frozen=True)
class StopOptions(OptionGroup):
    """When nothing needs to be asked any more."""

    target_error: Annotated[
        float | None,
        typer.Option(
            help="The expected error that is low enough, as 0.05: says what it will cost, and asks nothing once it is "
            "reached."
        ),
    ] = None
    stop_gain: Annotated[
        float | None,
        typer.Option(
            help="Ask nothing where the next 1.00 (100 where amounts are whole numbers) is expected to put right fewer "
            "wrong decisions than this: 0.1 where a right decision is worth 10.00 to you."
        ),
    ] = None

    def rules(self) -> dict[str, Any]:
        """Arguments of `amcc.active.next_questions`."""
        return {"target_error": self.target_error, "stop_gain": self.stop_gain}

    def outlook(self, found: NextQuestions) -> tuple[list[str], dict[str, Any]]:
        """Sentences and JSON about what is to come. Before the first vote nothing is known to go by."""
        if not len(found.votes):
            return [NO_FORECAST] * (self.target_error is not None), {}
        buys = found.next_money()
        told, as_json = [], {"expected_error": buys.error, "next_money": money_as_json(buys, found)}
        if len(found):
            told.append(money_sentence(buys, found.decimals))
        elif found.stopped == "gain":
            told.append(f"nothing needs to be asked: {gain_sentence(buys, found.decimals)}")
        if self.target_error is not None and (foreseen := found.forecast(self.target_error)) is not None:
            told.append(forecast_sentence(foreseen, found.decimals))
            as_json["forecast"] = forecast_as_json(foreseen, found)
        return told, as_json


def money_sentence(buys: NextMoney, decimals: int) -> str:
    """What the next money buys; of pairs it is silent where hardly any would be settled.

    >>> money_sentence(NextMoney(100, 0.062, 0.0604, settled=4.2, put_right=0.31), decimals=2)
    'the next 1.00 settles about 4 pairs and puts right about 0.31 decisions; expected error .0620 → .0604'
    >>> money_sentence(NextMoney(100, 0.062, 0.06199, settled=0.02, put_right=0.0012), decimals=2)
    'the next 1.00 puts right about 0.0012 decisions; the expected error stays at .0620'
    """
    n_pairs = f"{buys.settled:.0f}" if buys.settled >= 1 else f"{buys.settled:.1f}"
    if n_pairs == "0.0":
        return gain_sentence(buys, decimals)
    settles = f" settles about {n_pairs} pair{'s' * (n_pairs != '1')} and puts"
    return gain_sentence(buys, decimals).replace(" puts", settles, 1)


def gain_sentence(buys: NextMoney, decimals: int) -> str:
    """What the next money changes, whatever it settles."""
    changes = f"puts right about {buys.put_right:.2g} decisions"
    before, after = _error(buys.error), _error(buys.error_after)
    errors = f"expected error {before} → {after}" if before != after else f"the expected error stays at {before}"
    return f"the next {major_units(round(buys.money), decimals)} {changes}; {errors}"


def forecast_sentence(told: Forecast, decimals: int) -> str:
    """What a target will cost.

    >>> forecast_sentence(Forecast(0.06, 0.05, 2400, 3800, 6100, 0.97), decimals=2)
    'an expected error of .0500 will cost about 38.00 more, 80 % interval 24.00 to 61.00'
    >>> forecast_sentence(Forecast(0.06, 0.05, 2400, 3800, inf, 0.7), decimals=2)
    'an expected error of .0500 will cost about 38.00 more, 80 % chance of more than 24.00; 30 % chance that all that \
can be asked does not reach it'
    >>> forecast_sentence(Forecast(0.06, 0.05, 2400, inf, inf, 0.3), decimals=2)
    'an expected error of .0500 may be out of reach: 70 % chance that all that can be asked does not reach it, 80 % \
chance that it costs more than 24.00'
    >>> forecast_sentence(Forecast(0.06, 0.01, inf, inf, inf, 0.04), decimals=2)
    'an expected error of .0100 is out of reach: 4 % chance with all that can be asked'
    """
    goal = f"an expected error of {_error(told.target)}"
    if told.error <= told.target:
        return f"{goal} is reached: it is {_error(told.error)}; nothing needs to be asked"
    if told.low == inf:
        return f"{goal} is out of reach: {100 * told.chance:.0f} % chance with all that can be asked"
    low, cost, high = (
        "" if each == inf else major_units(ceil(each), decimals) for each in (told.low, told.cost, told.high)
    )
    sure = f"{100 * COVERAGE:.0f} %"
    if high:
        return f"{goal} will cost about {cost} more, {sure} interval {low} to {high}"
    never = f"{100 * (1 - told.chance):.0f} % chance that all that can be asked does not reach it"
    if cost:
        return f"{goal} will cost about {cost} more, {sure} chance of more than {low}; {never}"
    return f"{goal} may be out of reach: {never}, {sure} chance that it costs more than {low}"


def _error(error: float) -> str:
    """Four digits: the next money changes the third at most."""
    return f"{error:.4f}".removeprefix("0")


def money_as_json(buys: NextMoney, found: NextQuestions) -> dict[str, Any]:
    """Amounts as people write them."""
    settled = buys.settled if len(found) else None  # which pairs, only questions can say
    return {
        "money": found.amount(round(buys.money)), "expected_error_after": buys.error_after,
        "settled_pairs": settled, "decisions_put_right": buys.put_right,
    }  # fmt: skip


def forecast_as_json(told: Forecast, found: NextQuestions) -> dict[str, Any]:
    """Amounts as people write them; null is more than all that can be asked costs."""
    costs = {"low": told.low, "cost": told.cost, "high": told.high}
    amounts = {name: None if cost == inf else found.amount(ceil(cost)) for name, cost in costs.items()}
    return {"target_error": told.target, **amounts, "coverage": COVERAGE, "chance": told.chance}
