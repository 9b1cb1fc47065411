"""Very many labels: what is proportional to the votes works, what is not is refused before it begins."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from amcc import memory, write_votes
from amcc.active.beliefs import Learner
from amcc.cli import app
from amcc.consensus import AMCC, MajorityVote
from amcc.consensus.default.correlation import LabelSets
from amcc.errors import AmccError, TooLargeError
from amcc.memory import check_size
from amcc.truth import Truth
from amcc.votes import Votes

N_ITEMS, N_LABELS = 60, 300


@pytest.fixture(scope="module")
def votes() -> Votes:
    """Three answers to each item, with five labels that no other item has."""
    item = np.repeat(np.arange(N_ITEMS), 15)
    label = (item.reshape(-1, 15) * 5 + np.tile(np.arange(5), 3)).ravel()
    worker = np.tile(np.repeat(np.arange(3), 5), N_ITEMS)
    value = np.where((label + (worker == 2) * (item % 3 == 0)) % 2, 1, -1)
    return Votes.from_codes(
        item, worker, label, value, item_names=range(N_ITEMS), worker_names=list("abc"), label_names=range(N_LABELS)
    )


@pytest.fixture
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which a number for every item or label and every label is too much."""
    monkeypatch.setattr(memory, "all_memory", lambda: 2 * 8 * N_ITEMS * N_LABELS - 1)


def test_a_refusal_says_what_it_would_take_and_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "all_memory", lambda: 24 * 10**9)
    check_size("a table", "Do without.", 30_000, 50_000)
    with pytest.raises(TooLargeError) as refused:
        check_size("a table", "Do without.", 200_000, 200_000)
    assert str(refused.value) == (
        "a table must fit in 50% of the memory (24 GB); 200,000 x 200,000 cells would take 320 GB. Do without."
    )
    assert isinstance(refused.value, AmccError)
    assert isinstance(refused.value, MemoryError)


def test_memory_is_that_of_the_machine() -> None:
    assert 0 < memory.free_memory() < memory.all_memory()


@pytest.mark.usefixtures("small_machine")
def test_a_fit_needs_no_table_of_all_labels(votes: Votes) -> None:
    """Asked pairs, workers and groups are found; tables of all labels are refused."""
    model = AMCC().fit(votes)
    assert len(model.pairs()) == len(votes.pairs)
    assert len(model.workers("arrow")) == 3
    assert "label_correlation_" not in vars(model)
    for refused in (lambda: model.label_correlation_, model.predict_proba, lambda: model.pairs(all_labels=True)):
        with pytest.raises(TooLargeError):
            refused()


def test_label_correlation_is_that_of_the_last_fit(votes: Votes) -> None:
    model = AMCC().fit(votes)
    expected = LabelSets(model.set_share_, model.set_frequency_).correlation()
    np.testing.assert_array_equal(model.label_correlation_, expected)
    model.fit(votes.select(votes.item < 20))
    assert "label_correlation_" not in vars(model)
    assert not np.array_equal(model.label_correlation_, expected)


@pytest.mark.usefixtures("small_machine")
def test_what_needs_all_items_and_labels_is_refused_before_it_begins(votes: Votes) -> None:
    truth = Truth.from_frames(pa.table({"item": ["1"], "label": ["1"]}))

    def not_reached() -> MajorityVote:
        raise AssertionError("a model was fitted before the size was looked at")

    for refused in (
        lambda: Learner(not_reached).learn(votes),
        lambda: truth.matrices(votes.item_names, votes.label_names),
    ):
        with pytest.raises(TooLargeError, match=re.escape("cells would take")):
            refused()


@pytest.mark.usefixtures("small_machine")
def test_denied_labels_are_refused_where_they_are_too_many() -> None:
    ticks = pa.table({"worker": ["w"] * N_LABELS, "item": np.arange(N_LABELS) % N_ITEMS, "label": np.arange(N_LABELS)})
    with pytest.raises(TooLargeError, match="--unmentioned unknown"):
        Votes.from_frame(ticks, unmentioned="absent")
    assert len(Votes.from_frame(ticks, unmentioned="unknown")) == N_LABELS


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize("option", ["--sets", "--all-labels", "--decode=expected_f1"])
def test_the_command_line_refuses_before_the_fit(
    votes: Votes, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_reached(*_: object) -> None:
        raise AssertionError("a model was fitted before the size was looked at")

    write_votes(votes, tmp_path / "votes.parquet")
    monkeypatch.setattr(AMCC, "fit", not_reached)
    result = CliRunner().invoke(app, ["consensus", str(tmp_path / "votes.parquet"), option])
    assert isinstance(result.exception, TooLargeError)
    assert "without --sets, --all-labels and --decode" in str(result.exception)


def test_sizes_in_words() -> None:
    assert [memory.in_words(n) for n in (999, 1000, 2.5e6, 4e18)] == ["999 bytes", "1 KB", "2.5 MB", "4e+03 PB"]


def test_a_table_of_exactly_the_share_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "all_memory", lambda: 1600)
    check_size("a table", "", 10, 10)
    with pytest.raises(TooLargeError, match="101 cells would take 808 bytes"):
        check_size("a table", "", 101)
    check_size("a table of bytes", "", 800, cell_bytes=1)


def test_sides_that_no_machine_has_are_refused_without_overflow() -> None:
    with pytest.raises(TooLargeError, match="PB"):
        check_size("a table", "", 2**40, 2**40)
