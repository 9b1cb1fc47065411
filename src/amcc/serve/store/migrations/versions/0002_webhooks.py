"""Webhooks with what waits to be sent to them, and who was proposed for blocking."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add two tables, and a column each to the account and to workers."""
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("next_at", sa.Float(), nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_sent", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_lost", sa.Integer(), server_default="0", nullable=False),
        sa.Column("tried_at", sa.Float(), nullable=True),
        sa.Column("said", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("webhook_id", sa.Integer(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("next_at", sa.Float(), nullable=False),
        sa.Column("tries", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["webhook_id"], ["webhooks.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("next_to_send", "outbox", ["webhook_id", "next_at", "id"], unique=False)
    op.add_column("account", sa.Column("n_events", sa.Integer(), server_default="0", nullable=False))
    op.add_column("workers", sa.Column("proposed_at", sa.Float(), nullable=True))
