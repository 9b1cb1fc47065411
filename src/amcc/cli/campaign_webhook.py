"""amcc campaign webhook: addresses that are told what happens in a campaign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from amcc.cli.console import busy, say, screen, titled_table
from amcc.cli.live import CLIENT, Folder, actor, opened
from amcc.cli.output import Json, print_json
from amcc.errors import ParameterError

if TYPE_CHECKING:
    from amcc.serve.service import Service


def webhook(
    *,
    folder: Folder,
    add: Annotated[str | None, typer.Option(metavar="URL", help="Tell this address what happens.")] = None,
    event: Annotated[
        list[str] | None, typer.Option(help="With --add: only this event. May be repeated. Default: all.")
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="With --add: it may be in your own network, and without TLS.")
    ] = False,
    test: Annotated[int | None, typer.Option(metavar="N", help="Send a test to webhook N now.")] = None,
    remove: Annotated[int | None, typer.Option(metavar="N", help="Tell webhook N nothing more.")] = None,
    as_json: Json = False,
) -> None:
    """Tell other programs what happens, by signed requests; without an option: list who is told.

    A test that does not arrive ends with exit code 1.
    """
    if sum(each is not None for each in (add, test, remove)) > 1:
        raise ParameterError("one thing at a time must be asked for: --add, --test or --remove.")
    if add is None and (event or private):
        raise ParameterError("--event and --private say something about a new webhook; give --add URL too.")
    with opened(folder) as service:
        if add is not None:
            _add(service, add, event or [], private=private, as_json=as_json)
        elif test is not None:
            _test(service, test, as_json=as_json)
        elif remove is not None:
            service.remove_webhook(remove, actor=actor())
            say(f"webhook {remove} is removed, with what was waiting for it")
        else:
            _list(service, as_json=as_json)


def _add(service: Service, url: str, events: list[str], *, private: bool, as_json: bool) -> None:
    number, secret = service.add_webhook(url, events=events, private=private, actor=actor())
    if as_json:
        print_json({"webhook": number, "secret": secret})
        return
    screen.print(f"Webhook {number}. The secret that signs its requests, shown this once: {secret}", soft_wrap=True)
    say(f"Next: amcc campaign webhook {service.folder} --test {number}")


def _test(service: Service, number: int, *, as_json: bool) -> None:
    CLIENT.check("amcc campaign webhook --test")
    with busy("Sending"):
        outcome = service.test_webhook(number)
    if as_json:
        print_json({"webhook": number, "arrived": outcome.taken, "said": outcome.said})
    else:
        say(f"the test {'arrived' if outcome.taken else 'did not arrive'}: {outcome.said}")
    if not outcome.taken:
        raise typer.Exit(1)


def _list(service: Service, *, as_json: bool) -> None:
    found = service.webhooks()
    if as_json:
        print_json({"webhooks": [vars(each) for each in found]})
        return
    rows = [[str(each.id), each.url, f"{each.sent:,}", f"{each.waiting:,}", f"{each.lost:,}", each.said]
            for each in found]  # fmt: skip
    screen.print(titled_table(["", "address", "sent", "waiting", "lost", "last try"], rows) if rows else "no webhooks")
