"""How long the money lasts at the present pace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amcc.serve.views import History

# The pace is that of the last third of the time: long enough to be steady, short enough to be of now.
RECENT = 1 / 3

# Seconds: ten years.
FURTHEST = 10 * 365 * 86400.0


@dataclass(frozen=True)
class Pace:
    """Money per second, and when there is none left."""

    per_second: float
    ends_at: float


def pace(history: Sequence[History]) -> Pace | None:
    """The pace of spending; None where nothing was spent lately.

    >>> def at(time, spent): return History(time, spent, 0, 100, 0, 0, 0.1)
    >>> pace([at(0, 0), at(60, 20), at(90, 50)])
    Pace(per_second=1.0, ends_at=140.0)
    """
    if len(history) < 2:
        return None
    first, last = history[0], history[-1]
    since = last.at - RECENT * (last.at - first.at)
    before = [each for each in history[:-1] if each.at <= since] or [first]
    then = before[-1]
    if last.spent <= then.spent or last.at <= then.at:
        return None
    per_second = (last.spent - then.spent) / (last.at - then.at)
    # As far ahead as a date can be written: money that is hardly spent lasts longer than calendars.
    seconds = min((last.budget - last.spent) / per_second, FURTHEST)
    return Pace(per_second, last.at + seconds)
