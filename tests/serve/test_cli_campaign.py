"""amcc campaign: every command as people type it, right and wrong."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from receiver import receiving

from amcc.cli.campaign import _summary
from amcc.errors import InputError
from amcc.serve.service import Service
from amcc.serve.views import NextMoneyView, WorkPage
from running import amcc, run_amcc, said

ITEMS = "item,text\na,a red cat\nb,a big dog\nc,nothing at all\nd,a dog and a cat\n"
LABELS = "label,question,help\ncat,Is there a cat?,any cat\ndog,Is there a dog?,\n"
MONEY = ("--budget", "20.00", "--currency", "EUR", "--price", "0.02", "--page-price", "0.01")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the files of a requester."""
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "labels.csv").write_text(LABELS)
    (tmp_path / "word").write_text("correct horse\n")
    (tmp_path / "workers.csv").write_text("worker,kind,family,price\nann,human,,0.03\nbot,model,gpt,0.01\n")
    return tmp_path


def new(place: Path, *more: object, code: int = 0, name: str = "pets", **files: str):
    files = {"items": "items.csv", "labels": "labels.csv", **files}
    options = [word for option, path in files.items() for word in (f"--{option}", path)]
    return amcc("campaign", "new", name, *options, *MONEY, "--password-file", "word", *more, code=code, cwd=place)


@pytest.fixture
def pets(place: Path) -> Path:
    new(place)
    return place / "pets"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def work(folder: Path, n_pages: int = 3, *names: str) -> None:
    """Some people answer some pages, without a server."""
    with Service.open(folder, server=True, learn=False) as service:
        for link in service.invite(names or ["zoe", "yan"], actor="test"):
            worker = service.worker_by_token(link.token)
            for _ in range(n_pages):
                page = service.next_page(worker.id)
                if not isinstance(page, WorkPage):
                    break
                answers = {each.label_id: "yes" if each.label in page.item.content else "no" for each in page.questions}
                service.answer(worker.id, page.lease_id, answers)


# -- new -----------------------------------------------------------------------------------------------------------


def test_a_campaign_is_made_of_two_tables(place):
    (place / "guide.md").write_text("# Look closely")
    (place / "known.csv").write_text("item,label,truth\na,cat,yes\n")
    run = new(place, "--instructions", "guide.md", "--truth", "known.csv", "--title", "Pets", "--lease-minutes", "5",
              "--no-pay-skips", "--completion-code", "C1")  # fmt: skip
    assert run.stdout == "pets: 4 items, 2 labels, a budget of 20.00 EUR.\n"
    with Service.open(place / "pets") as service:
        settings = service.settings
        assert (settings.vote_price, settings.page_price, settings.lease_seconds) == (2, 1, 300)
        assert (settings.title, settings.instructions, settings.pay_skips) == ("Pets", "# Look closely", False)
        assert service.check_password("correct horse")
        assert service.status().known == 1


def test_a_password_that_is_made_is_shown_once(place):
    options = ("--items", "items.csv", "--labels", "labels.csv", *MONEY)
    out, _ = said("campaign", "new", "pets", *options, cwd=place)
    password = out.rstrip().rpartition(" ")[2]
    told = json.loads(said("campaign", "new", "other", *options, "--json", cwd=place)[0])
    with Service.open(place / "pets") as service, Service.open(place / "other") as other:
        assert service.check_password(password) and not service.check_password(told["password"])
        assert other.check_password(told["password"])
    assert (told["items"], told["labels"], told["pairs"]) == (4, 2, 8)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("items", "text\nhello\n", "item"),
        ("items", "item,colour\na,red\n", "text"),
        ("items", "item,text\na,hello\nb,\n", "'b'"),
        ("items", "item,text\na,hello\na,again\n", "'a'"),
        ("items", "item,image\na,missing.png\n", "missing.png"),
        ("items", "item,image\na,../secret.png\n", "secret.png"),
        ("labels", "question\nwhat?\n", "label"),
        ("labels", "label,question\ncat,\n,Is it?\n", "label"),
        ("truth", "item,label,truth\nnowhere,cat,yes\n", "nowhere"),
    ],
)
def test_bad_tables_leave_nothing(place, name, text, words):
    (place / "bad.csv").write_text(text)
    run = new(place, code=2, **{name: "bad.csv"})
    assert words in run.stderr
    assert run.stderr.count("\n") == 1
    assert not (place / "pets").exists()
    assert not list(place.glob(".part*"))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--price", "0"), ("--price", "0.001"), ("--price", "-1"), ("--budget", "0"), ("--budget", "much"),
        ("--audit-share", "2"), ("--most-labels", "0"), ("--worker-cap", "0"), ("--lease-minutes", "0"),
        ("--lease-minutes", "nan"), ("--lease-minutes", "inf"), ("--language", "xx"), ("--worker-cap", "0.0001"),
        ("--pages-per-worker", "-1"), ("--open-leases-per-pair", "0"), ("--max-workers", "0"),
        ("--completion-url", "javascript:alert(1)"), ("--database", "mysql://x/y"),
    ],
)  # fmt: skip
def test_bad_settings_leave_nothing(place, option, value):
    more = ("--page-price", "0") if option == "--price" else ()
    run = new(place, option, value, *more, code=2)
    assert "error: " in run.stderr
    assert not (place / "pets").exists()


