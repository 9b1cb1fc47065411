"""Who watches sees how far fits, replays and campaigns are; a real kernel shows bars, cards and pictures."""

import re
from functools import partial

import numpy as np
import pytest

import amcc
from amcc.active import Campaign, Prices, ReplayCrowd
from amcc.active.replay import Recording, replay
from amcc.active.strategies import make_strategy
from amcc.consensus import make_model
from amcc.data import CrowdSpec, simulate_crowd
from amcc.watching import watched_by


@pytest.fixture(scope="module")
def crowd():
    return simulate_crowd(CrowdSpec(n_items=12, n_workers=6, n_labels=3, seed=1))


def test_a_replay_tells_how_much_is_spent(crowd):
    seen = []
    recording = Recording(crowd.votes, crowd.truth, np.ones_like(crowd.truth))
    with watched_by(lambda share, note: seen.append((share, note))):
        replay(recording, make_strategy("uniform"), partial(make_model, "majority"), np.ones(6), batch=20)
    shares = [share for share, _ in seen if share is not None]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert seen[-1][1] == "100 % of the money is spent"


def test_a_campaign_tells_how_much_is_spent(crowd):
    seen = []
    campaign = Campaign(
        ReplayCrowd(crowd.votes),
        make_strategy("uniform"),
        partial(make_model, "majority"),
        Prices(np.ones(6, np.int64)),
        20,
    )
    with watched_by(lambda share, note: seen.append(share)):
        campaign.run()
    assert max(share for share in seen if share is not None) == 1.0


def test_nothing_is_shown_where_there_is_no_terminal(crowd, capfd):
    with amcc.progress():
        amcc.AMCC().fit(crowd.votes)
    assert capfd.readouterr() == ("", "")


CELLS = """
import amcc
from amcc.data import CrowdSpec, simulate_crowd
votes = simulate_crowd(CrowdSpec(n_items=40, n_workers=8, n_labels=3, seed=1)).votes
with amcc.progress():
    model = amcc.AMCC().fit(votes)
---
model
---
model.plot_workers();
"""


def test_a_notebook_shows_a_bar_a_card_and_a_picture(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS.split("---")]
    notebook, updates = nbformat.v4.new_notebook(cells=cells), []

    class Client(nbclient.NotebookClient):
        def process_message(self, msg, cell, cell_index):
            if msg["msg_type"] == "update_display_data":
                updates.append(msg["content"]["data"].get("text/html", ""))
            return super().process_message(msg, cell, cell_index)

    Client(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert re.fullmatch(r"<progress></progress> round \d+.*", updates[0])
    assert updates[-1] == ""  # the bar is gone at the end
    [card] = notebook.cells[1].outputs
    assert "<b>AMCC()</b>" in card["data"]["text/html"] and card["data"]["text/plain"] == "AMCC()"
    [picture] = notebook.cells[2].outputs
    assert "image/png" in picture["data"]
