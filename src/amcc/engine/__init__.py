"""Where a fit runs: votes in blocks of whole items, in memory, out of core or on a cluster.

    from amcc.engine import LocalEngine
    model = AMCC().fit(LocalEngine("packed"))

base        the contract: `Engine` and `Block`; votes in memory
packed      a folder of blocks that `amcc pack` made (`PackedVotes`)
counts      whether numbers from such a folder are counts and codes that fit each other
shards      coins cut by worker, where a fit works on them: in this process, one shard (`Shards`)
local       packed votes on this machine, within a given amount of memory (`LocalEngine`)
dask        packed votes on the processes of a Dask cluster (`DaskEngine`)
dask_shards coins that live with these processes (`DaskShards`)
checkpoint  how far a fit has come, so that an interrupted one goes on (`Checkpoint`)

**A new engine is one file.** Subclass `Engine`, call its constructor with the votes, and fill two verbs:

* `total(function, *shared)`: the sum over blocks of function(block, *shared), a named tuple (`base.added` adds up);
* `each(function, *shared)`: an iterator over function(block, *shared), in the order of the items.

Cut votes into blocks of whole items. Do not change what the function is given, and add blocks up in a fixed order: then
every model that works with engines gives the same as in memory. `tests/contract/test_engines.py` says what that means;
docs/examples/engine.md is an engine of a few lines.

Names are imported when they are first used: `LocalEngine` must work where Dask is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amcc.lazy import lazy_names

if TYPE_CHECKING:
    from amcc.engine.base import Engine
    from amcc.engine.checkpoint import Checkpoint
    from amcc.engine.dask import DaskEngine
    from amcc.engine.local import LocalEngine
    from amcc.engine.packed import PackedVotes

__all__ = ["Checkpoint", "DaskEngine", "Engine", "LocalEngine", "PackedVotes"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base": ("Engine",),
        "checkpoint": ("Checkpoint",),
        "dask": ("DaskEngine",),
        "local": ("LocalEngine",),
        "packed": ("PackedVotes",),
    },
)
