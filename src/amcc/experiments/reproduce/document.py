"""Tables and figures inside of a document, which has words of its own around them.

The document holds BEGIN and END. Between them every study has a part, between markers with its name, and with its own
note of when and how it was made: studies take hours, so one is run today and another next month. A run replaces the
parts of its studies and leaves all others as they are, letter for letter. Figures are SVG files in a folder beside the
document, which several documents may share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from amcc.errors import InputError
from amcc.experiments.reproduce.output import Drawn, Provenance, note_lines, output_lines
from amcc.experiments.reproduce.plan import Reproduction
from amcc.files import check_readable, make_folder, not_read, whole_file

BEGIN, END = "<!-- reproduce -->", "<!-- /reproduce -->"
# Where figures are, beside the document.
FIGURES = "figures"
_PART = re.compile(r"<!-- reproduce (\S+) -->\n.*?\n<!-- /reproduce \1 -->", flags=re.DOTALL)


def check_docs(path: Path) -> None:
    """Raise unless the document is there and has one place for tables and figures.

    Asked before anything is measured: hours later would be late to learn of a wrong path.
    """
    check_readable(path)
    text = _read(path)
    # Twice would be two places for one table, the wrong way round none.
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise InputError(
            f"{path} must hold the line {BEGIN} and, after it, {END}, each once. Tables and figures go between them."
        )
    _, between, _ = _split(text)
    names = [found[1] for found in _PART.finditer(between)]
    # Also what is left of a part with a lost or misspelt marker. It would else be lost without a word.
    stray = _PART.sub("", between).strip()
    if stray or len(set(names)) < len(names):
        what = f"found the line {stray.splitlines()[0]!r}" if stray else f"found {', '.join(names)}"
        raise InputError(
            f"{path} must hold nothing between {BEGIN} and {END} but parts, one for a study, from "
            f"<!-- reproduce NAME --> to <!-- /reproduce NAME -->; {what}. Move it elsewhere, or remove it."
        )


def update_docs(
    path: Path,
    found: Mapping[str, Reproduction],
    drawn: Mapping[str, Drawn],
    provenance: Provenance,
    order: Mapping[str, object],
) -> None:
    """Put what studies have found into the document.

    found : by study. drawn : their figures, by name. order : all studies, in the order that their parts shall have.
    All files are written before the first takes its place, the document as the last: a full disk leaves all as it was.
    """
    check_docs(path)
    before, between, after = _split(_read(path))
    parts = {part[1]: part[0] for part in _PART.finditer(between)}
    parts |= {name: _part(name, each, replace(provenance, what=(name,))) for name, each in found.items()}
    # Studies that this version does not know stand at the end: they are for people to move.
    names = sorted(parts, key=[*order, *parts].index)
    text = "\n\n".join([f"{before}{BEGIN}", *(parts[name] for name in names), f"{END}{after}"])
    folder = path.parent / FIGURES
    figures = {folder / f"{name}.svg": figure.svg for name, figure in drawn.items()}
    if figures:
        make_folder(folder)
    with ExitStack() as stack:
        # What is opened first gets its name last.
        for place, content in {path: text.encode(), **figures}.items():
            stack.enter_context(whole_file(place)).write_bytes(content)


def _read(path: Path) -> str:
    """The text of the document."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise not_read(path, f"byte {error.start} is not UTF-8", "Save it as UTF-8.") from None


def _split(text: str) -> tuple[str, str, str]:
    """What is before, between and after the markers."""
    before, _, rest = text.partition(BEGIN)
    between, _, after = rest.partition(END)
    return before, between, after


def _part(name: str, found: Reproduction, provenance: Provenance) -> str:
    """The part of a study, in its markers.

    How it came about stands below: above it would seem to belong to the part before.
    """
    lines = [*output_lines(found, f"{FIGURES}/{{}}.svg"), "", *note_lines(found, provenance)]
    return "\n".join([f"<!-- reproduce {name} -->", *lines, "", f"<!-- /reproduce {name} -->"])
