"""Scenes, simulated workers and the live demo."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys

import httpx
import numpy as np
import pytest
from matplotlib import image

from amcc.errors import ColumnError
from amcc.serve.scenes import THINGS, WORDS, draw, png, write_scenes
from amcc.serve.service import Service, new_campaign
from amcc.serve.simulated import MADE_UP_YES, SPAMMERS, Crowd, Person, made_up, read_answers
from running import amcc


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return write_scenes(tmp_path_factory.mktemp("scenes"), 40, seed=2)


def test_sentences_say_what_is_there_and_nothing_else(scenes):
    rows = list(csv.DictReader(scenes.items.read_text().splitlines()))
    for row, there in zip(rows[1::2], scenes.truth[1::2], strict=True):
        said = {thing for thing, words in WORDS.items() if any(word in row["text"].lower() for word in words)}
        assert said == {thing for thing, present in zip(THINGS, there, strict=True) if present}


def test_pictures_show_what_is_there(scenes):
    rows = list(csv.DictReader(scenes.items.read_text().splitlines()))
    yellow, white = (250, 204, 62), (250, 250, 245)
    for row, there in zip(rows[::2], scenes.truth[::2], strict=True):
        picture = (image.imread(scenes.items.with_name(row["image"])) * 255).round().astype(int)
        assert picture.shape == (200, 320, 3)
        for colour, thing in ((yellow, "sun"), (white, "boat")):
            shown = (picture == colour).all(axis=2).any()
            assert shown == there[list(THINGS).index(thing)]


def test_a_picture_is_read_back_as_it_was_drawn(tmp_path):
    drawn = draw(np.ones(5, dtype=bool), np.random.default_rng(0))
    (tmp_path / "p.png").write_bytes(png(drawn))
    assert np.array_equal((image.imread(tmp_path / "p.png") * 255).round().astype(np.uint8), drawn)


def test_truth_of_scenes_is_read_back(scenes, tmp_path):
    known = read_answers(scenes.truth_file)
    assert len(known) == scenes.truth.size
    assert [known["scene01", thing] for thing in THINGS] == scenes.truth[0].tolist()
    (tmp_path / "t.csv").write_text("item,label\na,cat\n")
    with pytest.raises(ColumnError, match="yes and no"):
        read_answers(tmp_path / "t.csv")


def test_made_up_truth_has_the_share_it_should():
    share = np.mean([made_up(f"i{n}", "cat") for n in range(5000)])
    assert abs(share - MADE_UP_YES) < 0.03


def test_people_see_and_spammers_do_not():
    rng = np.random.default_rng(0)
    good, bad = Person.drawn(rng, is_spammer=False), Person.drawn(rng, is_spammer=True)
    assert good.yes_if_present > good.yes_if_absent + 0.5
    assert bad.yes_if_present == bad.yes_if_absent
    said = [good.answer(True, rng) for _ in range(2000)]
    assert {"yes", "no", "skip"} == set(said) and said.count("yes") / 2000 > 0.6


def test_a_crowd_keeps_to_its_pages_and_the_money(scenes, tmp_path, live_server):
    folder = new_campaign(tmp_path / "c", items=scenes.items, labels=scenes.labels, budget="2.00", price="0.02",
                          password="correct horse")  # fmt: skip
    with Service.open(folder, server=True, learn=False) as service:
        address = live_server(service)
        links = service.invite([f"s{n}" for n in range(SPAMMERS)], actor="test")
        tokens, known = [each.token for each in links], read_answers(scenes.truth_file)
        done = Crowd(address, tokens, known, pause=0.0).run(7, 60)
        assert (done.pages, done.why) == (7, "enough pages are answered")
        rest = Crowd(address, tokens, known, pause=0.0).run(1000, 60)
        assert rest.why == "there is no work left (money)"
        balance = service.balance
        assert balance.due == done.earned + rest.earned <= 200
        assert balance.left < 2 and service.verify() == []
        told = {(row["item"], row["label"]): row["value"] for row in service.votes_table().to_pylist()}
        right = np.mean([known[pair] == bool(value) for pair, value in told.items()])
        assert right > 0.6  # a hundred votes of good and of random workers: .7 ± .04


def test_simulate_needs_a_server(scenes, tmp_path):
    new_campaign(tmp_path / "c", items=scenes.items, labels=scenes.labels, budget="2.00", price="0.02",
                 password="correct horse")  # fmt: skip
    for options in (("--workers", "0"), ("--pages", "0"), ("--url", "nowhere")):
        amcc("campaign", "simulate", tmp_path / "c", *options, code=2)
    told = amcc("campaign", "simulate", tmp_path / "c", "--url", "http://127.0.0.1:9", code=1).stderr
    assert "must answer" in told
    with Service.open(tmp_path / "c") as service:
        assert service.status().n_workers == 0  # nobody was invited for nothing


def test_the_live_demo_shows_its_addresses_and_ends(tmp_path):
    run = subprocess.run([sys.executable, "-m", "amcc", "demo", "--live", "--seconds", "6"], capture_output=True,
                         text=True, timeout=120, cwd=tmp_path)  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert re.search(r"dashboard +http://127\.0\.0\.1:\d+/dashboard\n", run.stdout)
    assert re.search(r"work yourself +http://127\.0\.0\.1:\d+/w/\S+\n", run.stdout)
    answered = re.search(r"answered ([\d,]+) questions on ([\d,]+) pages", run.stdout)
    assert int(answered[1].replace(",", "")) >= int(answered[2].replace(",", "")) > 0
    assert not list(tmp_path.iterdir())


def test_the_live_demo_leaves_nothing_behind_when_it_is_ended(tmp_path):
    command = [sys.executable, "-m", "amcc", "demo", "--live", "--seconds", "600"]
    told = {**os.environ, "TMPDIR": str(tmp_path)}
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=told)
    try:
        lines = [demo.stdout.readline() for _ in range(5)]
        address = lines[1].split()[-1]
        assert httpx.get(address, follow_redirects=True).status_code == 200
        demo.terminate()
        _, notes = demo.communicate(timeout=60)
    finally:
        demo.kill()
    assert demo.returncode == 130 and "Traceback" not in notes
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
    assert list(tmp_path.iterdir()) == []
