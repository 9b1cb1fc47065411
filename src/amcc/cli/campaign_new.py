"""amcc campaign new, change and invite: what a requester sets, and whom they ask."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa
import typer

from amcc.cli.console import busy, say, screen
from amcc.cli.live import HERE, SERVE, Folder, Reason, Url, actor, address_of, check_database, opened, password_from
from amcc.cli.options.groups import OptionGroup
from amcc.cli.output import Json, RowsOutput, print_json
from amcc.cli.paths import FOLDER, READS
from amcc.cli.pay import counted
from amcc.errors import ParameterError
from amcc.files import check_is_file

if TYPE_CHECKING:
    from amcc.serve.service import Service
    from amcc.serve.views import Link

Platform = Literal["prolific", "other"]

# Days that a link is valid, at most: ten years, longer than any study.
MOST_DAYS = 3650

PasswordFile = Annotated[
    Path | None,
    typer.Option(
        help="File with the password for the dashboard, in one line. Default: asked for at a terminal, else made and "
        "shown once."
    ),
    READS,
]


@dataclass(frozen=True)
class TextOptions(OptionGroup):
    """What workers read."""

    title: Annotated[str | None, typer.Option(help="Heading of the pages.")] = None
    instructions: Annotated[
        Path | None, typer.Option(help="File with instructions for workers, plain text or Markdown."), READS
    ] = None
    completion_code: Annotated[str | None, typer.Option(help="Code that workers see at the end.")] = None
    completion_url: Annotated[
        str | None, typer.Option(help="Address at the platform to which they go back at the end.")
    ] = None
    language: Annotated[
        list[str] | None, typer.Option(help="Language of the pages: en, de, es, zh. May be repeated. Default: all.")
    ] = None

    def settings(self) -> dict[str, Any]:
        """Those that were given, as the campaign names them."""
        given: dict[str, Any] = {
            "title": self.title,
            "completion_code": self.completion_code,
            "completion_url": self.completion_url,
        }
        if self.instructions is not None:
            check_is_file(self.instructions)
            given["instructions"] = self.instructions.read_text(encoding="utf-8")
        if self.language:
            given["languages"] = tuple(self.language)
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class RuleOptions(OptionGroup):
    """How pages are handed out; what is not given keeps its default, or what it was."""

    most_labels: Annotated[int | None, typer.Option(help="Questions on a page, at most. Default: 8.")] = None
    lease_minutes: Annotated[
        float | None, typer.Option(help="How long a page waits for its answers; then its money is free. Default: 30.")
    ] = None
    audit_share: Annotated[
        float | None, typer.Option(help="Share of pages whose item is drawn at random, to measure. Default: 0.05.")
    ] = None
    check_share: Annotated[
        float | None, typer.Option(help="Share of pages about known truth, to see who guesses. Default: 0.05.")
    ] = None
    worker_cap: Annotated[
        float | None, typer.Option(help="Share of the budget that one worker can earn, at most. Default: 1.")
    ] = None
    pages_per_worker: Annotated[
        int | None,
        typer.Option(help="Pages that one worker can answer, at most; 0: as many as there are, which is the default."),
    ] = None
    open_leases_per_pair: Annotated[
        int | None, typer.Option(help="Workers who may have a question about a pair open at once. Default: 1.")
    ] = None
    max_workers: Annotated[
        int | None, typer.Option(help="Workers who may come from a platform, at most. Default: 10,000.")
    ] = None
    pay_skips: Annotated[
        bool | None, typer.Option("--pay-skips/--no-pay-skips", help="Pay “cannot tell” like an answer. Default: yes.")
    ] = None

    def settings(self) -> dict[str, Any]:
        """Those that were given, as the campaign names them."""
        names = ("most_labels", "audit_share", "check_share", "worker_cap", "pages_per_worker", "open_leases_per_pair",
                 "max_workers", "pay_skips")  # fmt: skip
        given = {name: getattr(self, name) for name in names}
        if self.lease_minutes is not None:
            if not math.isfinite(self.lease_minutes):
                raise ParameterError(f"--lease-minutes must be a number of minutes; got {self.lease_minutes}.")
            given["lease_seconds"] = round(self.lease_minutes * 60)
        return {name: value for name, value in given.items() if value is not None}


def new(
    *,
    folder: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="Folder to make."), FOLDER],
    items: Annotated[
        Path,
        typer.Option(help="Table item and text, image, audio, url or html; files are looked for beside it."),
        READS,
    ],
    labels: Annotated[Path, typer.Option(help="Table label, question, help."), READS],
    budget: Annotated[str, typer.Option(help="Money for everything: never is more spent, due and reserved.")],
    price: Annotated[str, typer.Option(help="Of an answer.")],
    page_price: Annotated[str, typer.Option(help="Of a page, beside its answers.")] = "0",
    currency: Annotated[str, typer.Option(help="How amounts are called: EUR.")] = "",
    decimals: Annotated[int, typer.Option(help="Digits after the point of amounts.")] = 2,
    truth: Annotated[
        Path | None,
        typer.Option(help="Table item,label,truth of what is known: for check pages and the learner."),
        READS,
    ] = None,
    workers: Annotated[
        Path | None, typer.Option(help="Table worker,kind,family,price,page_price, if it is known who works."), READS
    ] = None,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="An empty PostgreSQL database. Default: SQLite, in the folder.")
    ] = None,
    password_file: PasswordFile = None,
    texts: TextOptions,
    rules: RuleOptions,
    as_json: Json = False,
) -> None:
    """Make a campaign from a table of items and one of labels: a folder with its database, secret and settings."""
    SERVE.check("amcc campaign new")
    from amcc.serve.service import Service, new_campaign

    check_database(database)
    password, made = password_from(password_file)
    with busy("Making the campaign"):
        new_campaign(
            folder, items=items, labels=labels, budget=budget, decimals=decimals, currency=currency, price=price,
            page_price=page_price, workers=workers, truth=[truth] if truth else (), password=password,
            database=database, **texts.settings(), **rules.settings(),
        )  # fmt: skip
    with Service.open(folder) as service:
        _tell_made(service, folder, password if made else None, as_json=as_json)


def _tell_made(service: Service, folder: Path, password: str | None, *, as_json: bool) -> None:
    """Say what was made, and the password where we made that, too."""
    about = service.status()
    if as_json:
        told = {"campaign": str(folder), "items": about.n_items, "labels": about.n_labels, "pairs": about.n_pairs}
        print_json({**told, **({"password": password} if password else {})})
        return
    money = f"{service.text(service.balance.budget)} {service.settings.currency}".strip()
    screen.print(
        f"{folder}: {counted(about.n_items, 'item')}, {counted(about.n_labels, 'label')}, a budget of {money}.",
        soft_wrap=True,
    )
    if password:
        screen.print(f"The password for the dashboard, shown this once: {password}", soft_wrap=True)
    say(f"Next: amcc campaign invite {folder} --workers workers.csv; amcc serve {folder}")


def change(
    *,
    folder: Folder,
    add_budget: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="More money, or with a minus less, down to what is bound.")
    ] = None,
    price: Annotated[str | None, typer.Option(help="Of an answer, for new pages.")] = None,
    page_price: Annotated[str | None, typer.Option(help="Of a page beside its answers, for new pages.")] = None,
    worker: Annotated[str | None, typer.Option(help="With a price: of this worker only.")] = None,
    add_items: Annotated[Path | None, typer.Option(help="Further items, a table as for new."), READS] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Other questions and helps of the same labels, a table as for new."), READS
    ] = None,
    new_password: Annotated[
        Path | None, typer.Option(help="File with another password for the dashboard; it ends all sessions."), READS
    ] = None,
    texts: TextOptions,
    rules: RuleOptions,
    reason: Reason = "",
) -> None:
    """Change a campaign, also while it runs: budget, prices, items, questions, texts and rules."""
    settings = {**texts.settings(), **rules.settings()}
    steps = (add_budget, price, page_price, add_items, labels, new_password)
    if not settings and all(each is None for each in steps):
        raise ParameterError("what to change must be said; got no option. See amcc campaign change --help.")
    if worker is not None and price is None and page_price is None:
        raise ParameterError("--worker names whose price changes; give --price, --page-price or both.")
    with opened(folder) as service:
        if settings:  # first: it is checked as a whole
            service.change(actor=actor(), reason=reason, **settings)
            say(f"changed: {', '.join(settings)}")
        if price is not None or page_price is not None:
            service.set_price(worker=worker, vote_price=price, page_price=page_price, actor=actor())
            say(f"new prices for {worker or 'everybody without a price of their own'}, from the next page on")
        if add_items is not None:
            say(f"{counted(service.add_items(add_items, actor=actor()), 'item')} more")
        if labels is not None:
            say(f"questions of {counted(service.change_labels(labels, actor=actor()), 'label')} replaced")
        if new_password is not None:
            service.set_password(password_from(new_password)[0], actor=actor())
            say("the password is another one now; who was signed in must sign in again")
        if add_budget is not None:
            now = service.add_budget(add_budget, actor=actor())
            say(f"the budget is {service.text(now.budget)} now, {service.text(now.left)} left")


def invite(
    *,
    folder: Folder,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Whom to invite.")] = None,
    workers: Annotated[
        Path | None,
        typer.Option(help="Table worker,kind,family,price,page_price; all but worker may be missing."),
        READS,
    ] = None,
    kind: Annotated[
        Literal["human", "model", "code"], typer.Option(help="What those on the command line are.")
    ] = "human",
    family: Annotated[str, typer.Option(help="Of models: those of one family share errors.")] = "",
    days: Annotated[float, typer.Option(help="How long links are valid.")] = 30.0,
    platform: Annotated[
        Platform | None, typer.Option(help="Instead: one address for everybody whom a platform sends.")
    ] = None,
    worker_param: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the platform calls the parameter that says who comes.")
    ] = None,
    url: Url = HERE,
    rows: RowsOutput,
    as_json: Json = False,
) -> None:
    """Invite workers: one signed link each (writes worker,pseudonym,link,expires), or one address for a platform.

    Whoever was invited before keeps their pseudonym and gets a new link; their older links end.
    """
    address = address_of(url)
    by_platform = platform is not None or worker_param is not None
    if sum((bool(names), workers is not None, by_platform)) != 1:
        raise ParameterError("whom to invite must be said in one way: names, --workers, or --platform.")
    if not 0 < days <= MOST_DAYS:
        raise ParameterError(f"--days must be above 0 and at most {MOST_DAYS:,}; got {days:g}.")
    with opened(folder) as service:
        if by_platform:
            show_platform(service, platform, worker_param, address, as_json)
            return
        links = service.invite(
            names or None, path=workers, kind=kind, family=family, seconds=days * 86400, actor=actor()
        )
    if as_json:
        print_json({"links": [{**row, "token": link.token} for row, link in zip(
            table(links, address).to_pylist(), links, strict=True)]})  # fmt: skip
    if rows.is_wanted_beside(as_json):
        rows.write(table(links, address))
    say(f"{counted(len(links), 'link')}, each for one person: whoever has it works and is paid under that name")


def table(links: list[Link], address: str) -> pa.Table:
    """A row per link."""
    ends = [datetime.datetime.fromtimestamp(each.expires_at, datetime.UTC) for each in links]
    return pa.table(
        {
            "worker": pa.array([each.given for each in links], pa.string()),
            "pseudonym": pa.array([each.worker for each in links], pa.string()),
            "link": pa.array([f"{address}/w/{each.token}" for each in links], pa.string()),
            "expires": pa.array([f"{end:%Y-%m-%dT%H:%M:%SZ}" for end in ends], pa.string()),
        }
    )


def show_platform(
    service: Service, platform: Platform | None, worker_param: str | None, address: str, as_json: bool
) -> None:
    """Let everybody come whom the platform sends, and show the address for it."""
    from amcc.serve.settings import WORKER_PARAMS

    name = platform or "other"
    param = worker_param or WORKER_PARAMS.get(name)
    if param is None:
        raise ParameterError("--platform other must have --worker-param NAME: the parameter that says who comes.")
    service.change(actor=actor(), reason="invited by platform", platform=name, worker_param=param)
    # Prolific fills in what stands in {{% … %}}; others call it as they like.
    extra = "&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}" if name == "prolific" else ""
    who = "{{%PROLIFIC_PID%}}" if name == "prolific" else "WORKER"
    study = f"{address}/join?{param}={who}{extra}"
    if as_json:
        print_json({"platform": name, "worker_param": param, "url": study})
        return
    screen.print(study, soft_wrap=True)
    code = service.settings.completion_code
    say(
        "Give this address to the platform." + (
            "" if code else " There is no completion code yet: amcc campaign change --completion-code CODE sets one."
        )
    )  # fmt: skip
