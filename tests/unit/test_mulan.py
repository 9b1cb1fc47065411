"""Feature sets as MULAN publishes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc.data.mulan import read_arff, read_label_names
from amcc.data.reading import read_feature_set
from amcc.errors import FileFormatError

XML = '<?xml version="1.0"?>\n<labels xmlns="http://mulan.sourceforge.net/labels"><label name="sad song"/>{}</labels>'
HEAD = """% made up
@RELATION music

@attribute loud numeric
@attribute "sad song" {0, 1}
@attribute 'key' {minor,major}
@attribute merry {0,1}
@data
"""


@pytest.fixture
def mulan(tmp_path: Path) -> Path:
    place = tmp_path / "mulan_emotions"
    place.mkdir()
    (place / "emotions.xml").write_text(XML.format('<label name="merry"></label>'))
    (place / "emotions.arff").write_text(HEAD + "0.5,1,major,0\n\n% a remark\n-2e-1, 0, minor, 1\n")
    return tmp_path


def test_mulan_dense(mulan):
    described = read_feature_set("mulan_emotions", mulan)
    assert_allclose(described.features, [[0.5, 1], [-0.2, 0]], rtol=0, atol=0)
    assert_array_equal(described.truth, [[True, False], [False, True]])
    assert described.label_names == ("sad song", "merry")
    assert described.item_names == ("emotions_00000", "emotions_00001")


def test_mulan_sparse_rows_leave_out_what_is_zero(mulan):
    (mulan / "mulan_emotions" / "emotions.arff").write_text(HEAD + "{0 0.5, 1 1,2 major}\n{ 3 1 }\n{}\n")
    described = read_feature_set("mulan_emotions", mulan)
    assert_allclose(described.features, [[0.5, 1], [0, 0], [0, 0]], rtol=0, atol=0)
    assert_array_equal(described.truth, [[True, False], [False, True], [False, False]])


def test_mulan_parts(mulan):
    place = mulan / "mulan_emotions"
    (place / "emotions.arff").unlink()
    (place / "emotions-test.arff").write_text(HEAD + "9,0,minor,1\n")
    (place / "emotions-train.arff").write_text(HEAD + "1,0,minor,1\n2,0,minor,1\n")
    assert_array_equal(read_feature_set("mulan_emotions", mulan).features[:, 0], [1, 2, 9])
    (place / "emotions-test.arff").write_text(HEAD.replace("loud", "lord") + "9,0,minor,1\n")
    with pytest.raises(FileFormatError, match="they differ"):
        read_feature_set("mulan_emotions", mulan)
    (place / "emotions-test.arff").unlink()
    with pytest.raises(FileFormatError, match=r"emotions-test\.arff does not exist"):
        read_feature_set("mulan_emotions", mulan)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "rows after a line @data"),
        ("1,0,minor\n", "line 9: a row must have 4 cells; got 3"),
        ("1,0,minor,1\nx,0,minor,1\n", "line 10: could not convert"),
        ("1,0,dorian,1\n", "'dorian' is not one of its values"),
        ("{9 1}\n", "line 9"),
        ("?,0,minor,1\n", "line 9"),
    ],
)
def test_arff_files_that_are_wrong(tmp_path, rows, message):
    path = tmp_path / "x.arff"
    path.write_text(HEAD + rows)
    with pytest.raises(FileFormatError, match=message):
        read_arff(path)


def test_arff_columns_of_text_are_refused(tmp_path):
    path = tmp_path / "x.arff"
    path.write_text("@attribute name string\n@data\nx\n")
    with pytest.raises(FileFormatError, match="'name' must hold numbers"):
        read_arff(path)


def test_mulan_labels_that_are_wrong(mulan):
    xml = mulan / "mulan_emotions" / "emotions.xml"
    xml.write_text(XML.format('<label name="angry"/>'))
    with pytest.raises(FileFormatError, match="'angry' has none"):
        read_feature_set("mulan_emotions", mulan)
    xml.write_text(XML.format('<label name="loud"/>'))
    with pytest.raises(FileFormatError, match="labels must be 0 or 1"):
        read_feature_set("mulan_emotions", mulan)
    xml.write_text("<labels/>")
    with pytest.raises(FileFormatError, match="there is none"):
        read_label_names(xml)
    xml.write_text("<labels>")
    with pytest.raises(FileFormatError, match="XML"):
        read_label_names(xml)


def test_mulan_labels_may_be_nested(tmp_path):
    path = tmp_path / "x.xml"
    path.write_text('<labels><label name="music"><label name="sad"/><label name="merry"/></label></labels>')
    assert read_label_names(path) == ["music", "sad", "merry"]


@pytest.mark.parametrize(
    ("line", "name", "values"),
    [
        ("@attribute a numeric", "a", None),
        ("@ATTRIBUTE a REAL", "a", None),
        ("@attribute\ta\tinteger [0,9]", "a", None),
        (r"@attribute 'it\'s' real", "it's", None),
        ('@attribute "two words" real', "two words", None),
        ("@attribute a {low, 'very high'}", "a", {"low": 0.0, "very high": 1.0}),
        ("@attribute a {2, -1, 0.5}", "a", {"2": 2.0, "-1": -1.0, "0.5": 0.5}),
    ],
)
def test_arff_columns(tmp_path, line, name, values):
    path = tmp_path / "x.arff"
    cell = "1" if values is None else "'very high'" if "very high" in values else "0.5"
    path.write_text(f"{line}\n@DATA\n{cell}\n")
    ((attribute,), cells) = read_arff(path)
    assert (attribute.name, attribute.values) == (name, values)
    assert cells.tolist() == [[1.0 if cell != "0.5" else 0.5]]


def test_arff_sparse_rows_leave_out_the_first_value(tmp_path):
    """Weka's rule: what is left out is zero, and of named values the first one."""
    path = tmp_path / "x.arff"
    path.write_text("@attribute a {3, 4}\n@attribute b real\n@data\n{}\n{0 4, 1 7}\n")
    assert read_arff(path)[1].tolist() == [[3, 0], [4, 7]]


@pytest.mark.parametrize("line", ["@attribute", "@attribute loud", "@attribute a {0, 1"])
def test_arff_attributes_that_are_cut(tmp_path, line):
    path = tmp_path / "x.arff"
    path.write_text(f"{line}\n@data\n1\n")
    with pytest.raises(FileFormatError, match=r"x\.arff, line 1"):
        read_arff(path)
