"""Revisions of the tables, run by Alembic; see `amcc.serve.store.versions`."""
