"""How Alembic runs our revisions: in the transaction of whoever calls `versions.upgrade`."""

from alembic import context

# Alembic runs this file with a context of its own; whoever only imports it, to read it, has none.
if hasattr(context, "config"):
    context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
    context.run_migrations()
