"""The tables of a campaign (SQLAlchemy Core). They come into being by `migrations/` only; a test compares the two.

Ids are dense and given by us, from counters in the row of `account` that every transaction locks. So an id is also the
code by which the beliefs know an item, label or worker, and what was committed later has a larger id on every database.
Money is in whole minor units, time in seconds since 1970.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)  # fmt: skip

metadata: MetaData = MetaData()


def _id(name: str = "id") -> Column[int]:
    return Column(name, Integer, primary_key=True, autoincrement=False)


def _money(name: str, **options: object) -> Column[int]:
    return Column(name, BigInteger, nullable=False, **options)  # type: ignore[arg-type]


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default="0")


# One row: what the requester set, as JSON, and the hash of their password.
campaign: Table = Table(
    "campaign", metadata, _id(),
    Column("settings", Text, nullable=False),
    Column("password", Text, nullable=False),
    Column("password_version", Integer, nullable=False, server_default="1"),
    Column("made_at", Float, nullable=False),
)  # fmt: skip

# One row: the sums of the ledger and all counters. Who changes anything locks it first, so changes come one by one.
account: Table = Table(
    "account", metadata, _id(),
    _money("budget"), _money("paid"), _money("due"), _money("reserved"),
    Column("head", Text, nullable=False),
    Column("votes_head", LargeBinary, nullable=False),
    *(_count(name) for name in ("n_ledger", "n_questions", "n_votes", "n_skips", "n_leases", "n_workers", "n_items",
                                "n_truth", "n_log", "revision", "n_events")),
    CheckConstraint("budget >= paid + due + reserved", name="never_overdrawn"),
    CheckConstraint("paid >= 0 AND due >= 0 AND reserved >= 0", name="no_debts"),
)  # fmt: skip

# The lines of `amcc.active.accounts`, byte by byte.
ledger: Table = Table("ledger", metadata, _id("seq"), Column("line", LargeBinary, nullable=False))

items: Table = Table(
    "items", metadata, _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("content", Text, nullable=False),
)  # fmt: skip

labels: Table = Table(
    "labels", metadata, _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("question", Text, nullable=False),
    Column("help", Text, nullable=False),
)  # fmt: skip

# Workers by pseudonym. Sums are those of the ledger, kept here so that a page need not add them up.
workers: Table = Table(
    "workers", metadata, _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("family", Text, nullable=False, server_default=""),
    Column("vote_price", BigInteger),
    Column("page_price", BigInteger),
    Column("state", Text, nullable=False, server_default="active"),
    Column("reason", Text, nullable=False, server_default=""),
    Column("link_version", Integer, nullable=False, server_default="0"),
    Column("made_at", Float, nullable=False),
    *(_money(name, server_default="0") for name in ("earned", "paid", "reserved")),
    *(_count(name) for name in ("n_pages", "n_answers", "n_skips", "n_checks", "n_checks_right")),
    Column("proposed_at", Float),  # when it was told that they might be blocked
    CheckConstraint("reserved >= 0 AND paid >= 0 AND earned >= paid", name="fair"),
)  # fmt: skip

# Who they are: the only table with personal data.
identities: Table = Table(
    "identities", metadata,
    Column("worker_id", ForeignKey("workers.id"), primary_key=True, autoincrement=False),
    Column("platform", Text, nullable=False),
    Column("external", Text, nullable=False),
    UniqueConstraint("platform", "external", name="one_worker_each"),
)  # fmt: skip

# Pages that were handed out. state: open, answered, expired, returned (by the worker), withdrawn (blocked, forgotten).
leases: Table = Table(
    "leases", metadata, _id(),
    Column("worker_id", ForeignKey("workers.id"), nullable=False),
    Column("item_id", ForeignKey("items.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("leased_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("closed_at", Float),
    _money("vote_price"), _money("page_price"),
    Column("late", Boolean, nullable=False, server_default=text("false")),
    Column("revision", Integer, nullable=False, server_default="0"),
)  # fmt: skip
Index("open_lease", leases.c.worker_id, unique=True,
      sqlite_where=text("state = 'open'"), postgresql_where=text("state = 'open'"))  # fmt: skip
Index("open_until", leases.c.expires_at,
      sqlite_where=text("state = 'open'"), postgresql_where=text("state = 'open'"))  # fmt: skip
Index("lease_of_worker", leases.c.worker_id, leases.c.id)

# Questions by their number in the ledger. state: waiting, answered, skipped, released. price without the page's fee,
# which is due with the first answer (bookkeeping.Page); `fee` is not 0 for the one question that bears it.
questions: Table = Table(
    "questions", metadata, _id("number"),
    Column("lease_id", ForeignKey("leases.id"), nullable=False),
    Column("item_id", Integer, nullable=False),
    Column("label_id", Integer, nullable=False),
    Column("worker_id", Integer, nullable=False),
    _money("price"), _money("fee"),
    Column("state", Text, nullable=False),
)  # fmt: skip
Index("asked_once", questions.c.worker_id, questions.c.item_id, questions.c.label_id, unique=True,
      sqlite_where=text("state <> 'released'"), postgresql_where=text("state <> 'released'"))  # fmt: skip
Index("question_of_item", questions.c.item_id)
Index("question_of_lease", questions.c.lease_id)
Index(
    "waiting", questions.c.number,
    sqlite_where=text("state = 'waiting'"), postgresql_where=text("state = 'waiting'"),
)  # fmt: skip

# Answers yes (1) and no (-1). kind: work and audit are votes of the consensus; check is about known truth, and is none.
# `seal` is a hash over this row and the seal before, so that a changed answer shows.
votes: Table = Table(
    "votes", metadata, _id(),
    Column("question", ForeignKey("questions.number"), nullable=False, unique=True),
    Column("item_id", Integer, nullable=False),
    Column("label_id", Integer, nullable=False),
    Column("worker_id", Integer, nullable=False),
    Column("value", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("seal", LargeBinary, nullable=False),
    CheckConstraint("value = 1 OR value = -1", name="yes_or_no"),
)  # fmt: skip
Index("vote_of_item", votes.c.item_id)

# "Cannot tell": an answer that is no vote. paid: whether it earned the price of an answer.
skips: Table = Table(
    "skips", metadata, _id(),
    Column("question", ForeignKey("questions.number"), nullable=False, unique=True),
    Column("item_id", Integer, nullable=False),
    Column("label_id", Integer, nullable=False),
    Column("worker_id", Integer, nullable=False),
    Column("paid", Boolean, nullable=False),
    Column("at", Float, nullable=False),
)  # fmt: skip

# Known truth: source is given (a file) or decided (by the requester). `serial` grows with each change.
truth: Table = Table(
    "truth", metadata,
    Column("item_id", ForeignKey("items.id"), primary_key=True, autoincrement=False),
    Column("label_id", ForeignKey("labels.id"), primary_key=True, autoincrement=False),
    Column("present", Boolean, nullable=False),
    Column("source", Text, nullable=False),
    Column("serial", Integer, nullable=False, unique=True),
)  # fmt: skip

# Who did what, for people: no personal data, no tokens.
log: Table = Table(
    "log", metadata, _id(),
    Column("at", Float, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("details", Text, nullable=False),
)  # fmt: skip

# What was learned by a fit, in parts so that no write is long; complete when the row of `belief_versions` is there.
beliefs: Table = Table(
    "beliefs", metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("blob", LargeBinary, nullable=False),
)  # fmt: skip
belief_versions: Table = Table(
    "belief_versions", metadata, _id("version"),
    Column("n_parts", Integer, nullable=False),
    Column("n_votes", Integer, nullable=False),
    Column("at", Float, nullable=False),
    Column("about", Text, nullable=False),
)  # fmt: skip

# How things stood, for the charts.
history: Table = Table(
    "history", metadata, _id(),
    Column("at", Float, nullable=False),
    _money("spent"), _money("reserved"), _money("budget"),
    Column("n_votes", Integer, nullable=False),
    Column("settled", Integer, nullable=False),
    Column("expected_error", Float, nullable=False),
)  # fmt: skip

# Addresses that are told what happens. The secret that signs it follows from `salt` and the campaign's own. events:
# names with spaces between them, none for all. private: whether it may be a machine of one's own network. next_at: when
# to send again; whoever sends moves it on first, so that nobody else does. said: what came of the last try.
webhooks: Table = Table(
    "webhooks", metadata, _id(),
    Column("url", Text, nullable=False),
    Column("salt", LargeBinary, nullable=False),
    Column("events", Text, nullable=False),
    Column("private", Boolean, nullable=False),
    Column("made_at", Float, nullable=False),
    Column("next_at", Float, nullable=False),
    *(_count(name) for name in ("failures", "n_sent", "n_lost")),
    Column("tried_at", Float),
    Column("said", Text, nullable=False, server_default=""),
)  # fmt: skip

# What is still to be sent; written together with what it tells, deleted when it has arrived.
outbox: Table = Table(
    "outbox", metadata, _id(),
    Column("webhook_id", ForeignKey("webhooks.id"), nullable=False),
    Column("event_id", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("made_at", Float, nullable=False),
    Column("next_at", Float, nullable=False),
    Column("tries", Integer, nullable=False, server_default="0"),
)  # fmt: skip
Index("next_to_send", outbox.c.webhook_id, outbox.c.next_at, outbox.c.id)

# Requests by their idempotency key, with what they gave; of a page its number.
requests: Table = Table(
    "requests", metadata,
    Column("key", Text, primary_key=True),
    Column("body", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("at", Float, nullable=False),
)  # fmt: skip
