"""Ledgers are believed only as far as they are what a campaign wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from amcc.active.campaign import Campaign, Outcome
from amcc.active.chain import START, chained
from amcc.active.crowd import SimulatedCrowd
from amcc.active.ledger import Ledger, add_hashes
from amcc.active.prices import Prices
from amcc.active.strategies.baselines import Uniform
from amcc.consensus import MajorityVote
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import AmccError, FileFormatError, InputError, ParameterError

WORLD = simulate_crowd(CrowdSpec(n_items=12, n_workers=6, n_labels=3, answers_per_item=4, labels_per_item=1, seed=1))
NOBODY_ASKED = SimulatedCrowd(WORLD).nobody_asked
PRICES = Prices(np.full(6, 3))
N_LINES = 1 + 2 * (1 + 5)
"""Of a campaign that buys ten answers in two rounds."""


def campaign(path: Path, budget: int = 30, **options: Any) -> Campaign:
    crowd = SimulatedCrowd(WORLD)
    return Campaign(crowd, Uniform(), MajorityVote, PRICES, budget, stop_settled=False, path=path, **options)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Outcome]:
    path = tmp_path_factory.mktemp("ledger") / "whole.jsonl"
    outcome = campaign(path).run()
    return path.read_bytes(), outcome


@pytest.fixture
def path(tmp_path: Path, finished: tuple[bytes, Outcome]) -> Path:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(finished[0])
    return path


def line_at(text: bytes, place: int) -> int:
    """Number of the line a byte is in."""
    return text.count(b"\n", 0, place) + 1


def opened(path: Path) -> Ledger:
    """The ledger alone: a campaign would take a hundred times as long."""
    ledger = Ledger(NOBODY_ASKED, PRICES)
    try:
        ledger.open(path, json.loads(path.read_bytes().split(b"\n")[0])["settings"])
    finally:
        ledger.close()
    return ledger


# -- changes by hand -------------------------------------------------------------------------------------------


def test_an_answer_turned_by_hand_is_refused_with_its_line(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    turned = {'"value": 1': '"value": -1', '"value": -1': '"value": 1'}
    old = next(value for value in reversed(turned) if value in lines[4])
    lines[4] = lines[4].replace(old, turned[old])
    path.write_text("".join(lines))
    with pytest.raises(FileFormatError, match=r"line 5 .*by its content and line 4 its hash must be") as caught:
        campaign(path).run()
    assert str(path) in str(caught.value)
    assert path.read_text() == "".join(lines)


def test_any_byte_that_is_changed_is_found_with_its_line(path: Path, finished: tuple[bytes, Outcome]) -> None:
    whole = b"".join(finished[0].splitlines(keepends=True)[:5])  # settings, a round, three answers
    settings = json.loads(whole.split(b"\n")[0])["settings"]
    bits = np.random.default_rng(0).integers(0, 8, len(whole))
    for place, bit in enumerate(bits.tolist()):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
        ledger = Ledger(NOBODY_ASKED, PRICES)
        with pytest.raises(FileFormatError) as caught:
            ledger.open(path, settings)
        ledger.close()
        assert f"{path}: line {line_at(whole, place)} is not what amcc writes" in str(caught.value), place


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: [*lines[:4], *lines[5:]], 5),
        (lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]], 5),
        (lambda lines: [*lines[:5], lines[4], *lines[5:]], 6),
        (lambda lines: lines[1:], 1),
        (lambda lines: [*lines, lines[-1]], N_LINES + 1),
    ],
    ids=["taken out", "moved", "doubled", "beheaded", "doubled at the end"],
)
def test_lines_out_of_place_are_found(path: Path, change: Callable[[list[bytes]], list[bytes]], line: int) -> None:
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(FileFormatError, match=f"line {line} is not what amcc writes"):
        opened(path) if line > 1 else campaign(path).run()


def test_lines_of_another_campaign_do_not_fit_in(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    campaign(other, seed=1).run()
    lines, others = (each.read_bytes().splitlines(keepends=True) for each in (path, other))
    path.write_bytes(b"".join([*lines[:7], *others[7:]]))
    with pytest.raises(FileFormatError, match="line 8"):
        opened(path)


# -- cut off ---------------------------------------------------------------------------------------------------


def test_a_line_that_was_cut_off_is_dropped_and_asked_again(path: Path, finished: tuple[bytes, Outcome]) -> None:
    whole = finished[0]
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(ends[-2] + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert len(opened(path).value) == 9
        assert path.read_bytes() == whole[: ends[-2]]
    assert campaign(path).run().spent == 30
    assert path.read_bytes() == whole


def test_a_line_that_lacks_only_its_newline_is_kept(path: Path, finished: tuple[bytes, Outcome]) -> None:
    path.write_bytes(finished[0][:-1])
    assert len(opened(path).value) == 10
    assert path.read_bytes() == finished[0]


def test_the_head_tells_whether_lines_are_missing(path: Path, finished: tuple[bytes, Outcome]) -> None:
    whole, outcome = finished
    head = outcome.ledger.head
    assert json.loads(whole.splitlines()[-1])["hash"] == head
    assert campaign(path, expected_head=head).run().ledger.head == head
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    with pytest.raises(FileFormatError, match=f"{head} is that of none of 12 lines") as caught:
        campaign(path, expected_head=head).run()
    assert str(path) in str(caught.value)
    earlier = json.loads(whole.splitlines()[6])["hash"]
    assert campaign(path, expected_head=earlier).run().ledger.head == head  # asked again, answered as before


def test_a_head_needs_a_file(tmp_path: Path) -> None:
    missing = tmp_path / "ledger.jsonl"
    with pytest.raises(InputError, match="No such file"):
        campaign(missing, expected_head="0" * 64).run()
    assert not missing.exists()
    with pytest.raises(ParameterError, match="name the file with path"):
        Campaign(SimulatedCrowd(WORLD), Uniform(), MajorityVote, PRICES, 30, expected_head="0" * 64)


# -- made up, with right hashes --------------------------------------------------------------------------------


def made_up(path: Path, change: Callable[[list[Any]], Any]) -> None:
    """Change the events of a ledger and give them right hashes."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    for event in events:
        del event["hash"]
    change(events)
    path.write_bytes(chained(events, START)[0])


