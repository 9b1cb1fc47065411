"""The account that `amcc next` keeps over many calls, and `amcc pay` reads: what was asked, answered and paid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from amcc.active.accounts import Account
from amcc.cli.console import say
from amcc.cli.options.groups import OptionGroup
from amcc.cli.paths import KEEPS
from amcc.errors import ParameterError
from amcc.votes import Votes


@dataclass(frozen=True)
class LedgerOptions(OptionGroup):
    """Which account is kept, and what becomes of it beside new questions."""

    ledger: Annotated[
        Path | None,
        typer.Option(
            help="File that remembers what was asked, answered and paid, over many calls with one budget. Made by the "
            "first call."
        ),
        KEEPS,
    ] = None
    change_budget: Annotated[
        str | None, typer.Option(metavar="TOTAL", help="With --ledger: the budget from now on, with all spent so far.")
    ] = None
    release: Annotated[
        bool, typer.Option("--release", help="With --ledger: give up questions that wait; their money is free again.")
    ] = False
    waiting: Annotated[
        bool, typer.Option("--waiting", help="With --ledger: nothing new, but again what waits for an answer.")
    ] = False

    @property
    def given(self) -> dict[str, Any]:
        """The options by name, and what was given."""
        return {
            "--ledger": self.ledger,
            "--change-budget": self.change_budget,
            "--release": self.release,
            "--waiting": self.waiting,
        }

    def check(self) -> None:
        """Raise ParameterError for options that need a ledger, where there is none, or contradict each other."""
        alone = [name for name, value in self.given.items() if value]
        if self.ledger is None and alone:
            raise ParameterError(f"{', '.join(alone)} must name an account; give --ledger FILE.")
        if self.release and self.waiting:
            raise ParameterError("--waiting lists what --release gives up; give one of the two.")

    @contextmanager
    def opened(self, votes: Votes, budget: str | None, decimals: int) -> Iterator[Account | None]:
        """The account, where one is kept, with what the votes answer and these options change; locked in the block."""
        self.check()
        if self.ledger is None:
            yield None
            return
        with Account.open(self.ledger, budget=budget, decimals=decimals) as account:
            tell_answers(account.note_answers(votes))
            if self.release:  # after that: what is answered is due, and not given up
                say(f"{account.release():,} questions given up")
            if self.change_budget is not None:
                account.change_budget(self.change_budget)
            yield account


def tell_answers(n_new: int) -> None:
    """Say how many questions on record have an answer now that had none before."""
    say(f"{n_new:,} new answer{'s' * (n_new != 1)} to questions on record")


def amounts(account: Account) -> dict[str, float]:
    """Where the money is, for JSON: budget = paid + due + reserved + left."""
    now = account.balance
    return {name: account.amount(getattr(now, name)) for name in ("budget", "paid", "due", "reserved", "left")}


def tell_balance(account: Account) -> None:
    """Say where the money is."""
    now, text = account.balance, account.text
    over = ": answers came to questions that were released; nothing is asked before there is a higher budget"
    say(
        f"the budget of {text(now.budget)}: {text(now.paid)} paid, {text(now.due)} due, {text(now.reserved)} reserved, "
        f"{text(now.left)} left{over * (now.left < 0)}"
    )
