"""What a tool's export is to us, and the registry of those there are.

A tool is one file of this folder that ends with `register(Tool(…))`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from amcc.errors import InputError, ParameterError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions
from amcc.io.exchange.source import Source


class PlainTable(NamedTuple):
    """A table of votes that a file of another tool holds; with notes on how it was found."""

    table: pa.Table
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tool:
    """An export that we can read.

    Parameters
    ----------
    name : how --format calls it, in small letters.
    title : the tool and the kind of export, as its makers call them.
    about : one sentence: what is a worker, an item, a label in it, and what it cannot say.
    recognises : whether a file is such an export, by a quick look: words that say by what it was known, or None.
    read : all that it says; None for a tool whose files hold a plain table of votes.
    uses : names of the decisions that it has room for.
    personal : whether its worker ids say who somebody is elsewhere; then workers get numbers, unless a person decides.
    table : (source, question) → that table, which is then read as any other, with the same options.
    """

    name: str
    title: str
    about: str
    recognises: Callable[[Source], str | None]
    read: Callable[[Source, Decisions], Answers] | None
    uses: tuple[str, ...] = ()
    personal: bool = False
    table: Callable[[Source, str | None], PlainTable] | None = None


TOOLS: list[Tool] = []


def register(tool: Tool) -> None:
    """Make a tool known; no two may share a name."""
    if any(other.name == tool.name for other in TOOLS):
        raise ValueError(f"there is a tool {tool.name} already")
    TOOLS.append(tool)
    TOOLS.sort(key=lambda each: each.name)


def tool_named(name: str) -> Tool:
    """The tool that --format names."""
    for tool in TOOLS:
        if tool.name == name:
            return tool
    raise ParameterError(f"--format must be one of {', '.join(each.name for each in TOOLS)}; got {name!r}.")


def recognised(source: Source) -> tuple[Tool, str] | None:
    """Whose export it is, and by what it was known; None for anything else, such as a plain table of votes."""
    found = [(tool, why) for tool in TOOLS if (why := tool.recognises(source))]
    if len(found) > 1:
        names = " and ".join(f"{tool.name} ({why})" for tool, why in found)
        raise InputError(f"{source.path} looks like {names}. Say which: --format {found[0][0].name}.")
    return found[0] if found else None
