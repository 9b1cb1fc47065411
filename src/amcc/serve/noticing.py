"""What a server notices by itself and tells webhooks, each thing once, also with several servers: fits, proposals."""

from __future__ import annotations

import json

from sqlalchemy import Connection, select

from amcc.serve import events
from amcc.serve.core import Core
from amcc.serve.money import Till
from amcc.serve.reports import standing, worker_statuses
from amcc.serve.store.schema import belief_versions, workers


def tell_fit(core: Core) -> None:
    """Tell that the fit whose beliefs hold now has finished, unless somebody has told it already."""
    live = core.live_now
    if live is None or live.believed.learned.version == 0:
        return
    learned, found = live.believed.learned, standing(live)
    about = {"version": learned.version, "votes": learned.n_votes, "expected_error": round(found.error, 6),
             "settled_share": round(found.settled / live.counts.known.size, 6)}  # fmt: skip
    rows = belief_versions.c
    untold = belief_versions.update().where(rows.version == learned.version, rows.about == "{}")

    def write(connection: Connection) -> None:
        till = Till.open(connection)
        if connection.execute(untold.values(about=json.dumps(about))).rowcount:
            events.tell(till, core.settings, "fit.finished", core.clock(), lambda: about)
            till.close()

    core.database.write(write)


def tell_proposals(core: Core) -> None:
    """Tell of every worker who is proposed for blocking, once; a person decides."""
    with core.database.read() as connection:
        untold = set(connection.execute(select(workers.c.id).where(workers.c.proposed_at.is_(None))).scalars())
        people = worker_statuses(connection, core.live(connection)) if untold else ()
    found = [each for each in people if each.propose_block and each.id in untold]
    now = core.clock()

    def write(connection: Connection) -> None:
        till = Till.open(connection)
        for each in found:
            still = workers.update().where(workers.c.id == each.id, workers.c.proposed_at.is_(None))
            if connection.execute(still.values(proposed_at=now)).rowcount:
                data = {"worker": each.name, "why": each.propose_block}
                events.tell(till, core.settings, "worker.proposed", now, data.copy)
        till.close()

    if found:
        core.database.write(write)
