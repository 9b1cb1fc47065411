"""Programs as workers: a command of ours answers, fails, dawdles, and the server goes away and comes back."""

from __future__ import annotations

import json
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from amcc.errors import InputError
from amcc.serve.client import CampaignClient, LeasedPage, Nothing, Paid, Refused, UnreachableError
from amcc.serve.judge import CommandError, Judge, JudgeCommand
from amcc.serve.service import Service, new_campaign
from running import amcc, run_amcc

WORDS = ["a red cat", "a big dog", "nothing", "a dog and a cat", "some fish", "one cat"]


@pytest.fixture
def pets(tmp_path: Path):
    """A campaign that is open as a server has it."""
    (tmp_path / "items.csv").write_text("item,text\n" + "".join(f"i{n},{text}\n" for n, text in enumerate(WORDS)))
    (tmp_path / "labels.csv").write_text("label,question,help\ncat,Is there a cat?,any cat\ndog,Is there a dog?,\n")
    folder = new_campaign(
        tmp_path / "pets", items=tmp_path / "items.csv", labels=tmp_path / "labels.csv", budget="20", price="0.02",
        page_price="0.05", password="correct horse", instructions="Look closely.", audit_share=0.0,
    )  # fmt: skip
    with Service.open(folder, server=True, learn=False) as service:
        yield service


def program(place: Path, body: str) -> list[str]:
    """A command: Python that has read `asked`."""
    path = place / "model.py"
    path.write_text("import json, sys, os\nasked = json.load(sys.stdin)\n" + textwrap.dedent(body))
    return [sys.executable, str(path)]


ONE = 'print(json.dumps({"answer": "yes" if asked["label"] in asked["content"] else "no"}))'
PAGE = 'print(json.dumps({"answers": {q["label"]: q["label"] in asked["content"] for q in asked["questions"]}}))'


def token(service: Service, name: str = "bot") -> str:
    return service.invite([name], kind="model", family="ours", actor="test")[0].token


def votes_of(service: Service) -> dict[tuple[str, str], int]:
    return {(row["item"], row["label"]): row["value"] for row in service.votes_table().to_pylist()}


@pytest.mark.parametrize(("body", "options"), [(ONE, ["--parallel", "2"]), (PAGE, ["--pages"])])
def test_a_program_answers_until_there_is_no_work(pets, live_server, tmp_path, body, options):
    address = live_server(pets)
    run = amcc("judge", "--campaign", f"{address}/w/{token(pets)}", *options, "--json", "--", *program(tmp_path, body))
    told = json.loads(run.stdout)
    expected = {(f"i{n}", label): int(label in text) for n, text in enumerate(WORDS) for label in ("cat", "dog")}
    assert votes_of(pets) == expected
    assert (told["answers"], told["given_back"], told["refused"]) == (len(expected), 0, 0)
    assert told["why"] == "there is no work (nothing)"
    (payment,) = pets.payments()
    assert payment.earned == told["earned"] > 0
    assert pets.verify() == []


def test_most_bounds_the_pages_and_the_variable_holds_the_token(pets, live_server, tmp_path):
    command = program(tmp_path, 'assert "AMCC_TOKEN" not in os.environ\n' + ONE)
    run = amcc(
        "judge", "--campaign", live_server(pets), "--most", "2", "--json", "--", *command, AMCC_TOKEN=token(pets)
    )
    assert json.loads(run.stdout)["pages"] == 2


def test_what_a_command_gets_to_know(pets, live_server, tmp_path):
    seen = tmp_path / "seen"
    command = program(tmp_path, f'open({str(seen)!r}, "a").write(json.dumps(asked) + "\\n")\n' + ONE)
    amcc("judge", "--campaign", f"{live_server(pets)}/w/{token(pets)}", "--most", "1", "--", *command)
    asked = json.loads(seen.read_text().splitlines()[0])
    assert set(asked) == {"item", "kind", "content", "instructions", "label", "question", "help"}
    assert asked["instructions"] == "Look closely." and asked["content"] in WORDS


def test_a_command_that_fails_now_and_then_is_tried_again(pets, live_server, tmp_path):
    tried = tmp_path / "tried"
    flaky = f'open({str(tried)!r}, "a").write("x")\nassert len(open({str(tried)!r}).read()) % 2 == 0\n' + ONE
    run = amcc("judge", "--campaign", f"{live_server(pets)}/w/{token(pets)}", "--most", "2", "--json", "--",
               *program(tmp_path, flaky))  # fmt: skip
    assert json.loads(run.stdout)["given_back"] == 0
    assert len(tried.read_text()) >= 2 * len(votes_of(pets))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('sys.exit("no idea")', "no idea"),
        ('print("yes")', "one JSON object"),
        ('print(json.dumps({"answer": "perhaps"}))', "perhaps"),
        ('print(json.dumps({"reply": "yes"}))', "answer"),
        ('print(json.dumps(["yes"]))', "answer"),
    ],
)
def test_a_broken_command_gives_pages_back_and_stops(pets, live_server, tmp_path, body, words):
    run = amcc("judge", "--campaign", f"{live_server(pets)}/w/{token(pets)}", "--retries", "0", "--",
               *program(tmp_path, body), code=1)  # fmt: skip
    assert "3 pages given back" in run.stderr and words in run.stderr
    assert votes_of(pets) == {} and pets.balance.due == pets.balance.reserved == 0


