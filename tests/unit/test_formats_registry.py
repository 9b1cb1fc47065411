"""The registry of formats: a new format is one file that registers itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import amcc.io
from amcc.errors import FileFormatError, InputError, ParameterError
from amcc.io import FORMATS, format_of, read_table, write_table
from amcc.io.format import Format, damaged_archive, register

NEW_FORMAT = """
import pyarrow as pa
from amcc.io.format import Format, register

def read(path, choose):
    names = path.read_text().split()
    return pa.table({"item": names}).select(list(choose(["item"])))

def read_batches(path, choose):
    yield from read(path, choose).to_batches()

def write(tables, path):
    path.write_text(" ".join(name for table in tables for name in table["item"].to_pylist()))

register(Format((".words",), read, read_batches, write, starts=lambda beginning: beginning.startswith(b"WORDS")))
"""


def test_a_file_in_the_folder_is_all_that_a_new_format_needs(tmp_path):
    """In a copy of the package: nothing there knows the new format but its own file."""
    package = Path(amcc.__file__).parent
    (tmp_path / "amcc").mkdir()
    for part in package.iterdir():
        if part.name != "io":
            (tmp_path / "amcc" / part.name).symlink_to(part)
    (tmp_path / "amcc" / "io").mkdir()
    for part in (package / "io").iterdir():
        (tmp_path / "amcc" / "io" / part.name).symlink_to(part)
    (tmp_path / "amcc" / "io" / "words.py").write_text(NEW_FORMAT)
    code = """
import io, pathlib, pyarrow as pa
from amcc.io import read_table, spool, write_table
write_table(pa.table({"item": ["a", "b"]}), "list.words")
print(read_table("list.words")["item"].to_pylist(), spool(io.BytesIO(b"WORDS a"), pathlib.Path(".")).name)
"""
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert run.stdout == "['a', 'b'] standard-input.words\n", run.stderr


def test_no_two_formats_share_a_suffix():
    suffixes = [suffix for kind in FORMATS for suffix in kind.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    csv = FORMATS[0]
    with pytest.raises(ValueError, match=r"has the suffix \.csv already"):
        register(Format((".new", ".csv"), csv.read, csv.read_batches, csv.write))


@pytest.mark.parametrize("name", ["a.CSV", "a.b.Tsv.GZ", "a.parquet", "a.NDJSON.gz"])
def test_the_suffix_says_the_format_whatever_its_case(name):
    assert name.lower().endswith(format_of(Path(name)).suffixes)


@pytest.mark.parametrize(
    "name, message",
    [("a.xlsx", "save it as CSV"), ("a.zip", "unpack it"), ("a", "one of .csv"), ("a.gz", "one of .csv")],
)
def test_other_suffixes_are_refused(name, message):
    with pytest.raises(InputError, match=message):
        format_of(Path(name))


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_only_text_tables_have_a_separator(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    write_table(pa.table({"item": ["x"]}), path)
    with pytest.raises(ParameterError, match="separator is for text tables"):
        read_table(path, separator=";")


def test_a_damaged_archive_is_told_as_such():
    assert isinstance(damaged_archive("crc"), FileFormatError)
    assert "cut off (crc). Copy or download it again." in str(damaged_archive("crc"))
