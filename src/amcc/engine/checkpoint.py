"""Checkpoints: how far a long fit has come, in one file (`amcc.fields`), so that an interrupted one goes on.

A fit has stages (rounds of the crowd, label sets, …), each with a state. `keep` replaces the state of a stage; now and
then all states are written as one file, which is whole or absent. A fit that begins with such a file gets its states
back by `recall`, and goes on to exactly the result that it would have had. When a fit is finished the file is removed.

The file says which fit it belongs to: another model, other parameters or other votes are refused, since going on from
their states would give a wrong result without a word.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from amcc.errors import FileFormatError, InputError
from amcc.fields import Arrays, Stored, read_fields, take_apart, write_fields
from amcc.files import remove_left_behind

State = TypeVar("State")

# Between two writings: a fit spends little of its time on them, and a killed one loses no more work than this. The last
# state is written in any case when a fit stops or is interrupted.
SECONDS = 20.0


class Checkpoint:
    """What the stages of a fit have found so far.

    path : the file
    seconds : least time between two writings

    Examples
    --------
    >>> model.fit(LocalEngine("packed", checkpoint=Checkpoint("fit.checkpoint")))  # doctest: +SKIP
    """

    def __init__(self, path: str | Path, seconds: float = SECONDS) -> None:
        self.path: Path = Path(path)
        self.seconds = seconds
        self.identity: str = ""
        self._arrays: Arrays = {}
        self._plain: dict[str, Any] = {}
        self._sizes: dict[str, int] = {}
        self._written = time.monotonic()  # a clock that nobody can set back
        self._pending: dict[str, Callable[[], Any]] = {}

    def begin(self, identity: str, sizes: Mapping[str, int] | None = None) -> None:
        """Go on with the fit of this identity, which says what is fitted to what; the file may be there or not.

        sizes : of workers, labels … of the votes, by which states are checked
        """
        self.identity, self._arrays, self._plain, self._sizes = identity, {}, {}, dict(sizes or {})
        self._pending.clear()  # states that a cluster had when it was lost: they could not be written
        if not self.path.exists():
            return
        # The file may be damaged, or from anywhere: what is in it is checked when it is read, and again in `recall`.
        with _to_be_removed():
            meta, arrays = read_fields(self.path, "a checkpoint")
            fields = Stored(self.path, arrays, meta.get("plain"))
        of_file = meta.get("identity")
        if of_file != identity:
            raise InputError(
                f"{self.path} is the checkpoint of another fit ({of_file}, not {identity}). Name another file, or "
                "remove this one to start from the beginning."
            )
        self._arrays, self._plain = arrays, fields.plain

    def recall(self, stage: str, kind: type[State]) -> State | None:
        """The state of a stage, if there is one.

        kind : its class, a dataclass or named tuple; its fields say what the file must hold, and are checked
        """
        self._take_apart()
        if stage not in self._plain:
            return None
        with _to_be_removed():
            state: State = Stored(self.path, self._arrays, self._plain, self._sizes).rebuilt(kind, stage)
        return state

    def keep(self, stage: str, state: State, whole: Callable[[State], State] | None = None) -> None:
        """Note the state of a stage in place of the one before.

        whole : makes what is written of the state; called only if it is, for a cluster has to gather it first
        """
        self._pending[stage] = (lambda: state) if whole is None else partial(whole, state)
        if time.monotonic() - self._written >= self.seconds:
            self.flush()

    def flush(self) -> None:
        """Write what is not yet written; who stops a fit calls this."""
        if not self._pending:
            return
        try:
            self._take_apart()
        finally:  # a cluster that was lost has taken its last state with it: then the one before is written
            write_fields(self.path, {"identity": self.identity, "plain": self._plain}, self._arrays)
            self._written = time.monotonic()

    def _take_apart(self) -> None:
        """Put the fields of states that were noted since in place of those before."""
        for stage in list(self._pending):
            state, own = self._pending[stage](), f"{stage}."
            # All of the old state goes: a field that is None now has no entry to replace the one it had.
            self._arrays = {path: array for path, array in self._arrays.items() if not path.startswith(own)}
            self._plain = {path: value for path, value in self._plain.items() if not path.startswith(own)}
            self._plain[stage] = True
            take_apart(state, stage, self._arrays, self._plain)
            del self._pending[stage]

    def remove(self) -> None:
        """The fit is finished: nothing is left to go on with."""
        self._pending.clear()
        self.path.unlink(missing_ok=True)
        remove_left_behind(self.path)  # a short fit writes nothing that would have done so


@contextmanager
def _to_be_removed() -> Iterator[None]:
    """Say in errors about the file what the way out is."""
    try:
        yield
    except FileFormatError as error:
        raise FileFormatError(f"{error} Remove it to start from the beginning.") from None
