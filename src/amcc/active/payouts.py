"""What is paid out to whom, and the list that Prolific takes for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from amcc.active.bookkeeping import WorkerAccount
from amcc.errors import InputError

# What identifies a participant there; https://docs.prolific.com, "Set up bonuses".
PROLIFIC_ID = re.compile("[0-9a-f]{24}")

# Digits after the point of what Prolific pays.
PROLIFIC_DECIMALS = 2


def due_now(people: Sequence[WorkerAccount], decimals: int, *, in_cents: bool) -> dict[str, int]:
    """Minor units by worker, of those who are due something; `in_cents`: what is less than a cent stays due.

    >>> people = [WorkerAccount("ann", earned=1250), WorkerAccount("bob", earned=3)]
    >>> due_now(people, 3, in_cents=False), due_now(people, 3, in_cents=True)
    ({'ann': 1250, 'bob': 3}, {'ann': 1250})
    """
    # Amounts without decimals are whole cents already.
    cent = 10 ** max(decimals - PROLIFIC_DECIMALS, 0) if in_cents else 1
    amounts = {each.worker: each.due // cent * cent for each in people}
    return {worker: amount for worker, amount in amounts.items() if amount}


def prolific_lines(payments: Mapping[str, int], decimals: int) -> str:
    """What Prolific takes for bonuses: one line id,amount for each person, without a header, in pounds or dollars.

    Amounts without decimals are whole cents (or pence).

    >>> prolific_lines({"5f0c": 125, "60aa": 5}, 2), prolific_lines({"5f0c": 125}, 0)
    ('5f0c,1.25\\n60aa,0.05\\n', '5f0c,1.25\\n')
    """
    units = 10 ** (decimals or PROLIFIC_DECIMALS)  # in one pound
    cents = {worker: amount * 100 // units for worker, amount in payments.items()}
    return "".join(f"{worker},{amount // 100}.{amount % 100:02d}\n" for worker, amount in cents.items())


def check_prolific_names(names: Iterable[str], way_out: str) -> None:
    """Raise InputError for a name that cannot stand in Prolific's list."""
    for name in names:
        if re.search(r'[,"\r\n]', name):
            raise InputError(
                f"a name in Prolific's list must have no comma, quote or line end; got {name!r}. {way_out}"
            )
