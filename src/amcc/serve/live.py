"""What a server believes now, and the page that is worth most for whoever comes.

Everything here follows from the database: votes, skips, truth and open leases are read by their ids, which only grow,
before a page is chosen; what a fit has learned is swapped in when it is there. So several servers on one database
believe the same, and a server that was killed believes what it believed. The choice needs no lock of the database, and
may be out of date by the time it is made: `leasing` checks it.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, select

from amcc.active.assignment import best_page
from amcc.active.strategies.voi import ValueOfInformation
from amcc.arrays import Floats, Ints
from amcc.serve.growing import Column
from amcc.serve.learned import Learned
from amcc.serve.leasing import Proposal
from amcc.serve.money import Till
from amcc.serve.pairs import Believed, Counts, Small
from amcc.serve.store.prepared import Prepared
from amcc.serve.store.schema import leases, questions, skips, truth, votes

# Items looked at together where the shortlist has nothing for a worker.
FURTHER = 2000

# Items of the shortlist that are looked at closely for one worker, of those that are new to them and of those that they
# know in part: see `_looked_at`. More where families share errors.
LOOK, LOOK_SHARED = 64, 256

# Draws of a random item for an audit, or a check, before it is given up for this time.
DRAWS = 20

_VOTES = Prepared(
    select(votes.c.id, votes.c.item_id, votes.c.label_id, votes.c.worker_id, votes.c.value, votes.c.kind)
    .where(votes.c.id >= bindparam("after"), votes.c.id < bindparam("end")).order_by(votes.c.id)
)  # fmt: skip
_SKIPS = Prepared(
    select(skips.c.item_id, skips.c.label_id, skips.c.worker_id)
    .where(skips.c.id >= bindparam("after"), skips.c.id < bindparam("end")).order_by(skips.c.id)
)  # fmt: skip
_TRUTH = Prepared(
    select(truth.c.item_id, truth.c.label_id, truth.c.present)
    .where(truth.c.serial >= bindparam("after"), truth.c.serial < bindparam("end")).order_by(truth.c.serial)
)  # fmt: skip
_WAITING = Prepared(
    select(questions.c.item_id, questions.c.label_id, questions.c.worker_id).where(questions.c.state == "waiting")
)
_RETURNED = Prepared(
    select(leases.c.item_id).where(leases.c.worker_id == bindparam("worker"), leases.c.state == "returned")
)


class Live:
    """The beliefs of a server. Threads may share it."""

    def __init__(self, n_items: int, n_labels: int, learned: Learned, *, seed: int | None = None) -> None:
        self.n_labels = n_labels
        self.strategy: ValueOfInformation = ValueOfInformation()
        self.counts: Counts = Counts(n_items, n_labels)
        self.believed: Believed = Believed(learned, self.counts, self.strategy)
        self._lock = threading.RLock()
        self._rng = np.random.default_rng(seed)
        # Votes of the consensus in the order of their ids, for what a new fit did not know.
        self._log = {name: Column(np.int32) for name in ("id", "item", "label", "worker")}
        self._log |= {"value": Column(np.int8), "audit": Column(np.int8)}
        self._n_votes, self._n_skips, self._n_truth = 0, 0, 0  # read so far, by id
        self._by_worker = Column(np.int64)  # consensus votes of each worker
        self._asked: dict[int, Column] = defaultdict(lambda: Column(np.int64))  # pairs each was asked about
        self._returned: dict[int, set[int]] = {}
        self._busy: dict[int, tuple[int, tuple[int, ...]]] = {}  # open leases: worker -> item, labels
        self._offered: dict[int, tuple[int, tuple[int, ...]]] = {}  # the same of pages that are about to be leased
        self._known_items = Column(np.int64)
        self._n_known = 0
        self._nothing: dict[int, int] = {}  # workers for whom nothing was found, and when
        self._changes = 0
        self._row = np.full(n_items, -1, np.int32)  # for `_close`, which leaves it as it was
        self._new_of: dict[int, Floats] = {}  # by source, what its next vote adds, for the shortlist
        self._new_for = -1

    # -- keeping up --------------------------------------------------------------------------------------------------

    def begin(self, connection: Connection) -> None:
        """Read all there is, and value all items."""
        with self._lock:
            self.catch_up(connection, Till.look(connection))
            self.read_leases(connection)
            self.believed.rebuild(self.votes_of_workers)

    def catch_up(self, connection: Connection, till: Till) -> None:
        """Read what was written since the last time; `till` says how much there is.

        No more than that is read: on PostgreSQL others may have added items since, and votes about them.
        """
        with self._lock:
            if till.n_items > len(self.counts.known):
                self.counts.grow(till.n_items)
                self.believed.grow()
                self._row = np.full(till.n_items, -1, np.int32)
                self._changes += 1
            changed: list[Ints] = []
            if till.n_votes > self._n_votes:
                changed.append(self._read_votes(connection, till.n_votes))
            if till.n_skips > self._n_skips:
                self._note_asked(_SKIPS.run(connection, {"after": self._n_skips, "end": till.n_skips}))
                self._n_skips = till.n_skips
            if till.n_truth > self._n_truth:
                changed.append(self._read_truth(connection, till.n_truth))
            if changed:
                self._changes += 1
                items = np.concatenate(changed)
                self.believed.refresh(items)
                self._forget_new(items)

    def _read_votes(self, connection: Connection, n_votes: int) -> Ints:
        """New votes; gives the items that they changed."""
        rows = _VOTES.run(connection, {"after": self._n_votes, "end": n_votes})
        self._n_votes = n_votes
        self._note_asked([row[1:4] for row in rows])
        counted = [(*row[:5], row[5] == "audit") for row in rows if row[5] != "check"]
        if not counted:
            return np.empty(0, np.int64)
        columns = np.array(counted, dtype=np.int64).T
        for name, column in zip(self._log, columns, strict=True):
            self._log[name].extend(column)
        number, item, label, worker, value, _ = columns
        self.counts.add(item, label, value)
        self.believed.hear(*self._after(item, label, worker, value, number))
        most = int(worker.max()) + 1
        if most > len(self._by_worker):
            self._by_worker.extend(np.zeros(most - len(self._by_worker), np.int64))
        np.add.at(self._by_worker.values, worker, 1)
        return np.asarray(item)

    def _after(self, item: Ints, label: Ints, worker: Ints, value: Ints, number: Ints) -> tuple[Ints, ...]:
        """The votes that the last fit did not know."""
        new = number >= self.believed.learned.n_votes
        return item[new], label[new], worker[new], value[new]

    def _read_truth(self, connection: Connection, n_truth: int) -> Ints:
        rows = _TRUTH.run(connection, {"after": self._n_truth, "end": n_truth})
        self._n_truth = n_truth
        if not rows:
            return np.empty(0, np.int64)
        item, label, present = np.array(rows, dtype=np.int64).T
        self._n_known += len(np.unique((item * self.n_labels + label)[self.counts.known[item, label] < 0]))
        self.counts.known[item, label] = present
        new = np.setdiff1d(item, self._known_items.values)
        self._known_items.extend(new)
        return np.asarray(item)

    def _note_asked(self, rows: Iterable[Sequence[int]]) -> None:
        of_worker: dict[int, list[int]] = defaultdict(list)
        for item, label, worker in rows:
            of_worker[worker].append(item * self.n_labels + label)
        for worker, keys in of_worker.items():
            self._asked[worker].extend(keys)

    @property
    def votes_of_workers(self) -> Ints:
        """(n_workers,) consensus votes of each worker who gave any."""
        return self._by_worker.values

    @property
    def n_votes(self) -> int:
        """Votes of the consensus."""
        return len(self._log["id"])

    @property
    def n_fitted(self) -> int:
        """Votes of the consensus that the last whole fit knew."""
        return int(np.searchsorted(self._log["id"].values, self.believed.learned.n_votes))

    @property
    def n_known(self) -> int:
        """Pairs whose truth is known."""
        return self._n_known

    def audits(self) -> tuple[int, int]:
        """How many audit answers are about pairs that others voted on, too, and how many of them the others contradict.

        What the others say is read by Bayes' rule with their rates, without the audit answer itself.
        """
        with self._lock:
            item, label, worker, value, audit = (
                self._log[name].values.astype(np.int64) for name in ("item", "label", "worker", "value", "audit")
            )
            believed = self.believed
        pair = item * self.n_labels + label
        wanted = np.zeros(self.counts.known.size, dtype=bool)
        wanted[pair[audit > 0]] = True
        here = wanted[pair]
        keys, place = np.unique(pair[here], return_inverse=True)
        step = believed.steps(label[here], worker[here], value[here])
        n_votes = np.bincount(place, minlength=len(keys))
        said = np.bincount(place, step, minlength=len(keys)) + believed.learned.prior[keys % self.n_labels]
        own = (audit[here] > 0) & (n_votes[place] > 1)
        without = said[place[own]] - step[own]
        return int(own.sum()), int(((without > 0) != (value[here][own] > 0)).sum())

    def learn(self, learned: Learned) -> None:
        """Take over what a fit has learned, with the votes that it did not know on top.

        Slow for many items, so that it is done beside the others, who go on with the old beliefs meanwhile.
        """
        with self._lock:
            n_seen, n_items = len(self._log["id"]), len(self.counts.known)
            log = {name: column.values for name, column in self._log.items()}
        new = Believed(learned, self.counts, self.strategy)
        late = log["id"] >= learned.n_votes
        new.hear(*(log[name][late].astype(np.int64) for name in ("item", "label", "worker", "value")))
        new.rebuild(self.votes_of_workers)
        with self._lock:
            since = {name: column.values[n_seen:].astype(np.int64) for name, column in self._log.items()}
            if len(self.counts.known) > n_items:
                new.grow()
            if len(since["id"]):
                new.hear(since["item"], since["label"], since["worker"], since["value"])
            # Also what was valued while its counts changed.
            new.refresh(np.concatenate([since["item"], self._known_items.values]))
            self.believed = new
            self._new_of, self._changes = {}, self._changes + 1

    # -- leases --------------------------------------------------------------------------------------------------------

    def note_lease(self, worker: int, item: int, labels: Sequence[int]) -> None:
        """A page was leased here: nobody else is offered the same."""
        with self._lock:
            self._offered.pop(worker, None)
            self._busy[worker] = (item, tuple(labels))

    def note_refused(self, worker: int) -> None:
        """What was proposed was not leased: others may have it."""
        with self._lock:
            self._offered.pop(worker, None)

    def note_end(self, worker: int, *, returned: bool = False) -> None:
        """The worker's page ended; given back, it is not offered to them again."""
        with self._lock:
            item, _ = self._busy.pop(worker, (-1, ()))
            self._changes += 1
            if returned and item >= 0 and worker in self._returned:
                self._returned[worker].add(item)

    def read_leases(self, connection: Connection) -> None:
        """See which pages are open, also those that other servers have handed out."""
        found: dict[int, tuple[int, tuple[int, ...]]] = {}
        for item, label, worker in _WAITING.run(connection):
            if item < len(self.counts.known):  # others have been added since: nobody is offered them here yet
                found[worker] = (item, (*found.get(worker, (item, ()))[1], label))
        with self._lock:
            if found != self._busy:
                self._busy, self._changes = found, self._changes + 1

    # -- choosing ------------------------------------------------------------------------------------------------------

    def propose(
        self, connection: Connection, worker: int, *, vote_price: int, page_price: int, most_labels: int, audit: float,
        check: float, most_open: int = 1, avoid: Sequence[tuple[int, int]] = (),
    ) -> Proposal | None:  # fmt: skip
        """The page that is worth most for this worker at their price; or, by chance, an audit or a check.

        Nobody else is offered the same until `note_lease` or `note_refused` says what became of it.

        avoid : pairs that turned out to be taken.
        """
        with self._lock:
            if worker not in self._returned:
                self._returned[worker] = {item for (item,) in _RETURNED.run(connection, {"worker": worker})}
            drawn = self._rng.random()
            found = None
            if drawn < check:
                found = self._check(worker, most_labels)
            elif drawn < check + audit:
                found = self._audit(worker, most_labels)
            found = found or self._best(worker, vote_price, page_price, most_labels, most_open, avoid)
            if found is not None:  # at once: whoever comes while it is leased would choose the same
                self._offered[worker] = (found.item, tuple(found.labels))
            return found

    def _best(
        self, worker: int, vote_price: int, page_price: int, most_labels: int, most_open: int,
        avoid: Sequence[tuple[int, int]],
    ) -> Proposal | None:  # fmt: skip
        if not avoid and self._nothing.get(worker) == self._changes:
            return None
        # Whoever looks at an item has work with it, paid or not: about as much as with one answer.
        prices = {"vote_price": vote_price, "page_price": max(page_price, vote_price), "most_labels": most_labels}
        items, proba, weight = self.believed.shortlist()
        skill = float(self.believed.skill_of(np.array([worker]), self.votes_of_workers)[0])
        closed = self._closed(worker, most_open, avoid)
        new = self._new_to(worker, items)
        for rows in self._looked_at(items, closed, several=isinstance(new, np.ndarray)):
            fresh = np.sqrt(new[rows]) if isinstance(new, np.ndarray) else np.float64(1.0)
            value = np.multiply(weight[rows], self.strategy.value(proba[rows], skill * fresh))
            self._close(value, items[rows], closed)
            best = best_page(value, **prices)
            if best is not None:
                return Proposal(int(items[rows[best.row]]), best.labels.tolist(), "work")
        for some in self._further(items):
            value = self.believed.weight(some) * self.strategy.value(self.believed.proba(some), np.float64(skill))
            self._close(value, some, closed)
            best = best_page(value, **prices)
            if best is not None:
                return Proposal(int(some[best.row]), best.labels.tolist(), "work")
        if not avoid:
            self._nothing[worker] = self._changes
        return None

    def _further(self, listed: Ints) -> Iterable[Ints]:
        """The other items that promise anything, the best first, some at a time."""
        promising = self.believed.together > 0
        promising[listed] = False
        others = np.flatnonzero(promising)
        order = others[np.argsort(-self.believed.together[others], kind="stable")]
        for start in range(0, len(order), FURTHER):
            yield order[start : start + FURTHER]

    def _closed(self, worker: int, most_open: int, avoid: Sequence[tuple[int, int]]) -> Ints:
        """Keys of the pairs that this worker is not to be asked about: asked before, given back, held by others."""
        labels = np.arange(self.n_labels)
        returned = [item * self.n_labels + labels for item in self._returned[worker]]
        held = [item * self.n_labels + label for item, some in (*self._busy.values(), *self._offered.values())
                for label in some]  # fmt: skip
        if most_open > 1 and held:
            keys, n = np.unique(held, return_counts=True)
            held = keys[n >= most_open].tolist()
        held += [item * self.n_labels + label for item, label in avoid]
        return np.concatenate([self._asked[worker].values, *returned, np.array(held, dtype=np.int64)])

    def _close(self, value: Floats, items: Ints, closed: Ints) -> None:
        """Set the value of closed pairs to 0; value : (n, n_labels) of these items."""
        item, label = np.divmod(closed, self.n_labels)
        self._row[items] = np.arange(len(items))
        row = self._row[item]
        here = row >= 0
        value[row[here], label[here]] = 0.0
        self._row[items] = -1

    def _looked_at(self, items: Ints, closed: Ints, *, several: bool) -> Iterable[Ints]:
        """Rows of the shortlist to look at for a worker, then all others: those that promise most to anybody.

        What a worker's answers are worth goes with what those of others are, so that the best for one is among the best
        for all; but a family (`several`) may have told all that its members can tell of these, and more are looked at.
        Items that the worker knows already in part are looked at beside the others, which promise the whole page.
        """
        rank = self.believed.together[items] / self.n_labels + self.believed.alone[items]
        known = np.zeros(len(items), dtype=bool)
        rows = self.believed.place(closed // self.n_labels)
        known[rows[rows >= 0]] = True
        look = LOOK_SHARED if several else LOOK
        first = np.concatenate([_largest(np.where(mask, rank, 0.0), look) for mask in (~known, known)])
        yield first
        rest = np.ones(len(items), dtype=bool)
        rest[first] = False
        yield np.flatnonzero(rest)

    def _audit(self, worker: int, most_labels: int) -> Proposal | None:
        """A random item, with random labels of it that are not known."""
        for item in self._rng.integers(len(self.counts.known), size=DRAWS).tolist():
            free = self._free(worker, item, self.counts.known[item] < 0)
            if len(free):
                return Proposal(item, self._some(free, most_labels), "audit")
        return None

    def _check(self, worker: int, most_labels: int) -> Proposal | None:
        """A random item of those with known truth, with labels that are known."""
        known = self._known_items.values
        for place in self._rng.integers(max(len(known), 1), size=DRAWS if len(known) else 0).tolist():
            item = int(known[place])
            free = self._free(worker, item, self.counts.known[item] >= 0)
            if len(free):
                return Proposal(item, self._some(free, most_labels), "check")
        return None

    def _free(self, worker: int, item: int, wanted: Floats) -> Ints:
        """Labels of an item that are wanted, and not closed to this worker."""
        closed = self._closed(worker, 1, ())
        taken = closed[closed // self.n_labels == item] % self.n_labels
        return np.setdiff1d(np.flatnonzero(wanted), taken)

    def _some(self, labels: Ints, most: int) -> list[int]:
        return [int(each) for each in self._rng.permutation(labels)[:most]]

    # -- families ------------------------------------------------------------------------------------------------------

    def _new_to(self, worker: int, items: Ints) -> Floats | float:
        """(n, n_labels) share of what a worker could tell about the shortlist that votes of their family have not told.

        Kept by source, since it takes a while; votes change single items, see `_forget_new`.
        """
        sharing = self.believed.learned.sharing
        if sharing is None or worker >= len(sharing.source) - 1:  # the last is the stranger, who has no family
            return 1.0
        if self._new_for != self.believed.generation:
            self._new_of, self._new_for = {}, self.believed.generation
        source = int(sharing.source[worker])
        if source not in self._new_of:
            self._new_of[source] = self._new_in(items, source)
        return self._new_of[source]

    def _new_in(self, items: Ints, source: int) -> Floats:
        """(n, n_labels) share that is new in a vote of a source about these items."""
        sharing = self.believed.learned.sharing
        assert sharing is not None  # for the type checker: nobody asks otherwise
        place = np.full(len(self.counts.known), -1)
        place[items] = np.arange(len(items))
        item, label, worker = (self._log[name].values for name in ("item", "label", "worker"))
        row = place[item]
        here = (row >= 0) & (worker < len(sharing.source) - 1)
        pair, of_vote = np.unique(row[here] * self.n_labels + label[here], return_inverse=True)
        heard = sharing.votes_of_sources(of_vote, worker[here].astype(np.int64), len(pair))
        new = np.ones((len(items), self.n_labels))
        new.reshape(-1)[pair] = sharing.new_in_next(heard, np.array([source]))[:, 0]
        return new

    def _forget_new(self, items: Ints) -> None:
        """Votes came about these items: what is new about them is found again."""
        if not self._new_of or self._new_for != self.believed.generation:
            return
        changed = np.unique(items)
        rows = self.believed.place(changed)
        changed, rows = changed[rows >= 0], rows[rows >= 0]
        if len(changed):
            for source, new in self._new_of.items():
                new[rows] = self._new_in(changed, source)


def _largest(rank: Small, n: int) -> Ints:
    """Places of the n largest that are above 0."""
    found = np.argpartition(-rank, n)[:n] if n < len(rank) else np.arange(len(rank))
    return found[rank[found] > 0]
