"""What the first page of the dashboard shows, from the status of a campaign."""

from __future__ import annotations

from typing import Any

from amcc.active.prices import major_units
from amcc.serve.views import Status
from amcc.serve.web.charts import Band, Drawing, Line, draw
from amcc.serve.web.forecast import Pace, pace
from amcc.serve.web.pages import moment
from amcc.serve.web.strings import Strings

# Width of the bar that shows where the money is, in units of its drawing.
BAR = 1000


def overview(status: Status, t: Strings) -> dict[str, Any]:
    """All that `live.html` needs."""
    found = pace(status.history) if status.state == "running" else None
    if found and found.ends_at < status.at:
        found = None  # at this pace all would be spent by now, and it is not: nobody works any more
    buys = status.next_money
    return {
        "now": status, "spent": status.money.paid + status.money.due, "bar": money_bar(status),
        "burn_down": burn_down(status, found, t), "settled_chart": settled_chart(status, t),
        "error_chart": error_chart(status, t), "ends_at": moment(found.ends_at) if found else "",
        "per_hour": round(found.per_second * 3600) if found else 0, "at": moment(status.at),
        "next_key": "money.next" if buys and buys.settled_pairs >= 1 else "money.next_less",
    }  # fmt: skip


def money_bar(status: Status) -> list[tuple[str, float, float]]:
    """Parts of the bar: look, where it begins, how wide it is."""
    money, parts, begin = status.money, [], 0.0
    for look, units in (("paid", money.paid), ("due", money.due), ("reserved", money.reserved)):
        width = BAR * units / money.budget if money.budget else 0.0
        parts.append((look, round(begin, 1), round(width, 1)))
        begin += width
    return parts


def burn_down(status: Status, found: Pace | None, t: Strings) -> Drawing | None:
    """Money left over time, and when it will be spent."""
    left = [(each.at, each.budget - each.spent) for each in status.history]
    lines = [Line(left, t("chart.left"))]
    if found and left:
        lines.append(Line([left[-1], seen_until(left[0][0], left[-1], found)], t("chart.forecast"), "forecast"))
    return draw(t("chart.burn_down"), lines, x_text=moment, y_text=lambda units: amount(units, status, t))


def seen_until(begun: float, now: tuple[float, float], found: Pace) -> tuple[float, float]:
    """Where the line of the forecast ends: at no money, or as far ahead as the chart looks back."""
    time, left = now
    end = min(found.ends_at, 2 * time - begun)
    return end, max(left - found.per_second * (end - time), 0.0)


def settled_chart(status: Status, t: Strings) -> Drawing | None:
    """Share of settled pairs over money."""
    pairs = max(status.n_pairs, 1)
    line = Line([(each.spent, each.settled / pairs) for each in status.history], t("chart.settled"))
    digits = digits_up_to([settled for _, settled in line.points])
    return draw(t("chart.settled_over_money"), [line], x_text=lambda units: amount(units, status, t),
                y_text=lambda share: t.share(share, digits))  # fmt: skip


def error_chart(status: Status, t: Strings) -> Drawing | None:
    """Expected error over money, with what the random slice measured beside it."""
    line = Line([(each.spent, each.expected_error) for each in status.history], t("chart.expected"))
    audited, bands = status.audited, []
    if audited.share is not None and audited.low is not None and audited.high is not None and status.history:
        bands = [Band(status.history[-1].spent, audited.low, audited.share, audited.high, t("chart.measured"))]
    digits = digits_up_to([each.expected_error for each in status.history] + [each.high for each in bands])
    return draw(t("chart.error_over_money"), [line], bands=bands, x_text=lambda units: amount(units, status, t),
                y_text=lambda share: t.share(share, digits))  # fmt: skip


def digits_up_to(shares: list[float]) -> int:
    """Digits of per cents on an axis: up to 10 % its steps may be 2.5 %, which whole per cents would call 2."""
    return 1 if max(shares, default=0) <= 0.1 else 0


def amount(units: float, status: Status, t: Strings) -> str:
    """Money on an axis, without the currency."""
    return t.number(major_units(round(units), status.decimals))
