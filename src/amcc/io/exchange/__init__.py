"""Exports of other tools, read as they are: votes, what was skipped, what is known, and who the workers are.

| file | what it knows |
|---|---|
| `tool` | what a tool's export is to us, and the registry of those there are |
| `source` | a file, looked at: its first record, its columns, its members; all its records, with their place |
| `answers` | what an export says, collected answer by answer; it becomes votes, truth and a roster |
| `values` | what judges wrote, as yes and no |
| `decisions` | what a file cannot say and a person must: one flag each |
| `export` | what is read: `Export`, with votes, truth, roster, skips and texts |
| `pseudonyms` | other names for workers, by a key |
| all others | one file per tool |

Every export confuses some of these: *no*, *none of them*, *not asked*, *skipped*, *known to be true*. A reader tells
them apart, or says which flag it needs, and why. Fixtures in the tests are written after the documented shapes.
"""

from __future__ import annotations

import importlib
import pkgutil

from amcc.io.exchange.decisions import Decisions, flag
from amcc.io.exchange.export import Export, read_source
from amcc.io.exchange.source import Records, Source, suffix_of
from amcc.io.exchange.tool import TOOLS, PlainTable, Tool, recognised, tool_named

__all__ = [
    "TOOLS", "Decisions", "Export", "PlainTable", "Records", "Source", "Tool", "flag", "read_source", "recognised",
    "suffix_of", "tool_named",
]  # fmt: skip

# Tools register themselves when they are imported.
for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