def put(line: int, **fields: Any) -> Callable[[list[Any]], None]:
    return lambda events: events[line - 1].update(fields)


def spend_too_much(events: list[Any]) -> None:
    """A third round, asked and paid after the money was gone."""
    asked = {(event["item"], event["label"], event["worker"]) for event in events if event["event"] == "answer"}
    names = (WORLD.votes.item_names, WORLD.votes.label_names, WORLD.votes.worker_names)
    codes = [(i, l, w) for i in range(12) for l in range(3) for w in range(6)]  # noqa: E741
    fresh = next(code for code in codes if tuple(n[c].as_py() for n, c in zip(names, code, strict=True)) not in asked)
    item, label, worker = fresh
    row = dict(zip(("item", "label", "worker"), (n[c].as_py() for n, c in zip(names, fresh, strict=True)), strict=True))
    events.append({**events[1], "round": 2, "item": [item], "label": [label], "worker": [worker], "utility": [1.0],
                   "audit": [False]})  # fmt: skip
    events.append({**events[2], "round": 2, **row})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put(3, price=2), "line 3 is not what amcc writes: the next question of the round was"),
        (put(3, price=-3), "line 3"), (put(3, price=3.0), "line 3"), (put(3, price="3"), "line 3"),
        (put(3, price=None), "line 3"), (put(3, item="item_99"), "line 3"), (put(3, value=2), "line 3"),
        (put(3, value=[1]), "line 3"), (put(3, value=True), "line 3"), (put(3, more=1), "line 3"),
        (put(3, event="party"), "line 3 is not what amcc writes: its event is none of"), (put(3, event=[]), "line 3"),
        (put(3, event="campaign"), "line 3"), (lambda events: events[2].pop("price"), "line 3"),
        (lambda events: events[2].clear(), "line 3"), (lambda events: events[1].pop("utility"), "line 2"),
        (put(2, item=[99, 0, 0, 0, 0]), "line 2"), (put(2, item=[0]), "line 2 .*one entry for each question"),
        (put(2, item=None), "line 2"), (put(2, item="0"), "line 2"), (put(2, item=[[0]] * 5), "line 2"),
        (put(2, item=[2**70] * 5), "line 2"), (put(2, item=[0.5] * 5), "line 2"), (put(2, label=[-1] * 5), "line 2"),
        (put(2, item=[0] * 5, label=[0] * 5, worker=[0] * 5), "line 2|line 3"),
        (put(2, utility=["much"] * 5), "line 2"), (put(2, utility=7), "line 2"), (put(2, audit=[]), "line 2"),
        (put(2, expected_error="low"), "line 2"), (put(2, expected_error=None), "line 2"), (put(2, fitted=1), "line 2"),
        (put(2, round=1), "line 2 .*not the next one"), (put(2, round=True), "line 2"),
        (put(2, item=[], label=[], worker=[], utility=[], audit=[]), "line 2"),
        (lambda events: events.pop(1), "line 2 .*a round must follow"),
        (lambda events: events.__delitem__(slice(4, 7)), "line 5 .*the round before"),
        (lambda events: events.append(events[-1]), "more answers than questions"),
        (lambda events: events.extend({**event, "round": 2} for event in events[7:]), "line 14 .*asked before|line 15"),
        (spend_too_much, "line 15 .*more is spent than the budget of 30"),
        (put(1, format=3), "line 1 .*in format 2"), (put(1, settings=[]), "line 1"), (put(1, event="round"), "line 1"),
        (lambda events: events[0].pop("settings"), "line 1"), (lambda events: events.pop(0), "line 1"),
    ],
)  # fmt: skip
def test_what_no_campaign_writes_is_refused_and_left_alone(
    path: Path, change: Callable[[list[Any]], Any], words: str
) -> None:
    made_up(path, change)
    before = path.read_bytes()
    with pytest.raises(FileFormatError, match=words) as caught:
        campaign(path).run()
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_nothing_is_asked_twice_on_record(path: Path) -> None:
    """One answer of the second round is replaced by one of the first, everywhere it stands."""

    def ask_again(events: list[Any]) -> None:
        for role in ("item", "label", "worker"):
            events[7][role][0] = events[1][role][0]
            events[8][role] = events[2][role]

    made_up(path, ask_again)
    with pytest.raises(FileFormatError, match=r"line 8 .*a question that was asked before"):
        campaign(path).run()


