"""Groups of options by what they are about: what they refuse, and what they hand on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import typer

from amcc import Votes
from amcc.cli.fitting import ModelChoice, items_without_answer
from amcc.cli.options.engines import BY_BLOCKS, EngineOptions, parsed_bytes
from amcc.cli.options.features import ItemDescriptions, ItemFeatures
from amcc.cli.options.roster import listed_workers
from amcc.cli.options.truth import TruthCoverage
from amcc.cli.options.votes import ReadingOptions, plain_number
from amcc.engine.base import Engine, InMemory
from amcc.engine.packed import PackedVotes
from amcc.errors import InputError, ParameterError
from amcc.io.pack import pack_votes
from amcc.roster import WORKER_KINDS

ROWS = "rater,picture,label,value\nann,1,cat,yes\nbob,1,cat,no\nann,2,dog,yes\n"
NAMED = ReadingOptions(columns=["worker=rater", "item=picture"])


@pytest.fixture
def votes_file(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture
def packed(votes_file: Path, tmp_path: Path) -> PackedVotes:
    return pack_votes(votes_file, tmp_path / "packed", **NAMED.table_arguments(votes_file))


# -- votes ---------------------------------------------------------------------------------------------------------


def test_columns_may_have_an_equals_sign_in_their_name():
    assert ReadingOptions(columns=["worker=who=really"]).arguments()["columns"] == {"worker": "who=really"}


@pytest.mark.parametrize("mapping", ["worker", "worker=", "", "rater"])
def test_a_column_must_be_named(mapping):
    with pytest.raises(ParameterError, match="must look like worker=my_column"):
        ReadingOptions(columns=[mapping]).arguments()


def test_files_of_names_are_read_and_lists_are_taken(tmp_path):
    names = tmp_path / "labels.csv"
    names.write_text("label\nowl\ncat\n")
    assert list(ReadingOptions(labels=names).arguments()["labels"]) == ["owl", "cat"]
    assert replace(ReadingOptions(), labels=["owl"]).arguments()["labels"] == ["owl"]
    assert ReadingOptions().arguments()["labels"] is None


def test_a_file_is_read_and_what_was_decided_is_noted(votes_file, capsys):
    votes = NAMED.read(votes_file)
    assert (votes.n_workers, votes.n_items, votes.n_labels, len(votes)) == (2, 2, 2, 3)
    assert "rater" in capsys.readouterr().err


def test_a_folder_is_only_opened(packed, votes_file):
    assert isinstance(ReadingOptions().open(packed.folder).votes, PackedVotes)
    assert isinstance(NAMED.open(votes_file).votes, Votes)


def test_packed_votes_were_read_before(packed):
    with pytest.raises(ParameterError, match="options of reading belong to amcc pack"):
        NAMED.open(packed.folder)


@pytest.mark.parametrize("text", ["0_1", "nan", "one", "", "1e"])
def test_numbers_are_plain(text):
    with pytest.raises(typer.BadParameter, match="is not a number"):
        plain_number(text)


# -- truth ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "coverage",
    [
        TruthCoverage(known_items=Path("i.csv")),
        TruthCoverage(known_pairs=Path("p.csv")),
        TruthCoverage(truth_unmentioned="absent"),
    ],
)
def test_who_says_what_a_truth_covers_must_name_it(coverage):
    assert coverage.is_said()
    with pytest.raises(ParameterError, match="say what --truth covers; name it"):
        coverage.read_if_named(None)


def test_no_truth_is_no_mistake():
    assert TruthCoverage().read_if_named(None) is None


def test_the_truth_covers_what_is_said(tmp_path):
    for name, text in (("truth.csv", "item,label\n1,cat\n"), ("items.csv", "item\n1\n2\n")):
        (tmp_path / name).write_text(text)
    names = pa.array(["1", "2"]), pa.array(["cat", "dog"])

    def covered(coverage: TruthCoverage) -> list[list[bool]]:
        return coverage.read(tmp_path / "truth.csv").matrices(*names)[1].tolist()

    assert covered(TruthCoverage()) == [[True, True], [False, False]]
    assert covered(TruthCoverage(known_items=tmp_path / "items.csv")) == [[True, True], [True, True]]
    assert covered(TruthCoverage(truth_unmentioned="absent")) == [[True, True], [True, True]]


# -- features ------------------------------------------------------------------------------------------------------


def test_nothing_is_known_about_items_unless_it_is_said(votes_file):
    votes = NAMED.read(votes_file)
    for nothing in (ItemFeatures(), ItemDescriptions()):
        assert not nothing.are_named()
        assert nothing.read(votes) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ItemFeatures(features_items=Path("i.csv")), "give both"),
        (ItemDescriptions(features_items=Path("i.csv")), "give both"),
        (ItemDescriptions(text_column="words"), "how to read --text"),
        (ItemDescriptions(text_units="characters"), "how to read --text"),
        (ItemDescriptions(features=Path("f.csv"), text=Path("t.csv")), "give one of them"),
    ],
)
def test_descriptions_that_contradict_each_other(options, message, votes_file):
    with pytest.raises(ParameterError, match=message):
        options.read(NAMED.read(votes_file))


def test_features_come_in_the_order_of_the_items(votes_file, tmp_path):
    table = tmp_path / "features.csv"
    table.write_text("item,size\n2,20\n1,10\n")
    votes = NAMED.read(votes_file)
    read = np.asarray(ItemDescriptions(features=table).read(votes)).ravel()
    by_name = dict(zip(votes.item_names.to_pylist(), read.tolist(), strict=True))
    assert {str(name): value for name, value in by_name.items()} == {"1": 10.0, "2": 20.0}


def test_texts_alone_describe_items():
    assert ItemDescriptions(text=Path("t.csv")).are_named()
    assert ItemDescriptions(features=Path("f.npy")).are_named()


# -- workers -------------------------------------------------------------------------------------------------------


def test_a_roster_is_read_if_it_is_named(votes_file, tmp_path):
    votes = NAMED.read(votes_file)
    assert listed_workers(None, votes.worker_names) is None
    roster = tmp_path / "workers.csv"
    roster.write_text("worker,kind,family\nann,model,a\nbob,human,\n")
    seats = listed_workers(roster, votes.worker_names).seats(votes.worker_names)
    assert [WORKER_KINDS[kind] for kind in seats.kind] == ["model", "human"]


def test_errors_of_a_roster_name_its_file(votes_file, tmp_path):
    roster = tmp_path / "workers.csv"
    roster.write_text("worker,kind\nann,robot\n")
    with pytest.raises(InputError, match=r"workers\.csv"):
        listed_workers(roster, NAMED.read(votes_file).worker_names)


# -- methods and engines -------------------------------------------------------------------------------------------


def test_what_a_method_ignores_is_refused():
    ModelChoice("majority").check_used()
    ModelChoice("amcc").check_used(features=True, roster=Path("w.csv"))
    ModelChoice("nam").check_used(features=True, of_workers=True)
    for options in ({"features": True}, {"roster": Path("w.csv")}):
        with pytest.raises(ParameterError, match="does not use"):
            ModelChoice("majority").check_used(**options)
    with pytest.raises(ParameterError, match="to judge workers"):
        ModelChoice("amcc").check_used(features=True, of_workers=True)


def test_items_without_answer_are_counted():
    votes = Votes.from_dense([[[1, -1], [0, 0], [0, 1]]])
    assert InMemory(votes).total(items_without_answer).items == 1


@pytest.mark.parametrize(("method", "whole"), [("ebcc", False), ("majority", True)])
def test_packed_votes_come_to_memory_where_all_are_needed(method, whole, packed):
    with EngineOptions().running(packed, method, whole=whole) as votes:
        assert isinstance(votes, Votes)
        assert len(votes) == 3


def test_packed_votes_stay_where_they_are(packed):
    assert "majority" in BY_BLOCKS
    with EngineOptions().running(packed, "majority", whole=False) as blocks:
        assert isinstance(blocks, Engine)
        assert blocks.n_votes == 3


@pytest.mark.parametrize(
    "options", [EngineOptions(engine="dask"), EngineOptions(scheduler="tcp://x"), EngineOptions(checkpoint=Path("c"))]
)
def test_engines_are_for_packed_votes(options, votes_file):
    with (
        pytest.raises(ParameterError, match="are for packed votes"),
        options.running(NAMED.read(votes_file), "majority", whole=False),
    ):
        pass


def test_a_scheduler_needs_dask(packed):
    with pytest.raises(ParameterError, match="--scheduler is for --engine dask"):
        EngineOptions(scheduler="tcp://x").over(packed)


@pytest.mark.parametrize(("text", "size"), [("4GB", 4 * 10**9), ("800 mb", 8 * 10**8), ("1.5g", 15 * 10**8), ("7", 7)])
def test_sizes_as_people_write_them(text, size):
    assert parsed_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GB", "1.2.3GB", "-1GB", "4 gigabytes", "4PB"])
def test_sizes_that_nobody_can_read(text):
    with pytest.raises(ParameterError, match="must be a size like 4GB"):
        parsed_bytes(text)
