"""SONYC-UST as its makers publish it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from amcc.data.reading import check_set, read_set
from amcc.data.sonyc import read_sonyc
from amcc.errors import ColumnError, EmptyInputError, VoteValueError

SONYC = """\
split,sensor_id,audio_filename,annotator_id,1-1_small_presence,1-2_big_presence,1-X_any_presence,1_engine_presence,near
train,0,a.wav,7,1,0,0,1,near
train,0,a.wav,12,0,-1,0,0,-1
validate,0,b.wav,12,1,1,0,1,far
validate,0,b.wav,-2,0,0,0,0,-1
validate,0,b.wav,0,0,1,1,1,-1
"""


@pytest.fixture
def sonyc(tmp_path: Path) -> Path:
    (tmp_path / "sonyc_ust").mkdir()
    (tmp_path / "sonyc_ust" / "annotations.csv").write_text(SONYC)
    return tmp_path


def test_sonyc_all_clips(sonyc):
    crowd = read_set("sonyc_ust_fine_all", sonyc)
    assert crowd.votes.worker_names.to_pylist() == ["7", "12"]
    assert crowd.votes.item_names.to_pylist() == ["a.wav", "b.wav"]
    assert crowd.votes.label_names.to_pylist() == ["1-1_small", "1-2_big"]
    assert_array_equal(crowd.votes.to_dense(), [[[1, -1], [0, 0]], [[-1, 0], [1, 1]]])
    assert_array_equal(crowd.truth, [[False, False], [False, True]])
    assert_array_equal(crowd.known, [[False, False], [True, True]])


def test_sonyc_verified_clips_and_coarse_tags(sonyc):
    crowd = read_set("sonyc_ust_fine_val", sonyc)
    assert crowd.votes.item_names.to_pylist() == ["b.wav"]
    assert crowd.votes.worker_names.to_pylist() == ["12"]
    coarse = read_set("sonyc_ust_coarse_val", sonyc)
    assert coarse.votes.label_names.to_pylist() == ["1_engine"]
    assert_array_equal(coarse.truth, [[True]])


def test_sonyc_in_its_own_folder_comes_first(sonyc):
    own = sonyc / "sonyc_ust_fine_all"
    own.mkdir()
    (own / "annotations.csv").write_text(SONYC.replace("a.wav", "c.wav"))
    assert read_set("sonyc_ust_fine_all", sonyc).votes.item_names.to_pylist() == ["b.wav", "c.wav"]
    assert check_set("sonyc_ust_fine_all", sonyc)[0].startswith("sonyc_ust_fine_all should have 549 workers")


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("annotator_id", "who", ColumnError, "annotator_id is not there"),
        ("_presence", "_seen", ColumnError, "fine tags"),
        ("a.wav,7,1", "a.wav,7,3", VoteValueError, "1, 0 or -1"),
        ("a.wav,7,1", "a.wav,7,", VoteValueError, "whole numbers"),
        (".wav,12,", ".wav,-3,", EmptyInputError, "volunteers"),
    ],
)
def test_sonyc_files_of_another_kind(sonyc, old, new, error, message):
    path = sonyc / "sonyc_ust" / "annotations.csv"
    path.write_text(SONYC.replace(old, new))
    with pytest.raises(error, match=message):
        read_sonyc(path)


def test_sonyc_written_back_as_published(shared_data, tmp_path):
    """The verified clips in the published layout give the same votes and truth as in the common one."""
    crowd = read_set("sonyc_ust_fine_val", shared_data)
    dense, labels = crowd.votes.to_dense(), crowd.votes.label_names.to_pylist()
    clips = crowd.votes.item_names.to_pylist()
    lines = [",".join(["audio_filename", "annotator_id", *(f"{label}_presence" for label in labels)])]
    for worker, item in np.argwhere((dense != 0).any(axis=2)):
        lines.append(",".join([clips[item], str(worker + 1), *np.where(dense[worker, item] > 0, "1", "0")]))
    for clip, truth in zip(clips, crowd.truth, strict=True):
        lines.append(",".join([clip, "0", *np.where(truth, "1", "0")]))
    (tmp_path / "sonyc_ust").mkdir()
    (tmp_path / "sonyc_ust" / "annotations.csv").write_text("\n".join(lines) + "\n")
    assert check_set("sonyc_ust_fine_val", tmp_path) == []
    again = read_set("sonyc_ust_fine_val", tmp_path)
    assert_array_equal(again.votes.to_dense(), dense)
    assert_array_equal(again.truth, crowd.truth)


def test_sonyc_truth_that_was_not_asked_is_not_known(sonyc):
    path = sonyc / "sonyc_ust" / "annotations.csv"
    path.write_text(SONYC.replace("b.wav,0,0,1,1,1", "b.wav,0,-1,1,1,1"))
    crowd = read_sonyc(path)
    assert_array_equal(crowd.known, [[False, True]])
    assert_array_equal(crowd.truth, [[False, True]])


def test_sonyc_members_of_the_team_do_not_vote(sonyc):
    """Annotators below 0 and the agreed one are no workers, and a clip that only they saw is no item."""
    path = sonyc / "sonyc_ust" / "annotations.csv"
    path.write_text(SONYC + "test,0,c.wav,-1,1,1,0,1,far\ntest,0,c.wav,0,1,1,0,1,far\n")
    crowd = read_sonyc(path, verified_only=False)
    assert crowd.votes.worker_names.to_pylist() == ["7", "12"]
    assert crowd.votes.item_names.to_pylist() == ["a.wav", "b.wav"]
    assert crowd.truth.shape == crowd.known.shape == (2, 2)


def test_sonyc_saved_again_by_other_programs(sonyc):
    """Numbers as 1.0, and a volunteer who stands twice at a clip: the last row counts."""
    path = sonyc / "sonyc_ust" / "annotations.csv"
    path.write_text(SONYC.replace("b.wav,12,1,1", "b.wav,12.0,1.0,0.0") + "validate,0,b.wav,12,-1,1,0,1,far\n")
    crowd = read_sonyc(path)
    assert crowd.votes.worker_names.to_pylist() == ["12"]
    assert crowd.votes.to_dense().tolist() == [[[1, 1]]]