def test_a_folder_is_not_replaced(pets):
    assert "is there already" in new(pets.parent, code=2).stderr


def test_a_password_file_has_one_line(place):
    (place / "word").write_text("a\nb\n")
    assert "one line" in new(place, code=2).stderr
    (place / "word").write_text("short\n")
    assert "8" in new(place, code=2).stderr


def test_a_folder_that_is_no_campaign_is_told(place):
    for command in ("status", "verify", "pay", "pause"):
        assert "campaign.toml" in amcc("campaign", command, place, code=2).stderr


# -- people ----------------------------------------------------------------------------------------------------------


def test_everybody_gets_a_link_of_their_own(pets):
    out, notes = said(
        "campaign", "invite", pets, "--workers", "workers.csv", "--url", "https://s.example.org/", cwd=pets.parent
    )
    links = rows(out)
    assert [each["worker"] for each in links] == ["ann", "bot"]
    assert all(each["link"].startswith("https://s.example.org/w/") for each in links)
    assert "2 links" in notes
    with Service.open(pets) as service:
        worker = service.worker_by_token(links[1]["link"].rpartition("/")[2])
        assert (worker.name, worker.kind, worker.vote_price) == (links[1]["pseudonym"], "model", 1)
    again = json.loads(said("campaign", "invite", pets, "ann", "--json")[0])["links"]
    assert [each["pseudonym"] for each in again] == [links[0]["pseudonym"]]
    assert again[0]["link"].endswith(again[0]["token"])


def test_a_platform_has_one_address(pets):
    out, _ = said("campaign", "invite", pets, "--platform", "prolific", "--url", "https://s.example.org")
    assert out.startswith("https://s.example.org/join?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID=")
    told = json.loads(said("campaign", "invite", pets, "--platform", "other", "--worker-param", "PID", "--json")[0])
    assert told["worker_param"] == "PID"
    with Service.open(pets) as service:
        assert service.worker_by_platform({"PID": "someone"}).name.startswith("w")


@pytest.mark.parametrize(
    "options",
    [(), ("ann", "--platform", "prolific"), ("--platform", "other"), ("ann", "--days", "0"), ("ann", "--days", "1e9"),
     ("ann", "--days", "inf"), ("ann", "--url", "x")],
)  # fmt: skip
def test_bad_invitations(pets, options):
    assert "error: " in amcc("campaign", "invite", pets, *options, code=2).stderr
    with Service.open(pets) as service:
        assert service.status().n_workers == 0


def test_who_is_blocked_gets_no_page_until_it_is_undone(pets):
    amcc("campaign", "invite", pets, "ann")
    assert "--reason" in amcc("campaign", "block", pets, "ann", code=2).stderr
    amcc("campaign", "block", pets, "ann", "--reason", "guesses")
    states = {each["state"] for each in json.loads(said("campaign", "status", pets, "--json")[0])["workers"]}
    assert states == {"blocked"}
    amcc("campaign", "block", pets, "ann", "--undo")
    states = {each["state"] for each in json.loads(said("campaign", "status", pets, "--json")[0])["workers"]}
    assert states == {"active"}
    assert "'nobody'" in amcc("campaign", "block", pets, "nobody", "--reason", "x", code=2).stderr