def test_a_page_needs_all_its_answers(pets, live_server, tmp_path):
    half = 'print(json.dumps({"answers": {asked["questions"][0]["label"]: "yes"}}))'
    run = amcc("judge", "--campaign", f"{live_server(pets)}/w/{token(pets)}", "--pages", "--retries", "0", "--",
               *program(tmp_path, half), code=1)  # fmt: skip
    assert "is missing" in run.stderr


def test_a_slow_command_is_stopped(tmp_path):
    page = LeasedPage(1, "i", "text", "c", [])
    command = JudgeCommand(program(tmp_path, "import time; time.sleep(30)"), timeout=0.2, retries=0, whole_pages=True)
    with ThreadPoolExecutor(1) as pool, pytest.raises(CommandError, match=r"longer than 0\.2 s"):
        command.answers_to(page, "", pool)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--campaign", "x", "--token", "t", "--", "cat"), "http://"),
        (("--campaign", "http://127.0.0.1:1", "--", "cat"), "AMCC_TOKEN"),
        (("--campaign", "http://127.0.0.1:1", "--token", "t", "--", "no-such-program"), "no-such-program"),
        (("--campaign", "http://127.0.0.1:1", "--token", "t"), "COMMAND"),
    ],
)
def test_bad_arguments(arguments, words):
    run = run_amcc("judge", *arguments, AMCC_TOKEN=None)
    assert run.returncode == 2 and words in run.stderr


def test_forged_and_revoked_tokens_stop_it(pets, live_server):
    address, mine = live_server(pets), token(pets)
    assert "401" in amcc("judge", "--campaign", address, "--token", "forged", "--", "cat", code=2).stderr
    pets.revoke(pets.worker_by_token(mine).name, actor="test")
    assert "401" in amcc("judge", "--campaign", address, "--token", mine, "--", "cat", code=2).stderr


def test_a_server_that_is_not_there_is_told():
    client = CampaignClient("http://127.0.0.1:9", "t", waits=(0.0, 0.0))
    with client, pytest.raises(UnreachableError, match=r"tried 3 times.*amcc serve"):
        client.lease()


def test_an_answer_whose_receipt_was_lost_is_stored_once(pets, live_server):
    """The first response is dropped on the way: the second request has the same key, and pays nothing more."""
    address = live_server(pets)

    class Lossy(httpx.HTTPTransport):
        lost = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = super().handle_request(request)
            if request.url.path.endswith("/answer") and not self.lost:
                self.lost += 1
                response.read()
                raise httpx.ReadError("gone", request=request)
            return response

    with CampaignClient(address, token(pets), waits=(0.0,)) as client:
        client._http = httpx.Client(base_url=address, headers=client._http.headers, transport=(lossy := Lossy()))
        page = client.lease()
        came = client.answer(page, {each.label_id: "yes" for each in page.questions})
        client._http.close()
    assert lossy.lost == 1
    assert isinstance(came, Paid)
    (payment,) = pets.payments()
    assert payment.earned == came.earned == 5 + 2 * len(page.questions)
    assert pets.verify() == []


def test_contradictions_are_refused_and_change_nothing(pets, live_server):
    with CampaignClient(live_server(pets), token(pets)) as client:
        page = client.lease()
        client.answer(page, {each.label_id: "yes" for each in page.questions})
        came = client.answer(page, {each.label_id: "no" for each in page.questions})
        assert isinstance(came, Refused)
        with pytest.raises(InputError):
            client.answer(LeasedPage(10**6, "", "text", "", ()), {0: "yes"})
    assert set(votes_of(pets).values()) == {1}


def test_no_work_is_waited_for_and_a_judge_can_be_told_to_stop(pets, live_server, tmp_path):
    pets.pause("test")
    with CampaignClient(live_server(pets), token(pets)) as client, ThreadPoolExecutor(2) as pool:
        assert client.lease() == Nothing("paused")
        stop = threading.Event()
        judge = Judge(client, JudgeCommand(program(tmp_path, ONE)), most=1, wait=60.0, stop=stop)
        running = pool.submit(judge.run, pool)
        pets.resume("test")
        assert running.result(60).why == "enough pages are answered"
        stop.set()
        assert judge.run(pool).why == "it was told to"


def test_pictures_can_be_fetched(tmp_path, live_server):
    from amcc.serve.scenes import write_scenes

    scenes = write_scenes(tmp_path / "scenes", 3)
    folder = new_campaign(tmp_path / "c", items=scenes.items, labels=scenes.labels, budget="9", price="0.02",
                          password="correct horse")  # fmt: skip
    with ExitStack() as stack:
        service = stack.enter_context(Service.open(folder, server=True, learn=False))
        client = stack.enter_context(CampaignClient(live_server(service), token(service)))
        for _ in range(3):
            page = client.lease()
            if page.kind == "image":
                assert httpx.get(page.content).content == (scenes.items.parent / f"{page.item}.png").read_bytes()
                return
            client.answer(page, {each.label_id: "no" for each in page.questions})
    pytest.fail("no picture was asked about")
