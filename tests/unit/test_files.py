"""Files are complete or absent, whoever is killed while writing them; what cannot be written is named."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from amcc.errors import InputError
from amcc.files import whole_file, written_to

WRITER = """
import sys, time
from pathlib import Path
from amcc.files import whole_file
with whole_file(Path("out.csv")) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def writer(tmp_path):
    """Somebody who writes out.csv and is not done."""
    run = subprocess.Popen([sys.executable, "-c", WRITER], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert run.stdout.readline() == "writing\n"
    yield run
    run.kill()
    run.communicate()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_writer_left_goes_with_the_next_writing(writer, tmp_path):
    (tmp_path / ".part-12345678-other-out.csv").write_text("of another file")
    (tmp_path / ".part-notes").write_text("of a person")
    with whole_file(tmp_path / "out.csv") as temporary:
        temporary.write_text("one")
    assert len(names(tmp_path)) == 4, "the writer lives, so its file stays"
    writer.kill()
    writer.wait()
    with whole_file(tmp_path / "out.csv") as temporary:
        temporary.write_text("two")
    assert names(tmp_path) == [".part-12345678-other-out.csv", ".part-notes", "out.csv"]
    assert (tmp_path / "out.csv").read_text() == "two"


def test_two_may_write_the_same_file_inside_each_other(tmp_path):
    """The last one wins, and neither removes what the other still writes."""
    with whole_file(tmp_path / "[a]*.csv") as outer:
        outer.write_text("outer")
        with whole_file(tmp_path / "[a]*.csv") as inner:
            inner.write_text("inner")
        assert (tmp_path / "[a]*.csv").read_text() == "inner"
    assert (tmp_path / "[a]*.csv").read_text() == "outer"
    assert names(tmp_path) == ["[a]*.csv"]


PACKER = """
import os, signal, sys
from amcc.engine import packed
from amcc.io.pack import pack_votes

whole_file, calls = packed.whole_file, []

def deadly(path):
    calls.append(path)
    if len(calls) == int(sys.argv[1]):
        whole_file(path).__enter__().write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)
    return whole_file(path)

packed.whole_file = deadly
pack_votes("votes.csv", "packed", block_votes=4)
"""


@pytest.mark.parametrize("call", [3, 5, 7])
def test_packing_again_after_a_kill_leaves_no_trace_of_it(call, tmp_path):
    """Killed while it writes a list of names, a block, and the last table."""
    from amcc.io.pack import pack_votes

    rows = [f"{worker},{item},cat,1" for item in range(4) for worker in range(3)]
    (tmp_path / "votes.csv").write_text("\n".join(["worker,item,label,value", *rows]))
    run = subprocess.run([sys.executable, "-c", PACKER, str(call)], cwd=tmp_path)
    assert run.returncode == -signal.SIGKILL
    assert list(tmp_path.rglob(".part-*"))
    pack_votes(tmp_path / "votes.csv", tmp_path / "packed", block_votes=4)
    assert not list(tmp_path.rglob(".part-*"))
    assert names(tmp_path) == ["packed", "votes.csv"]


def test_errors_of_the_system_name_the_file():
    words = r"out\.csv cannot be written: No space left on device\. Make room"
    with pytest.raises(InputError, match=words), written_to(Path("out.csv")):
        raise OSError(28, "Error writing bytes. Detail: [errno 28]")


@pytest.mark.parametrize(
    "words",
    [("pack", "votes.csv", "-o", "packed"), ("simulate-crowd", "-o", "crowd", "--votes", "100000")],
    ids=" ".join,
)
def test_no_room_names_the_place(words, tmp_path):
    """The system refuses to let files grow beyond two kilobytes, as a full disk would."""
    rows = [f"{worker},{item},cat,1" for item in range(400) for worker in range(3)]
    (tmp_path / "votes.csv").write_text("\n".join(["worker,item,label,value", *rows]))
    run = subprocess.run(
        [sys.executable, "-m", "amcc", *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    assert (
        f"{words[2] if words[0] == 'simulate-crowd' else '.packing-packed'} cannot be written: File too" in run.stderr
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_standard_output_is_named():
    with Path("/dev/full").open("w") as full:
        run = subprocess.run([sys.executable, "-m", "amcc", "methods"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1
    assert run.stderr == "error: standard output: No space left on device\n"


# --- errors and hashes --------------------------------------------------------------------------------------


def test_errors_of_the_system_are_told_in_its_own_words():
    from amcc.files import first_line, not_read, not_written

    full = OSError(28, "[Errno 28] while Arrow wrote")
    assert str(not_written(Path("a"), full)) == (
        "a cannot be written: No space left on device. Make room, or choose another place."
    )
    assert str(not_read(Path("a"), OSError("torn"))) == "a cannot be read: torn."
    assert str(not_read(Path("a"), "it is torn", "Copy it again.")) == "a cannot be read: it is torn. Copy it again."
    assert first_line(ValueError("one\ntwo")) == "one"
    assert first_line(ValueError()) == "ValueError"


def test_what_is_no_file_is_refused(tmp_path):
    from amcc.errors import FileFormatError
    from amcc.files import check_is_file

    with pytest.raises(FileFormatError, match=r"absent does not exist\.$"):
        check_is_file(tmp_path / "absent")
    with pytest.raises(FileFormatError, match=r"is a directory, not a saved model\.$"):
        check_is_file(tmp_path, "a saved model")
    with pytest.raises(FileFormatError, match=r"is a directory; name a file in it\.$"):
        check_is_file(tmp_path)


def test_a_hash_depends_on_the_content_only(tmp_path):
    import hashlib

    import numpy as np

    from amcc.files import content_hash

    (tmp_path / "one").write_bytes("é".encode())
    (tmp_path / "two").write_bytes("é".encode())
    numbers = np.arange(3)
    expected = hashlib.sha256("é".encode() + b"b" + numbers.tobytes()).hexdigest()
    for first in (tmp_path / "one", tmp_path / "two", "é", "é".encode()):
        assert content_hash(first, b"b", numbers) == expected
    assert content_hash("é") != content_hash("e")
    with pytest.raises(FileNotFoundError):
        content_hash(tmp_path / "absent")