def test_who_is_forgotten_is_nowhere_in_the_folder(pets):
    work(pets, 2, "zebedee-the-unmistakable")
    run = amcc("campaign", "forget", pets, "zebedee-the-unmistakable", "--yes")
    assert "is due to zebedee" in run.stderr
    assert not [path for path in pets.iterdir() if b"zebedee" in path.read_bytes()]
    assert amcc("campaign", "verify", pets).returncode == 0
    assert (
        "'zebedee-the-unmistakable'"
        in amcc("campaign", "forget", pets, "zebedee-the-unmistakable", "--yes", code=2).stderr
    )


# -- running -----------------------------------------------------------------------------------------------------------


def test_status_says_how_it_goes(pets):
    work(pets)
    out, _ = said("campaign", "status", pets, "--workers")
    assert "pets, running" in out
    told = json.loads(said("campaign", "status", pets, "--json")[0])
    money = told["money"]
    assert money["budget"] == 20 == pytest.approx(sum(money[name] for name in ("paid", "due", "reserved", "left")))
    assert told["n_votes"] > 0 and money["due"] > 0
    assert sum(each["earned"] for each in told["workers"]) == pytest.approx(money["due"])


def test_pause_and_resume(pets):
    def state() -> str:
        return json.loads(said("campaign", "status", pets, "--json")[0])["state"]

    amcc("campaign", "pause", pets, "--reason", "lunch")
    assert state() == "paused"
    amcc("campaign", "resume", pets)
    assert state() == "running"
    amcc("campaign", "pause", pets, "--end")
    assert state() == "ended"


def test_what_can_change_while_it_runs(pets):
    place = pets.parent
    (place / "more.csv").write_text("item,text\ne,one more\n")
    (place / "other.csv").write_text("label,question,help\ncat,Do you see a cat?,\ndog,Do you see a dog?,\n")
    (place / "new").write_text("another password\n")
    amcc("campaign", "change", pets, "--add-budget", "5", "--price", "0.03", "--title", "New",
         "--add-items", "more.csv",
         "--labels", "other.csv", "--new-password", "new", "--most-labels", "1",
         "--pages-per-worker", "20", cwd=place)  # fmt: skip
    with Service.open(pets) as service:
        assert (service.balance.budget, service.settings.vote_price, service.settings.title) == (2500, 3, "New")
        assert (service.settings.most_labels, service.settings.pages_per_worker) == (1, 20)
        assert service.status().n_items == 5
        assert service.labels()[0].question == "Do you see a cat?"
        assert service.check_password("another password")


def test_what_cannot_change(pets):
    work(pets)
    place = pets.parent
    (place / "renamed.csv").write_text("label,question,help\nkitten,Is there one?,\ndog,Is there a dog?,\n")
    (place / "again.csv").write_text("item,text\na,another text\n")
    before = json.loads(said("campaign", "status", pets, "--json")[0])
    for options in (
        (), ("--labels", "renamed.csv"), ("--add-items", "again.csv"), ("--add-budget", "-20"), ("--price", "0.001"),
        ("--worker", "zoe"), ("--audit-share", "3"), ("--price", "0"), ("--price", "0", "--page-price", "0"),
        ("--worker-cap", "0.0001"), ("--language", "xx"),
    ):  # fmt: skip
        told = amcc("campaign", "change", pets, *options, code=2, cwd=place).stderr
        assert "error: " in told and "--decimals" not in told  # which cannot be changed any more
    assert json.loads(said("campaign", "status", pets, "--json")[0]) == before


def test_people_can_be_paid_by_the_page_alone_where_it_is_said(pets):
    with Service.open(pets) as service:
        with pytest.raises(InputError, match="must come with the price of a page"):
            service.set_price(vote_price="0", actor="test")
        assert (service.settings.vote_price, service.settings.page_price) == (2, 1)
    amcc("campaign", "change", pets, "--price", "0", "--page-price", "0.05")
    with Service.open(pets) as service:
        assert (service.settings.vote_price, service.settings.page_price) == (0, 5)


# -- results -----------------------------------------------------------------------------------------------------------


def test_a_consensus_where_nobody_has_answered_writes_nothing(pets, place):
    run = amcc("campaign", "export", pets, "--votes", "v.csv", "--consensus", "m.csv", code=2, cwd=place)
    assert "nobody has answered yet" in run.stderr
    assert not (place / "v.csv").exists() and not (place / "m.csv").exists()