@pytest.mark.parametrize(
    "content",
    [b"\n", b"\0" * 99, b"item,label,worker,value\n1,2,3,1\n", b"[" * 10**5 + b"\n", b"\xff\xfe\n", b"null\n", b"7\n",
     b'{"event": "campaign", "settings": {"n_workers": -1}}\n', b'{"event": "campaign"}', b"{" * 10**5, b'{}\n{}\n'],
)  # fmt: skip
def test_files_that_are_no_ledgers_are_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="line 1 is not what amcc writes"):
        campaign(path).run()
    assert path.read_bytes() == content


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_only_files_can_be_ledgers(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "ledger")
    with pytest.raises(InputError, match="ledger cannot be used"):
        campaign(tmp_path / "ledger").run()


def test_random_damage_raises_only_our_errors(path: Path, finished: tuple[bytes, Outcome]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        text = bytearray(finished[0])
        start, length = int(rng.integers(len(text))), int(rng.integers(1, 400))
        text[start : start + length] = rng.choice([b"", rng.bytes(5), b"\n", b"9" * 5000, b'{"event": "answer"}\n'])
        path.write_bytes(text)
        ledger = Ledger(NOBODY_ASKED, PRICES)
        try:
            ledger.open(path, json.loads(finished[0].split(b"\n")[0])["settings"])
            assert finished[0].startswith(path.read_bytes())  # the end was cut off
        except AmccError:
            assert path.read_bytes() == text
        finally:
            ledger.close()


# -- earlier versions ------------------------------------------------------------------------------------------


def without_hashes(path: Path, whole: bytes) -> None:
    events = [json.loads(line) for line in whole.splitlines()]
    for event in events:
        del event["hash"]
    events[0]["format"] = 1
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


def test_ledgers_without_hashes_get_them_once(path: Path, finished: tuple[bytes, Outcome]) -> None:
    without_hashes(path, finished[0])
    with pytest.raises(FileFormatError, match=r"earlier version, .*amcc\.active\.ledger\.add_hashes\(path\)"):
        campaign(path).run()
    assert add_hashes(path) == finished[1].ledger.head
    assert path.read_bytes() == finished[0]
    with pytest.raises(FileFormatError, match=r"line 1 .*format 1, without a hash"):
        add_hashes(path)
    assert path.read_bytes() == finished[0]


# -- full disks ------------------------------------------------------------------------------------------------


@contextmanager
def room_for(n_bytes: int) -> Iterator[None]:
    """No file can grow beyond this size: a full disk, for a moment."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


class CountingCrowd(SimulatedCrowd):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__(WORLD)
        self.times = 0

    def ask(self, questions: Any) -> Any:
        self.times += 1
        return super().ask(questions)


def test_a_full_disk_stops_the_campaign_and_names_the_file(tmp_path: Path, finished: tuple[bytes, Outcome]) -> None:
    whole = finished[0]
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for number, room in enumerate([0, ends[0] - 1, ends[0] + 5, ends[1] + 5, ends[3] + 5, ends[7]]):
        path = tmp_path / f"ledger-{number}.jsonl"
        crowd = CountingCrowd()
        run = Campaign(crowd, Uniform(), MajorityVote, PRICES, 30, stop_settled=False, path=path)
        words = r"cannot be written: File too large.*run it again"
        with pytest.raises(InputError, match=words) as caught, room_for(room):
            run.run()
        assert str(path) in str(caught.value)
        kept = max(end for end in [0, ends[0], ends[1], ends[6], ends[7]] if end <= room)  # what was written together
        assert (path.read_bytes() if kept else b"") == whole[:kept]
        assert path.exists() == (kept > 0)  # a file with nothing in it is not left behind
        assert crowd.times == (kept >= ends[1]) + (kept >= ends[7])  # nobody is asked what is not on record
        assert campaign(path).run().spent == 30
        assert path.read_bytes() == whole
