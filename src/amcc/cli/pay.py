"""amcc pay: who gets what for the answers to questions of `amcc next --ledger`.

The account is `amcc.active.accounts`. Lists are written first, and only then is it recorded that they were paid: where
something goes wrong in between, nobody is taken for paid who is on no list, and the same call gives the same list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from amcc.active.accounts import Account, WorkerAccount
from amcc.active.payouts import PROLIFIC_ID, check_prolific_names, due_now, prolific_lines
from amcc.cli.console import say
from amcc.cli.options.asked_votes import votes_so_far
from amcc.cli.options.ledger import amounts, tell_answers, tell_balance
from amcc.cli.options.votes import ReadingOptions
from amcc.cli.output import Json, RowsOutput, print_json
from amcc.cli.paths import FILE, KEEPS, READS
from amcc.errors import InputError, ParameterError
from amcc.files import whole_file

# The options of paying, here and in `amcc campaign pay`.
OnlyWorkers = Annotated[list[str] | None, typer.Option(help="Only this worker. May be repeated.")]
Prolific = Annotated[
    Path | None,
    typer.Option(help="Also write what is due as Prolific takes it for bonuses: lines id,amount in whole cents."),
    FILE,
]
MarkPaid = Annotated[
    bool, typer.Option("--mark-paid", help="Record that what this call lists is paid: the next one lists the rest.")
]


def pay(
    *,
    ledger: Annotated[Path, typer.Argument(metavar="LEDGER", help="The file that amcc next --ledger keeps."), KEEPS],
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[VOTES]", help="Table of votes, to see who has answered since the last call."),
        READS,
    ] = None,
    worker: OnlyWorkers = None,
    prolific: Prolific = None,
    mark_paid: MarkPaid = False,
    rows: RowsOutput,
    as_json: Json = False,
    reading: ReadingOptions,
) -> None:
    """List who gets what for answers to questions of amcc next --ledger; writes worker,answered,paid,due,….

    Listed is everybody who is due something, or from whom an answer is awaited; --json has everybody. The names of the
    workers are in the list, since it must say who is paid.
    """
    if path is None and reading != ReadingOptions():
        raise ParameterError("options that say how votes are read need the votes; name their file after the ledger.")
    with Account.open(ledger, create=False) as account:
        if path is not None:
            tell_answers(account.note_answers(votes_so_far(reading, path)))
        people = chosen(account.workers(), worker)
        payments = due_now(people, account.decimals, in_cents=prolific is not None)
        if prolific is not None:
            write_prolific(prolific, payments, account.decimals)
        listed = table([each for each in people if each.due or each.waiting], account)
        if as_json:
            print_json({**amounts(account), "marked_paid": mark_paid, "workers": table(people, account).to_pylist()})
        if rows.is_wanted_beside(as_json):
            rows.write(listed)
        if mark_paid:
            account.pay(payments)
        account.save()
        total = account.text(sum(payments.values()))
        say(f"{total} {'recorded as paid' if mark_paid else 'due'} to {counted(len(payments), 'worker')}")
        tell_balance(account)


def chosen(people: Sequence[WorkerAccount], wanted: Sequence[str] | None) -> list[WorkerAccount]:
    """Those who are wanted, or everybody; each must be on record."""
    names = {each.worker for each in people}
    for name in wanted or ():
        if name not in names:
            raise InputError(f"--worker must name somebody on record; {name!r} is none of {len(names):,} workers.")
    return [each for each in people if wanted is None or each.worker in wanted]


def write_prolific(path: Path, payments: Mapping[str, int], decimals: int) -> None:
    """Write the list, and point out names that cannot be ids of Prolific."""
    check_prolific_names(payments, "Name the others with --worker.")
    strange = [worker for worker in payments if not PROLIFIC_ID.fullmatch(worker)]
    with whole_file(path) as temporary:
        temporary.write_text(prolific_lines(payments, decimals), encoding="utf-8", newline="")
    say(f"wrote {counted(len(payments), 'bonus', 'bonuses')} to {path}")
    if strange:
        say(
            f"warning: {counted(len(strange), 'name')} in it, {strange[0]!r} for one, cannot be an id of Prolific (24 "
            "hexadecimal digits); --worker lists some workers only"
        )


def table(people: Sequence[WorkerAccount], account: Account) -> pa.Table:
    """One row per worker: questions answered and waiting, money paid, due and reserved."""
    money = pa.float64() if account.decimals else pa.int64()
    kinds = {"worker": pa.string(), "answered": pa.int64(), "paid": money, "due": money, "waiting": pa.int64(),
             "reserved": money}  # fmt: skip

    def cells(name: str) -> list[Any]:
        values = [getattr(each, name) for each in people]
        return [account.amount(value) for value in values] if name in ("paid", "due", "reserved") else values

    return pa.table({name: pa.array(cells(name), kind) for name, kind in kinds.items()})


def counted(n: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> counted(1, "worker"), counted(1200, "worker"), counted(2, "bonus", "bonuses")
    ('1 worker', '1,200 workers', '2 bonuses')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"
