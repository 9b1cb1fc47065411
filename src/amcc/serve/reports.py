"""How a campaign stands: for the dashboard, the command line and the charts."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from amcc.inference import LEVEL, wilson
from amcc.serve.core import Core
from amcc.serve.live import Live
from amcc.serve.money import Till
from amcc.serve.store.schema import campaign, history, items, leases, log, workers
from amcc.serve.views import (
    AuditedError,
    Disputed,
    History,
    LabelStatus,
    LogEntry,
    NextMoneyView,
    Status,
    WorkerStatus,
)  # fmt: skip
from amcc.special import betainc

# Pairs that the requester is shown to decide: as many as fit on a screen or two.
QUEUE = 20


# Points of a chart, at most: more cannot be seen.
POINTS = 400

# Seconds between two points of the history at least, and the share of the campaign's age: a chart of 300 points.
LEAST_STEP, STEP_SHARE = 2.0, 1 / 300

# Leases by which the usual time for a page is told.
TIMED = 3000

# Checks, or answers, before a worker may be proposed for blocking, and when: chances below one in a hundred that
# somebody who is right in three of four would get so few right; or hardly better than guessing after many answers.
CHECKS, RIGHT, SURELY = 5, 0.75, 0.01
ANSWERS, GUESSING = 40, 0.1

# Answers from which on a skill is told: before, it is mostly what is expected of anybody.
SKILL_FROM = 10


@dataclass(frozen=True)
class Standing:
    """How the last whole fit found all pairs, see `standing`."""

    settled: int
    known: int
    error: float
    of_label: tuple[tuple[int, int, int, float], ...]  # votes, yes, settled, error


def standing(live: Live) -> Standing:
    """How the last whole fit found all pairs, in numbers, beside the votes that are there now.

    What is believed vote by vote between fits is surer than a fit would be: it chooses questions, and is not reported.
    """
    counts, learned = live.counts, live.believed.learned
    n_votes, n_yes = (each.sum(axis=0, dtype=np.int64) for each in (counts.n_votes, counts.n_yes))
    done = counts.known >= 0
    there = min(len(done), len(learned.settled))  # another server may have fitted to items that this one has not read
    done[:there] |= learned.settled[:there]
    settled = done.sum(axis=0)
    columns = (n_votes, n_yes, settled, learned.error)
    of_label = tuple(zip(*(each.tolist() for each in columns), strict=True))
    return Standing(int(settled.sum()), live.n_known, float(learned.error.mean()), of_label)


def status(core: Core, *, fitting: bool) -> Status:
    """All that the dashboard shows."""
    with core.database.read(snapshot=True) as connection:
        till = core.look(connection)
        live = core.live(connection)
        live.catch_up(connection, till)
        now = standing(live)
        counted = _counts(connection)
        people = worker_statuses(connection, live)
        disputed = _disputed(connection, core, live)
        past = read_history(connection)
    learned, settings, n_pairs = live.believed.learned, core.settings, live.counts.known.size
    return Status(
        name=settings.name, title=settings.title, state=settings.state, currency=settings.currency,
        decimals=settings.decimals, money=till.balance, head=till.head, n_items=till.n_items, n_labels=len(core.views),
        n_workers=till.n_workers, n_votes=till.n_votes - counted["checks"], n_skips=till.n_skips,
        n_checks=counted["checks"], n_pages=counted["pages"], open_leases=counted["open"], n_pairs=n_pairs,
        settled=now.settled, known=now.known, expected_error=now.error, **learned.counts.shares(),
        audited=_audited(live),
        beliefs_version=learned.version, fitted_votes=live.n_fitted, fitting=fitting,
        settling=learned.settling.sentence(), reference=learned.reference, labels=_labels(core, now), workers=people,
        disputed=disputed, history=past, next_money=_next_money(live), at=core.clock(), warnings=_warnings(core, till),
    )  # fmt: skip


def _audited(live: Live) -> AuditedError:
    n, wrong = live.audits()
    if not n:
        return AuditedError(0, 0, None, None)
    low, high = wilson(wrong / n, n, LEVEL)
    return AuditedError(n, wrong, float(low), float(high))


def _counts(connection: Connection) -> dict[str, int]:
    by_state: dict[str, int] = dict(
        connection.execute(select(leases.c.state, func.count()).group_by(leases.c.state)).all()
    )
    checks = connection.execute(select(func.sum(workers.c.n_checks))).scalar() or 0
    return {"open": by_state.get("open", 0), "pages": by_state.get("answered", 0), "checks": int(checks)}


def _labels(core: Core, now: Standing) -> tuple[LabelStatus, ...]:
    return tuple(
        LabelStatus(view.label_id, view.label, view.question, *row)
        for view, row in zip(core.views, now.of_label, strict=True)
    )


def worker_statuses(connection: Connection, live: Live) -> tuple[WorkerStatus, ...]:
    """Everybody, with the evidence by which they may be blocked."""
    rows = connection.execute(select(workers).order_by(workers.c.id)).mappings().all()
    timed = (
        select(leases.c.worker_id, leases.c.closed_at - leases.c.leased_at)
        .where(leases.c.state == "answered").order_by(leases.c.id.desc()).limit(TIMED)
    )  # fmt: skip
    seconds: dict[int, list[float]] = defaultdict(list)
    for worker, took in connection.execute(timed):
        seconds[worker].append(took)
    skill = live.believed.learned.skill
    found = []
    for row in rows:
        n, number = row["n_answers"], row["id"]
        known = float(skill[number]) if n >= SKILL_FROM and number < len(skill) - 1 else None
        why = _why_block(row["n_checks"], row["n_checks_right"], n, known) if row["state"] == "active" else ""
        taken = {name: row[name] for name in ("id", "name", "kind", "family", "state", "reason", "earned", "paid",
                                              "reserved")}  # fmt: skip
        took = median(seconds[number]) if number in seconds else None
        found.append(WorkerStatus(**taken, pages=row["n_pages"], answers=n, skips=row["n_skips"], skill=known,
                                  checks=row["n_checks"], checks_right=row["n_checks_right"], median_seconds=took,
                                  propose_block=why))  # fmt: skip
    return tuple(found)


def _why_block(checks: int, right: int, answers: int, skill: float | None) -> str:
    """Why a worker might be blocked, in words; empty where there is no reason. A person decides.

    >>> _why_block(12, 4, 100, 0.5)
    'only 4 of 12 check questions right'
    >>> _why_block(4, 0, 100, 0.5), _why_block(12, 9, 100, 0.5)
    ('', '')
    """
    # Chance that somebody who is right in RIGHT of all cases gets at most so many right.
    if checks >= CHECKS and right < checks and betainc(checks - right, right + 1, 1 - RIGHT) < SURELY:
        return f"only {right} of {checks} check questions right"
    if skill is not None and answers >= ANSWERS and skill < GUESSING:
        return f"{answers} answers agree with others hardly more than guesses would"
    return ""


def _disputed(connection: Connection, core: Core, live: Live) -> tuple[Disputed, ...]:
    """Pairs about which people contradict each other, the least certain first."""
    counts = live.counts
    item, label = np.nonzero((counts.n_yes > 0) & (counts.n_yes < counts.n_votes) & (counts.known < 0))
    if not len(item):
        return ()
    doubt = -np.abs(live.believed.log_odds[item, label])
    best = np.argsort(-doubt, kind="stable")[:QUEUE]
    item, label = item[best], label[best]
    shown = {row.id: row for row in connection.execute(select(items).where(items.c.id.in_(sorted(set(item.tolist())))))}
    proba = live.believed.proba(item)[np.arange(len(item)), label]
    found = []
    for i, j, chance in zip(item.tolist(), label.tolist(), proba.tolist(), strict=True):
        row, view, n_yes = shown[i], core.views[j], int(counts.n_yes[i, j])
        found.append(Disputed(i, row.name, row.kind, row.content, j, view.label, view.question, n_yes,
                              int(counts.n_votes[i, j]) - n_yes, chance))  # fmt: skip
    return tuple(found)


def _next_money(live: Live) -> NextMoneyView | None:
    found = live.believed.learned.next_money
    if found is None:
        return None
    return NextMoneyView(round(found.money), found.settled, found.put_right, found.error_after)


def _warnings(core: Core, till: Till) -> tuple[str, ...]:
    settings = core.settings
    found = []
    if till.left < settings.vote_price + settings.page_price and settings.state == "running":
        found.append(f"{core.text(till.left)} is left, which pays for no more pages; add budget, or end the campaign.")
    if settings.check_share and not till.n_truth:
        found.append("no truth is known, so there are no check questions; decide some disputed pairs.")
    return tuple(found)


def usual_price(connection: Connection) -> tuple[float, float]:
    """What a question costs with its part of the page, and the unit of which is said what it buys: 1.00."""
    settings: dict[str, Any] = json.loads(connection.execute(select(campaign.c.settings)).scalar_one())
    till = Till.look(connection)
    n_paid = till.n_votes + till.n_skips
    spent = till.paid + till.due
    price = spent / n_paid if n_paid and spent else settings["vote_price"] + settings["page_price"]
    return max(float(price), 1.0), float(10 ** max(settings["decimals"], 2))


def read_log(connection: Connection, limit: int) -> list[LogEntry]:
    """The last entries of the log, newest first."""
    rows = connection.execute(select(log).order_by(log.c.id.desc()).limit(limit)).all()
    return [LogEntry(row.id, row.at, row.actor, row.action, json.loads(row.details)) for row in rows]


# -- history ---------------------------------------------------------------------------------------------------------


def read_history(connection: Connection) -> tuple[History, ...]:
    """The points of the charts, thinned out."""
    rows = connection.execute(select(history).order_by(history.c.id)).all()
    step = max(1, -(-len(rows) // POINTS))
    kept = rows[::-1][::step][::-1]  # the last one stays
    return tuple(History(*row[1:]) for row in kept)


def note_history(core: Core, *, learned: bool = False) -> bool:
    """Note how things stand, where something has happened and the last note is old enough.

    learned : there is a new fit. What is settled is what it found, so the chart must not end before it.
    """
    with core.database.read() as connection:
        last = connection.execute(select(history).order_by(history.c.id.desc()).limit(1)).first()
        till = core.look(connection)
        made = connection.execute(select(campaign.c.made_at)).scalar_one()
        now = core.clock()
        if (
            last is not None
            and not learned
            and (
                now - last.at < max(LEAST_STEP, STEP_SHARE * (now - made))
                or (last.n_votes, last.spent, last.budget) == (till.n_votes, till.paid + till.due, till.budget)
            )
        ):
            return False
        live = core.live(connection)
        live.catch_up(connection, till)
    found = standing(live)

    def write(connection: Connection) -> None:
        fresh = Till.open(connection)
        number = connection.execute(select(func.coalesce(func.max(history.c.id), -1))).scalar_one() + 1
        row = {"id": number, "at": now, "spent": fresh.paid + fresh.due, "reserved": fresh.reserved,
               "budget": fresh.budget, "n_votes": fresh.n_votes, "settled": found.settled,
               "expected_error": found.error}  # fmt: skip
        connection.execute(history.insert(), row)

    core.database.write(write)
    return True
