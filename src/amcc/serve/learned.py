"""What a fit has learned, as plain arrays: made in the process of the fit, stored, and read by every server.

No pickle: whoever can write to the database must not be able to run programs on the server. The last row of everything
about workers is that of a stranger, who may come after the fit.
"""

from __future__ import annotations

import io
import json
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from sqlalchemy import Connection, delete, func, select

from amcc.active.beliefs import CurrentBeliefs, cold_beliefs
from amcc.active.forecast import NextMoney
from amcc.active.skills import Skills
from amcc.active.strategies.voi import ValueOfInformation
from amcc.arrays import Floats, Mask, safe_logit
from amcc.consensus.families.correlations import VoteCorrelations
from amcc.consensus.families.tree import ViewTree
from amcc.consensus.families.views import Views
from amcc.consensus.families.weights import Sharing
from amcc.consensus.settling import NO_PAIRS, SettledCounts, Settling
from amcc.serve.store.database import Database
from amcc.serve.store.schema import belief_versions, beliefs
from amcc.threads import READING_HEADERS
from amcc.votes import Votes

# Bytes of a part: written in milliseconds, so that nobody waits for it who answers.
PART = 1 << 19

# Versions that are kept: the newest, and the one that a server may be reading.
KEPT = 2

# Log-odds beyond this are certain, 10¹³ to one: votes never say so much. Half floats hold such numbers to a hundredth.
MOST_SURE = 30.0

# What is stored as arrays, beside what families share.
ARRAYS = ("log_odds", "prior", "hit", "false_alarm", "skill", "square", "option", "settled", "error")


