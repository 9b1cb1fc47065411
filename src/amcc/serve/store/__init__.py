"""Where a campaign is kept: `schema` (tables), `database` (engines, transactions, the lock), `migrations` (Alembic)."""
