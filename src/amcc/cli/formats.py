"""amcc formats: what can be read. The list is made from the registries of formats and tools."""

from __future__ import annotations

from amcc.cli.console import screen, titled_table
from amcc.cli.output import Json, print_json
from amcc.exports import WRITERS
from amcc.io import FORMATS
from amcc.io.exchange import TOOLS, flag


def formats(as_json: Json = False) -> None:
    """List the files that can be read, with the options that they may need, and the forms that can be written."""
    if as_json:
        tools = [
            {"format": tool.name, "title": tool.title, "about": tool.about, "options": [*map(flag, tool.uses)]}
            for tool in TOOLS
        ]
        written = [{"to": writer.name, "title": writer.title} for writer in WRITERS]
        print_json({"tables": [list(kind.suffixes) for kind in FORMATS], "exports": tools, "written": written})
        return
    # Two columns: sentences in narrow ones are hard to read, and most terminals have 80 characters.
    rows = [[tool.name, f"{tool.title}. {tool.about} Options: {' '.join(map(flag, tool.uses))}"] for tool in TOOLS]
    screen.print(titled_table(["--format", "whose export, and what it says"], rows))
    screen.print(titled_table(["--to", "what amcc consensus --export writes"], [[w.name, w.title] for w in WRITERS]))
    suffixes = ", ".join(suffix for kind in FORMATS for suffix in kind.suffixes)
    screen.print(f"Tables of votes: {suffixes}. Exports are known by their content; --format is for doubtful ones.")
