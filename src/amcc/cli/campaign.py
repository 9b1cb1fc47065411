"""amcc campaign: a live campaign from the command line, also while `amcc serve` runs.

Everything goes through `amcc.serve.service.Service`, as on the dashboard; this file and those beside it
(`campaign_new`, `campaign_webhook`) only parse and print. Workers may be named by pseudonym or by the name on the
requester's own list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer

from amcc.active.payouts import due_now
from amcc.cli.campaign_new import change, invite, new
from amcc.cli.campaign_webhook import webhook
from amcc.cli.console import DASH, busy, say, screen, titled_table
from amcc.cli.lazy import prepared
from amcc.cli.live import CLIENT, HERE, SERVE, Folder, Reason, Url, actor, address_of, check_database, is_named, opened
from amcc.cli.output import Json, RowsOutput, print_json
from amcc.cli.paths import FILE, FOLDER, READS, TABLE
from amcc.cli.pay import MarkPaid, OnlyWorkers, Prolific, counted, write_prolific
from amcc.errors import InputError, ParameterError

if TYPE_CHECKING:
    from amcc.serve.service import Service
    from amcc.serve.views import Payment, Status

Worker = Annotated[str, typer.Argument(metavar="WORKER", help="Pseudonym, or the name on your own list.")]


# -- how it goes -------------------------------------------------------------------------------------------------------


def status(
    *,
    folder: Folder,
    workers: Annotated[bool, typer.Option("--workers", help="Also a row for each worker.")] = False,
    as_json: Json = False,
) -> None:
    """Say how a campaign goes: money, settled pairs, expected and measured error, labels, and proposals to block."""
    with opened(folder) as service:
        with busy("Looking"):
            now = service.status()
        if as_json:
            print_json(_as_json(now, service))
            return
        screen.print(titled_table([], _summary(now, service)))
        rows = [[each.label, f"{each.n_votes:,}", _share(each.n_yes, each.n_votes), f"{each.settled:,}",
                 f"{each.expected_error:.1%}"] for each in now.labels]  # fmt: skip
        screen.print(titled_table(["label", "votes", "yes", "settled", "expected error"], rows))
        if workers:
            screen.print(titled_table(["worker", "kind", "state", "answers", "earned", "skill", "checks right"],
                                      _worker_rows(now, service)))  # fmt: skip
    for each in now.workers:
        if each.propose_block and each.state == "active":
            say(f"proposal: amcc campaign block {folder} {each.name} --reason … ({each.propose_block})")
    say(*(f"warning: {each}" for each in now.warnings))


def pause(*, folder: Folder, reason: Reason = "", end: Annotated[
    bool, typer.Option("--end", help="For good: workers see the end page with the completion code.")
] = False) -> None:  # fmt: skip
    """Hand out no more pages; those that people have open can still be answered, and are paid."""
    with opened(folder) as service:
        (service.end if end else service.pause)(actor(), reason)
        say(f"{'ended' if end else 'paused'}; {counted(service.status().open_leases, 'page')} still open")


def resume(*, folder: Folder, reason: Reason = "") -> None:
    """Hand out pages again."""
    with opened(folder) as service:
        service.resume(actor(), reason)
    say("running")


# -- results and money -------------------------------------------------------------------------------------------------


def export(
    *,
    folder: Folder,
    votes: Annotated[Path | None, typer.Option(help="Write worker,item,label,value of all votes."), TABLE] = None,
    skips: Annotated[Path | None, typer.Option(help="Write who could not tell, and where."), TABLE] = None,
    checks: Annotated[
        Path | None, typer.Option(help="Write answers to questions whose truth was known; they are no votes."), TABLE
    ] = None,
    consensus: Annotated[
        Path | None, typer.Option(help="Write item,label,probability,present,settled, fitted anew."), TABLE
    ] = None,
    method: Annotated[str, typer.Option("--method", "-m", help="By which consensus is found.")] = "amcc",
    payments: Annotated[Path | None, typer.Option(help="Write who gets what."), TABLE] = None,
) -> None:
    """Write votes, consensus and payments, also while the campaign runs; workers are pseudonyms, but for payments."""
    if all(each is None for each in (votes, skips, checks, consensus, payments)):
        raise ParameterError("what to write must be said; give --votes, --consensus or --payments with a file.")
    if votes is None and (skips or checks):
        raise ParameterError("--skips and --checks are written beside the votes; give --votes too.")
    with opened(folder) as service:
        # First, as it is what can fail: where nobody has answered yet, nothing is written.
        if consensus is not None:
            with busy("Finding the consensus"):
                n = service.export_consensus(consensus, method=method)
            say(f"wrote {n:,} rows to {consensus}")
        if votes is not None:
            n = service.export_votes(votes, skips=skips, checks=checks)
            say(f"wrote {counted(n, 'vote')} to {votes}")
        if payments is not None:
            say(f"wrote {counted(service.export_payments(payments), 'worker')} to {payments}")


def pay(
    *,
    folder: Folder,
    worker: OnlyWorkers = None,
    prolific: Prolific = None,
    mark_paid: MarkPaid = False,
    rows: RowsOutput,
    as_json: Json = False,
) -> None:
    """List who gets what; writes worker,pseudonym,answered,paid,due. Lists are written before payments are recorded."""
    with opened(folder) as service:
        people = _chosen(service, worker)
        amounts = _due(people, service, in_cents=prolific is not None)
        if prolific is not None:
            names = {each.worker: each.identity for each in people}
            unknown = [name for name in amounts if names[name] is None]
            if unknown:
                raise InputError(
                    f"whom Prolific pays must be known; nobody knows who {', '.join(unknown[:5])} is (any more). Pay "
                    "the others with --worker."
                )
            write_prolific(prolific, {str(names[name]): units for name, units in amounts.items()},
                           service.settings.decimals)  # fmt: skip
        listed = _payment_table([each for each in people if each.due or each.paid], service)
        if as_json:
            print_json({"marked_paid": mark_paid, "workers": listed.to_pylist()})
        if rows.is_wanted_beside(as_json):
            rows.write(listed)
        if mark_paid and amounts:
            service.pay(amounts, actor=actor())
        total = service.text(sum(amounts.values()))
        say(f"{total} {'recorded as paid' if mark_paid else 'due'} to {counted(len(amounts), 'worker')}")


# -- keeping -----------------------------------------------------------------------------------------------------------


def verify(*, folder: Folder, as_json: Json = False) -> None:
    """Check the ledger line by line, all sums, and every vote; exit code 2 where something does not hold."""
    with opened(folder) as service, busy("Checking"):
        problems, head = service.verify(), service.status().head
    if as_json:
        print_json({"head": head, "problems": [{"where": each.where, "what": each.what} for each in problems]})
    else:
        for each in problems:
            screen.print(f"{each.where}: {each.what}", soft_wrap=True)
        say(f"{counted(len(problems), 'problem')}" if problems else f"all holds; the ledger ends with {head}")
    if problems:
        raise typer.Exit(2)


def backup(
    *,
    folder: Folder,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write."), FILE],
    as_json: Json = False,
) -> None:
    """Write a whole campaign to one file, also while it is served. It holds names: keep it as safe as the campaign."""
    with opened(folder) as service, busy("Copying"):
        path = service.backup(output)
    if as_json:
        print_json({"backup": str(path), "bytes": path.stat().st_size})
    say(f"wrote {path} ({path.stat().st_size:,} bytes)")


def restore(
    *,
    path: Annotated[Path, typer.Argument(metavar="BACKUP", help="File that amcc campaign backup wrote."), READS],
    folder: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="Folder to make."), FOLDER],
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="An empty PostgreSQL database. Default: SQLite, in the folder.")
    ] = None,
) -> None:
    """Make a campaign from a backup, in a new folder, and check it: the same ledger, votes, links and password."""
    SERVE.check("amcc campaign restore")
    check_database(database)
    from amcc.serve.service import Service
    from amcc.serve.service import restore as from_backup

    with busy("Restoring"):
        from_backup(path, folder, database=database)
        with Service.open(folder) as service:
            problems, now = service.verify(), service.status()
    if problems:
        raise InputError(f"{path} must hold a campaign that adds up; {problems[0].where}: {problems[0].what}")
    say(f"restored {counted(now.n_votes, 'vote')} to {folder}; the ledger ends with {now.head}")


# -- people ------------------------------------------------------------------------------------------------------------


def block(
    *,
    folder: Folder,
    worker: Worker,
    reason: Reason = "",
    undo: Annotated[bool, typer.Option("--undo", help="Pages for this worker again.")] = False,
) -> None:
    """Hand a worker no more pages; a reason must be given. What they answered stays, is paid, and counts as before."""
    if not undo and not reason.strip():
        raise ParameterError("--reason must say why somebody is blocked; it is kept in the log.")
    with opened(folder) as service:
        if undo:
            service.unblock(worker, actor(), reason)
        else:
            service.block(worker, reason, actor())
    say(f"{worker} is {'no longer ' * undo}blocked")


def forget(
    *, folder: Folder, worker: Worker, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> None:
    """Delete who a worker is, and their links; answers and money stay under the pseudonym. It cannot be undone."""
    with opened(folder) as service:
        due = sum(each.due for each in service.payments() if is_named(each, worker))
        if due:
            say(f"warning: {service.text(due)} is due to {worker}; after this nobody knows to whom to pay it")
        if not yes and not typer.confirm(f"Delete who {worker} is?", err=True):
            say("nothing was deleted")
            raise typer.Exit(1)
        service.forget(worker, actor())
    say(f"it is deleted who {worker} was. Backups made before still know it: see docs/campaigns-privacy.md")


# -- practising --------------------------------------------------------------------------------------------------------


def simulate(
    *,
    folder: Folder,
    url: Url = HERE,
    workers: Annotated[int, typer.Option(min=1, max=500, help="How many work at once.")] = 10,
    pages: Annotated[int, typer.Option(min=1, max=1_000_000, help="Pages of all together, at most.")] = 1000,
    seconds: Annotated[float, typer.Option(min=0.1, max=86400, help="Time, at most.")] = 60.0,
    pause_seconds: Annotated[float, typer.Option("--pause", min=0, help="Seconds that a page takes them.")] = 0.2,
    truth: Annotated[
        Path | None, typer.Option(help="Table item,label,truth that they see, more or less. Default: made up."), READS
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same people.")] = 0,
    as_json: Json = False,
) -> None:
    """Let simulated workers answer at a running server: to practise, or to try a campaign before people come.

    Their answers are votes and cost money like any others: do it on a copy, or on a campaign made for it.
    """
    CLIENT.check("amcc campaign simulate")
    from amcc.serve.client import check_answers_at
    from amcc.serve.simulated import Crowd, read_answers

    address = address_of(url)
    known = read_answers(truth) if truth else {}
    check_answers_at(address)  # before anybody is invited for nothing
    with opened(folder) as service:
        links = service.invite([f"simulated-{seed}-{n}" for n in range(workers)], kind="human", actor=actor())
    crowd = Crowd(address, [each.token for each in links], known, seed=seed, pause=pause_seconds)
    with busy("Working") as progress:
        done = crowd.run(pages, seconds, lambda now: progress(f"{now.pages:,} pages, {now.answers:,} answers"))
    if as_json:
        print_json(done.as_json())
    say(
        f"{counted(done.pages, 'page')} with {counted(done.answers, 'answer')} in {done.seconds:.1f} s by "
        f"{counted(workers, 'worker')}; they stopped because {done.why}"
    )


COMMANDS: dict[str, tuple[Callable[..., None], str]] = {
    "new": (
        new,
        "amcc campaign new pets --items items.csv --labels labels.csv --budget 200.00 --currency EUR --price 0.02 "
        "--page-price 0.01",
    ),
    "invite": (invite, "amcc campaign invite pets --workers workers.csv -o links.csv"),
    "status": (status, "amcc campaign status pets --workers"),
    "pause": (pause, "amcc campaign pause pets --reason 'a question was unclear'"),
    "resume": (resume, "amcc campaign resume pets"),
    "change": (change, "amcc campaign change pets --add-budget 50 --price 0.03"),
    "export": (export, "amcc campaign export pets --votes votes.csv --consensus consensus.csv --payments payments.csv"),
    "pay": (pay, "amcc campaign pay pets --prolific bonus.csv --mark-paid"),
    "verify": (verify, "amcc campaign verify pets"),
    "backup": (backup, "amcc campaign backup pets -o pets.backup"),
    "restore": (restore, "amcc campaign restore pets.backup pets-again"),
    "block": (block, "amcc campaign block pets wabcdefgh --reason 'says yes to everything'"),
    "forget": (forget, "amcc campaign forget pets wabcdefgh"),
    "webhook": (webhook, "amcc campaign webhook pets --add https://hooks.example.org/amcc --event campaign.ended"),
    "simulate": (simulate, "amcc campaign simulate pets --workers 10 --pages 500"),
}
campaign: typer.Typer = typer.Typer(
    help="Live campaigns: make one, invite workers, see how it goes, pay, export, check and keep it.",
    no_args_is_help=True,
    add_completion=False,  # amcc itself has it
)
for _name, (_command, _example) in COMMANDS.items():
    campaign.command(_name, epilog=f"Example: {_example}")(prepared(_command))


# -- what is printed ---------------------------------------------------------------------------------------------------


def _summary(now: Status, service: Service) -> list[tuple[str, str]]:
    """The campaign in a list of names and values."""
    text, money = service.text, now.money
    error = f"{now.expected_error:.1%}"
    if now.audited.n and now.audited.low is not None and now.audited.high is not None:
        error += (
            f"; {now.audited.share:.1%} of {counted(now.audited.n, 'audit answer')} disagree "
            f"({now.audited.low:.1%} to {now.audited.high:.1%})"
        )
    rows = [
        ("campaign", f"{now.title or now.name}, {now.state}"),
        ("money", f"{text(money.budget)} {now.currency}: {text(money.paid)} paid, {text(money.due)} due, "
                  f"{text(money.reserved)} reserved, {text(money.left)} left"),
        ("asked", f"{counted(now.n_pages, 'page')}, {counted(now.n_votes, 'vote')}, {counted(now.n_skips, 'skip')}, "
                  f"{counted(now.n_checks, 'check')}, {counted(now.open_leases, 'page')} open"),
        ("people", counted(now.n_workers, "worker")),
        ("settled", f"{now.settled:,} of {now.n_pairs:,} pairs ({now.settled_share:.1%}); of the asked pairs called "
                    f"present {_percent(now.settled_present)}, of those called absent {_percent(now.settled_absent)}; "
                    f"as of {counted(now.fitted_votes, 'vote')}"),
        ("expected error", f"{error}; as of {counted(now.fitted_votes, 'vote')}"),
        ("basis", now.settling),
    ]  # fmt: skip
    if now.reference:
        rows.append(("reference", now.reference))
    if now.next_money is not None:
        pairs = round(now.next_money.settled_pairs)
        settles = counted(pairs, "pair") if now.next_money.settled_pairs >= 1 else "less than one pair"
        rows.append((f"the next {text(now.next_money.money)}", f"is expected to settle {settles}"))
    return rows


def _worker_rows(now: Status, service: Service) -> list[list[str]]:
    return [
        [each.name, each.kind, each.state, f"{each.answers:,}", service.text(each.earned),
         DASH if each.skill is None else f"{each.skill:.2f}", _share(each.checks_right, each.checks)]
        for each in now.workers
    ]  # fmt: skip


def _percent(share: float | None) -> str:
    """A share that was measured, or a dash."""
    return DASH if share is None else f"{share:.0%}"


def _share(part: int, whole: int) -> str:
    """A share, or a dash of nothing."""
    return f"{part / whole:.0%}" if whole else DASH


def _as_json(now: Status, service: Service) -> dict[str, Any]:
    """What scripts want: money as people write it, and no items."""
    from amcc.active.prices import as_number

    def amount(units: int) -> float:
        return as_number(units, now.decimals)

    kept = ("name", "title", "state", "currency", "n_items", "n_labels", "n_workers", "n_votes", "n_skips", "n_checks",
            "n_pages", "open_leases", "n_pairs", "settled", "settled_present", "settled_absent", "fitted_votes",
            "settling", "reference", "known", "expected_error", "head")  # fmt: skip
    money = {name: amount(getattr(now.money, name)) for name in ("budget", "paid", "due", "reserved", "left")}
    people = [
        {"worker": each.name, "kind": each.kind, "state": each.state, "answers": each.answers, "skips": each.skips,
         "earned": amount(each.earned), "paid": amount(each.paid), "skill": each.skill, "checks": each.checks,
         "checks_right": each.checks_right, "propose_block": each.propose_block}
        for each in now.workers
    ]  # fmt: skip
    labels = [{"label": each.label, "votes": each.n_votes, "yes": each.n_yes, "settled": each.settled,
               "expected_error": each.expected_error} for each in now.labels]  # fmt: skip
    audit = {"answers": now.audited.n, "disagree": now.audited.wrong, "low": now.audited.low, "high": now.audited.high}
    return {**{name: getattr(now, name) for name in kept}, "money": money, "audit": audit, "labels": labels,
            "workers": people, "warnings": list(now.warnings)}  # fmt: skip


def _chosen(service: Service, wanted: Sequence[str] | None) -> list[Payment]:
    """Those who are wanted, or everybody."""
    people = service.payments()
    for name in wanted or ():
        if not any(is_named(each, name) for each in people):
            raise InputError(f"--worker must name somebody who earned something; {name!r} has not, or is nobody here.")
    return [each for each in people if wanted is None or any(is_named(each, name) for name in wanted)]


def _due(people: Sequence[Payment], service: Service, *, in_cents: bool) -> dict[str, int]:
    """Minor units by pseudonym, of those who are due something; `in_cents`: what is less than a cent stays due."""
    from amcc.active.bookkeeping import WorkerAccount

    accounts = [WorkerAccount(each.worker, earned=each.earned, paid=each.paid) for each in people]
    return due_now(accounts, service.settings.decimals, in_cents=in_cents)


def _payment_table(people: Sequence[Payment], service: Service) -> pa.Table:
    """One row per worker; who they are stands first, as on the requester's own list."""
    from amcc.active.prices import as_number

    decimals = service.settings.decimals
    money = pa.float64() if decimals else pa.int64()
    return pa.table(
        {
            "worker": pa.array([each.identity for each in people], pa.string()),
            "pseudonym": pa.array([each.worker for each in people], pa.string()),
            "answered": pa.array([each.answered for each in people], pa.int64()),
            "paid": pa.array([as_number(each.paid, decimals) for each in people], money),
            "due": pa.array([as_number(each.due, decimals) for each in people], money),
        }
    )