@dataclass(frozen=True)
class Learned:
    """What is believed after a fit.

    version : of the beliefs, 0 before the first fit. n_votes : votes whose id is below were known to it.
    log_odds : (n_items, n_labels) that the label is present; items that came later have none.
    prior : (n_labels,) log-odds of pairs about which nothing is known.
    hit, false_alarm : (n_workers + 1, n_labels) rates. skill, square, option : (n_workers + 1,) see `Skills`.
    sharing : who shares errors with whom. settling : when a pair is settled.
    settled : (n_items, n_labels) pairs that were settled. declared : whether a roster says who the workers are.
    error : (n_labels,) expected error. counts : of the asked pairs, how many are called present, absent, and settled.
    reference : who the reference is, in words. next_money : what the next money buys, see `forecast`.
    """

    version: int
    n_votes: int
    log_odds: Floats
    prior: Floats
    hit: Floats
    false_alarm: Floats
    skill: Floats
    square: Floats
    option: Floats
    sharing: Sharing | None
    settling: Settling
    settled: Mask
    error: Floats
    declared: bool
    counts: SettledCounts = NO_PAIRS
    reference: str = ""
    next_money: NextMoney | None = None

    @classmethod
    def cold(cls, n_labels: int) -> Learned:
        """Before the first fit: everybody is a stranger, and nothing is known."""
        none = np.empty(0, np.int32)
        # Nobody reads the names. To give any, Arrow would import pandas: a fifth of the time until a server answers.
        names = (pa.nulls(n, pa.string()) for n in (1, 1, n_labels))
        nobody = Votes(none, none, none, none.astype(np.int8), *names)
        return cls.of(cold_beliefs(nobody), version=0, n_votes=0, n_items=0)

    @classmethod
    def of(
        cls, known: CurrentBeliefs, *, version: int, n_votes: int, n_items: int | None = None,
        counts: SettledCounts = NO_PAIRS, reference: str = "", next_money: NextMoney | None = None,
    ) -> Learned:  # fmt: skip
        """By beliefs about the workers and, as the last of them, a stranger."""
        strategy = ValueOfInformation()
        skills = Skills.of(known, strategy.answers_of_stranger)
        log_odds = np.clip(safe_logit(known.proba), -MOST_SURE, MOST_SURE)[:n_items]
        # Rounded as the others are: who compares them must find that nothing was learned of an item.
        prior = _without_votes(known).astype(np.float16).astype(np.float64)
        error = np.minimum(known.proba, 1 - known.proba).mean(axis=0)
        return cls(
            version, n_votes, log_odds.astype(np.float16), prior, known.hit, known.false_alarm, skills.mean,
            skills.believed_square(strategy.skill_share), skills.option, known.sharing, known.settling,
            known.settled_pairs()[:n_items], error, known.seats is not None, counts, reference, next_money,
        )  # fmt: skip

    # -- storing -------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """As it is stored."""
        arrays: dict[str, Any] = {}
        for name in ARRAYS:
            arrays[name] = getattr(self, name)
        if self.sharing is not None:
            views = self.sharing.views
            arrays |= {"weight": self.sharing.weight, "apart": self.sharing.apart}
            arrays |= {"loading": views.loading, "validity": views.validity}
            arrays |= {f"tree.{each.name}": getattr(views.tree, each.name) for each in fields(ViewTree)}
        rule = self.settling
        settling = [rule.basis, rule.claim, rule.n_checked, rule.n_wrong]
        plain = {"settling": settling, "about": [self.version, self.n_votes, self.declared, self.reference],
                 "counts": list(self.counts),
                 "next_money": None if self.next_money is None else list(astuple(self.next_money))}  # fmt: skip
        buffer = io.BytesIO()
        np.savez_compressed(buffer, meta=np.frombuffer(json.dumps(plain).encode(), np.uint8), **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Learned:
        """What `to_bytes` gave."""
        with READING_HEADERS, np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        plain = json.loads(arrays.pop("meta").tobytes())
        version, n_votes, declared, reference = plain.pop("about")
        settling = Settling(*plain.pop("settling"))
        sharing = None
        if "weight" in arrays:
            tree = ViewTree(**{each.name: arrays[f"tree.{each.name}"] for each in fields(ViewTree)})
            none = np.zeros((0, 0))  # what the tree was fitted to: nobody asks for it here
            views = Views(tree, arrays["loading"], arrays["validity"])
            sharing = Sharing(views, VoteCorrelations(none, none, none), arrays["weight"], arrays["apart"])
        money = plain["next_money"]
        about: dict[str, Any] = {"sharing": sharing, "settling": settling, "declared": declared, "reference": reference,
                                 "counts": SettledCounts(*plain["counts"]),
                                 "next_money": None if money is None else NextMoney(*money)}  # fmt: skip
        return cls(version=version, n_votes=n_votes, **{name: arrays[name] for name in ARRAYS}, **about)


def _without_votes(known: CurrentBeliefs) -> Floats:
    """(n_labels,) log-odds of a pair of which nothing is known, such as those of items that come later.

    What is believed where nobody has answered and no truth was given; by the median, since some are known by their
    neighbours. Where there is no such pair, by how often the label is present.
    """
    proba, unheard = known.proba, known.vote_counts()[1] == 0
    if known.known is not None:
        unheard &= ~known.known
    often = safe_logit((proba.sum(axis=0) + 1.0) / (len(proba) + 2.0))
    nothing = [np.median(column[free]) if free.any() else usual
               for column, free, usual in zip(safe_logit(proba).T, unheard.T, often, strict=True)]  # fmt: skip
    return np.asarray(nothing)


def store_learned(database: Database, learned: Learned, at: float) -> int:
    """Store the beliefs of a fit as the next version, in short transactions, and drop old ones; gives the version."""
    content = learned.to_bytes()
    parts = [content[start : start + PART] for start in range(0, len(content), PART)]

    def begin(connection: Connection) -> int:
        newest = connection.execute(select(func.max(belief_versions.c.version))).scalar() or 0
        connection.execute(delete(beliefs).where(beliefs.c.version > newest))  # of a fit that died while it stored
        connection.execute(delete(beliefs).where(beliefs.c.version <= newest - KEPT))
        return int(newest) + 1

    version = database.write(begin)
    for place, part in enumerate(parts):
        database.write(lambda c, row=(version, place, part): c.execute(  # type: ignore[misc]
            beliefs.insert(), {"version": row[0], "part": row[1], "blob": row[2]}
        ).rowcount)  # fmt: skip
    about = {"version": version, "n_parts": len(parts), "n_votes": learned.n_votes, "at": at, "about": "{}"}
    database.write(lambda c: c.execute(belief_versions.insert(), about).rowcount)
    return version


def newest_version(connection: Connection) -> int:
    """The newest version that is whole; 0 where there is none."""
    return int(connection.execute(select(func.max(belief_versions.c.version))).scalar() or 0)


def load_learned(connection: Connection, n_labels: int) -> Learned:
    """The newest beliefs; cold ones where there are none, or where they cannot be read: they follow from the votes."""
    version = newest_version(connection)
    query = select(beliefs.c.blob).where(beliefs.c.version == version).order_by(beliefs.c.part)
    parts = connection.execute(query).scalars().all()
    try:
        found = Learned.from_bytes(b"".join(parts)) if parts else Learned.cold(n_labels)
    except Exception:  # whatever is wrong with it: a server must start, and the next fit makes it good
        found = Learned.cold(n_labels)
    if found.hit.shape[1] != n_labels:
        found = Learned.cold(n_labels)
    return replace(found, version=version)  # also where it is cold: nobody looks for the same version again
