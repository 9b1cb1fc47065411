"""Statements that every page needs, compiled once and handed to the driver as they are.

SQLAlchemy takes a third of a millisecond for each statement, and a page needs twenty: with a hundred workers that is
most of a processor. So the statements of the busy paths are written with SQLAlchemy, for both databases, and run by the
driver. Errors are those of SQLAlchemy all the same.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ClauseElement, Connection, exc
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.selectable import Select

Values = Mapping[str, Any]


class Prepared:
    """One statement. `columns` are those of an INSERT; rows of a SELECT have the names of its columns."""

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        if isinstance(statement, Insert) and columns is None:
            columns = [column.name for column in statement.table.columns]
        self._columns = columns
        names = [column.name for column in statement.selected_columns] if isinstance(statement, Select) else []
        row: Any = namedtuple("Row", names)  # type: ignore[misc]  # the names are known when it runs
        self._names, self._row = names, row._make
        self._compiled: dict[str, tuple[str, list[str] | None, dict[str, Any]]] = {}

    def _for(self, connection: Connection) -> tuple[str, list[str] | None, dict[str, Any]]:
        found = self._compiled.get(connection.dialect.name)
        if found is None:
            made = self._statement.compile(dialect=connection.dialect, column_keys=self._columns)
            fixed = {name: value for name, value in made.params.items() if value is not None}
            found = str(made), getattr(made, "positiontup", None), fixed
            self._compiled[connection.dialect.name] = found
        return found

    def run(self, connection: Connection, values: Values | None = None) -> list[tuple[Any, ...]]:
        """Run it; gives the rows of a SELECT."""
        sql, order, fixed = self._for(connection)
        return self._execute(connection, "execute", sql, _arranged({**fixed, **(values or {})}, order))

    def many(self, connection: Connection, rows: Sequence[Values]) -> None:
        """Run it for each of these rows."""
        sql, order, fixed = self._for(connection)
        if rows:
            self._execute(connection, "executemany", sql, [_arranged({**fixed, **row}, order) for row in rows])

    def _execute(self, connection: Connection, how: str, sql: str, values: Any) -> list[tuple[Any, ...]]:
        raw: Any = connection.connection
        base: Any = connection.dialect.loaded_dbapi.Error
        try:
            cursor = raw.cursor()
            getattr(cursor, how)(sql, values)
            return list(cursor.fetchall()) if self._names else []
        except base as error:
            lost = connection.dialect.is_disconnect(error, raw, None)
            # Parameters are left out: they may be answers, or names.
            told = exc.DBAPIError.instance(sql, None, error, base, True, connection_invalidated=lost)
            if lost:  # as SQLAlchemy does it: nobody uses this connection again
                connection.invalidate(error)
            raise told from error

    def all(self, connection: Connection, values: Values | None = None) -> list[Any]:
        """The rows, as named tuples."""
        return list(map(self._row, self.run(connection, values)))

    def first(self, connection: Connection, values: Values | None = None) -> dict[str, Any] | None:
        """The first row by name, or None."""
        rows = self.run(connection, values)
        return dict(zip(self._names, rows[0], strict=True)) if rows else None


def _arranged(values: dict[str, Any], order: list[str] | None) -> Any:
    return values if order is None else [values[name] for name in order]