@pytest.mark.parametrize(("pairs", "told"), [(0.02, "less than one pair"), (1.2, "1 pair"), (3.6, "4 pairs")])
def test_what_the_next_money_settles_is_said_in_words(pets, pairs, told):
    with Service.open(pets) as service:
        now = replace(service.status(), next_money=NextMoneyView(100, pairs, 0.0, 0.1))
        assert ("the next 1.00", f"is expected to settle {told}") in _summary(now, service)


def test_exports_are_what_other_commands_read(pets):
    work(pets, 4)
    place = pets.parent
    amcc("campaign", "export", pets, "--votes", "v.csv", "--skips", "s.csv", "--checks", "c.csv",
         "--consensus", "k.csv",
         "--payments", "p.csv", "-m", "majority", cwd=place)  # fmt: skip
    votes = rows((place / "v.csv").read_text())
    assert list(votes[0]) == ["worker", "item", "label", "value"]
    assert all(each["worker"] not in ("zoe", "yan") for each in votes)
    assert {each["identity"] for each in rows((place / "p.csv").read_text())} == {"zoe", "yan"}
    amcc("check", "v.csv", cwd=place)
    assert rows((place / "k.csv").read_text())
    assert "must be said" in amcc("campaign", "export", pets, code=2).stderr
    assert "--votes" in amcc("campaign", "export", pets, "--skips", "s.csv", code=2, cwd=place).stderr


def test_everybody_is_paid_once(pets):
    work(pets)
    place = pets.parent
    due = {each["worker"]: float(each["due"]) for each in rows(said("campaign", "pay", pets)[0])}
    assert set(due) == {"zoe", "yan"}
    run = amcc("campaign", "pay", pets, "--worker", "zoe", "--prolific", "b.csv", "--mark-paid", cwd=place)
    assert (place / "b.csv").read_text() == f"zoe,{due['zoe']:.2f}\n"
    assert f"{due['zoe']:.2f} recorded as paid to 1 worker" in run.stderr
    assert "cannot be an id of Prolific" in run.stderr
    left = {each["worker"]: float(each["due"]) for each in rows(said("campaign", "pay", pets)[0])}
    assert left == {"zoe": 0, "yan": due["yan"]}
    told = json.loads(said("campaign", "pay", pets, "--mark-paid", "--json")[0])
    assert told["marked_paid"]
    assert "0.00 due to 0 workers" in said("campaign", "pay", pets)[1]
    assert "'nobody'" in amcc("campaign", "pay", pets, "--worker", "nobody", code=2).stderr
    amcc("campaign", "verify", pets)


def test_nobody_counts_as_paid_who_is_on_no_list(pets):
    work(pets, 2, "bad,name")
    run = amcc("campaign", "pay", pets, "--prolific", "b.csv", "--mark-paid", code=2, cwd=pets.parent)
    assert "comma" in run.stderr
    assert json.loads(said("campaign", "status", pets, "--json")[0])["money"]["paid"] == 0


# -- keeping -----------------------------------------------------------------------------------------------------------


def test_verify_names_the_line_that_was_changed(pets):
    work(pets)
    assert "all holds" in amcc("campaign", "verify", pets).stderr
    with sqlite3.connect(pets / "campaign.db") as database:
        (line,) = database.execute("SELECT line FROM ledger WHERE seq = 2").fetchone()
        database.execute("UPDATE ledger SET line = ? WHERE seq = 2", (line.replace(b'"price"', b'"prise"', 1),))
    database.close()
    run = amcc("campaign", "verify", pets, code=2)
    assert "ledger row 2: " in run.stdout
    problems = json.loads(amcc("campaign", "verify", pets, "--json", code=2).stdout)["problems"]
    assert problems


