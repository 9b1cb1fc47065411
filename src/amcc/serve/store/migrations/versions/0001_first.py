"""The first tables of live campaigns."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    for make in (
        _account,
        _belief_versions,
        _beliefs,
        _campaign,
        _history,
        _items,
        _labels,
        _ledger,
        _log,
        _requests,
        _workers,
        _identities,
        _leases,
        _truth,
        _questions,
        _skips,
        _votes,
    ):
        make()


def _account() -> None:
    op.create_table(
        "account",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("budget", sa.BigInteger(), nullable=False),
        sa.Column("paid", sa.BigInteger(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.Text(), nullable=False),
        sa.Column("votes_head", sa.LargeBinary(), nullable=False),
        sa.Column("n_ledger", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_questions", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_votes", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_skips", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_leases", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_workers", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_items", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_truth", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_log", sa.Integer(), server_default="0", nullable=False),
        sa.Column("revision", sa.Integer(), server_default="0", nullable=False),
        sa.CheckConstraint("budget >= paid + due + reserved", name="never_overdrawn"),
        sa.CheckConstraint("paid >= 0 AND due >= 0 AND reserved >= 0", name="no_debts"),
        sa.PrimaryKeyConstraint("id"),
    )


def _belief_versions() -> None:
    op.create_table(
        "belief_versions",
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("n_parts", sa.Integer(), nullable=False),
        sa.Column("n_votes", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("version"),
    )


def _beliefs() -> None:
    op.create_table(
        "beliefs",
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("version", "part"),
    )


def _campaign() -> None:
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("password_version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _history() -> None:
    op.create_table(
        "history",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("spent", sa.BigInteger(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("budget", sa.BigInteger(), nullable=False),
        sa.Column("n_votes", sa.Integer(), nullable=False),
        sa.Column("settled", sa.Integer(), nullable=False),
        sa.Column("expected_error", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _items() -> None:
    op.create_table(
        "items",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )


def _labels() -> None:
    op.create_table(
        "labels",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("help", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )


def _ledger() -> None:
    op.create_table(
        "ledger",
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )


def _log() -> None:
    op.create_table(
        "log",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _requests() -> None:
    op.create_table(
        "requests",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )


def _workers() -> None:
    op.create_table(
        "workers",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("family", sa.Text(), server_default="", nullable=False),
        sa.Column("vote_price", sa.BigInteger(), nullable=True),
        sa.Column("page_price", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), server_default="active", nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("link_version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("earned", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("paid", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("reserved", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("n_pages", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_answers", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_skips", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_checks", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_checks_right", sa.Integer(), server_default="0", nullable=False),
        sa.CheckConstraint("reserved >= 0 AND paid >= 0 AND earned >= paid", name="fair"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )


def _identities() -> None:
    op.create_table(
        "identities",
        sa.Column("worker_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("platform", sa.Text(), nullable=False),
        sa.Column("external", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"]),
        sa.PrimaryKeyConstraint("worker_id"),
        sa.UniqueConstraint("platform", "external", name="one_worker_each"),
    )


def _leases() -> None:
    op.create_table(
        "leases",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("leased_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("closed_at", sa.Float(), nullable=True),
        sa.Column("vote_price", sa.BigInteger(), nullable=False),
        sa.Column("page_price", sa.BigInteger(), nullable=False),
        sa.Column("late", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("revision", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"]),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("lease_of_worker", "leases", ["worker_id", "id"], unique=False)
    op.create_index(
        "open_lease",
        "leases",
        ["worker_id"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index(
        "open_until",
        "leases",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )


def _truth() -> None:
    op.create_table(
        "truth",
        sa.Column("item_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("label_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("present", sa.Boolean(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("serial", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"]),
        sa.ForeignKeyConstraint(["label_id"], ["labels.id"]),
        sa.PrimaryKeyConstraint("item_id", "label_id"),
        sa.UniqueConstraint("serial"),
    )


def _questions() -> None:
    op.create_table(
        "questions",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("lease_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("label_id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("price", sa.BigInteger(), nullable=False),
        sa.Column("fee", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["lease_id"], ["leases.id"]),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index(
        "asked_once",
        "questions",
        ["worker_id", "item_id", "label_id"],
        unique=True,
        sqlite_where=sa.text("state <> 'released'"),
        postgresql_where=sa.text("state <> 'released'"),
    )
    op.create_index("question_of_item", "questions", ["item_id"], unique=False)
    op.create_index("question_of_lease", "questions", ["lease_id"], unique=False)
    op.create_index(
        "waiting",
        "questions",
        ["number"],
        unique=False,
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
    )


def _skips() -> None:
    op.create_table(
        "skips",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("question", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("label_id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("paid", sa.Boolean(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["question"], ["questions.number"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("question"),
    )


def _votes() -> None:
    op.create_table(
        "votes",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("question", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("label_id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("value", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("seal", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("value = 1 OR value = -1", name="yes_or_no"),
        sa.ForeignKeyConstraint(["question"], ["questions.number"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("question"),
    )
    op.create_index("vote_of_item", "votes", ["item_id"], unique=False)