def test_a_backup_restores_to_the_same(pets):
    work(pets)
    place = pets.parent
    amcc("campaign", "backup", pets, "-o", "pets.backup", cwd=place)
    amcc("campaign", "restore", "pets.backup", "again", cwd=place)
    first, second = (json.loads(said("campaign", "status", each, "--json", cwd=place)[0]) for each in ("pets", "again"))
    assert first["head"] == second["head"] and first["n_votes"] == second["n_votes"] > 0
    with Service.open(place / "again") as service:
        assert service.check_password("correct horse")
    assert "is there already" in amcc("campaign", "restore", "pets.backup", "again", code=2, cwd=place).stderr
    (place / "half").write_bytes((place / "pets.backup").read_bytes()[:500])
    assert amcc("campaign", "restore", "half", "third", code=2, cwd=place).stderr.startswith("error: half")
    assert not (place / "third").exists()


def test_a_campaign_on_postgres_goes_the_same_way(place, postgres_url):
    new(place, "--database", postgres_url)
    work(place / "pets")
    amcc("campaign", "verify", "pets", cwd=place)
    amcc("campaign", "backup", "pets", "-o", "b", cwd=place)
    amcc("campaign", "restore", "b", "lite", cwd=place)
    heads = {json.loads(said("campaign", "status", each, "--json", cwd=place)[0])["head"] for each in ("pets", "lite")}
    assert len(heads) == 1
    assert "empty" in new(place, "--database", postgres_url, name="second", code=2).stderr


# -- the extra ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("sqlalchemy", ["campaign", "status", "."]),
        ("uvicorn", ["serve", "."]),
        ("httpx", ["judge", "--campaign", "http://127.0.0.1:1/w/x", "--", "cat"]),
        ("httpx", ["demo", "--live"]),
    ],
)
def test_without_the_extra_one_line_says_how_to_get_it(package, arguments, tmp_path):
    code = f"import sys; sys.modules[{package!r}] = None\nfrom amcc.__main__ import main\nmain()"
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 1
    assert "pip install 'amcc[serve]'" in run.stderr
    assert "Traceback" not in run.stderr


def test_help_of_the_group_lists_all_commands():
    shown = run_amcc("campaign", "--help").stdout
    for name in [
        "new",
        "invite",
        "status",
        "pause",
        "resume",
        "change",
        "export",
        "pay",
        "verify",
        "backup",
        "restore",
        "block",
        "forget",
        "simulate",
    ]:
        assert f" {name} " in shown


def test_no_name_reaches_a_terminal_as_it_is(pets):
    """Whoever names a worker must not be able to write to the requester's terminal: such names are refused."""
    names = pets.parent / "names.csv"
    names.write_text("worker\n\x1b[31mblue\n", encoding="utf-8")
    run = amcc("campaign", "invite", pets, "--workers", names, code=2)
    assert "\x1b" not in run.stderr
    assert "a name must be" in run.stderr


# -- webhooks ------------------------------------------------------------------------------------------------------


def test_webhooks_from_the_command_line(place, pets):
    def hook(*given, code=0):
        return amcc("campaign", "webhook", "pets", *given, code=code, cwd=place)

    assert "no webhooks" in hook().stdout
    assert "must begin with https://" in hook("--add", "http://127.0.0.1:1/", code=2).stderr
    refused = hook("--add", "https://localhost/", code=2).stderr
    assert "the address must be public" in refused
    assert "--private" in refused
    with receiving(lambda n: 204 if n == 0 else 500) as told:
        made = json.loads(hook("--add", told.address, "--private", "--event", "campaign.paused", "--json").stdout)
        assert made["webhook"] == 1
        assert made["secret"].startswith("whsec_")
        assert "arrived: status 204" in hook("--test", 1).stderr
        assert "did not arrive: status 500" in hook("--test", 1, code=1).stderr
        assert told.types == ["webhook.test"] * 2
    amcc("campaign", "pause", "pets", cwd=place)
    (listed,) = json.loads(hook("--json").stdout)["webhooks"]
    assert (listed["events"], listed["waiting"], listed["private"]) == (["campaign.paused"], 1, True)
    assert told.address in hook().stdout
    hook("--remove", 1)
    assert "there is no webhook 1" in hook("--remove", 1, code=2).stderr


@pytest.mark.parametrize(
    "given",
    [("--test", "1", "--remove", "1"), ("--private",), ("--event", "budget.low"),
     ("--add", "https://93.184.215.14", "--event", "x")],
)  # fmt: skip
def test_webhook_options_that_do_not_fit(place, pets, given):
    assert re.search("must|give --add", amcc("campaign", "webhook", "pets", *given, code=2, cwd=place).stderr)
