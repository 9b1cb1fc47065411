"""Numbers for Prometheus: requests, and where the money is. Health for whoever restarts servers."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from amcc.active.prices import as_number
from amcc.serve.service import Service

# Seconds. The promise is 0.05 for most pages; what takes longer than 2.5 feels broken.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)

# Anything else that is sent as a method counts as one, so that nobody can grow the list.
METHODS = ("GET", "HEAD", "POST")


class Metrics:
    """What one server has seen, and how its campaign stands."""

    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("amcc_requests", "Requests answered.", labels, registry=self._registry)
        self._seconds = Histogram(
            "amcc_request_seconds", "Time to the answer.", ("route",), buckets=BUCKETS, registry=self._registry
        )
        self._registry.register(CampaignGauges(service))
        self._counters: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered; `route` is the address as it stands in the code, without tokens."""
        known = method if method in METHODS else "other"
        counters = self._counters.get((known, route, status))
        if counters is None:  # looked up once: prometheus_client takes longer to find a counter than to count
            counters = self._requests.labels(known, route, str(status)), self._seconds.labels(route)
            self._counters[known, route, status] = counters
        counters[0].inc()
        counters[1].observe(seconds)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return bytes(generate_latest(self._registry))


class CampaignGauges:
    """How a campaign stands, asked for when somebody reads the metrics."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> Iterator[Metric]:
        """Nothing is read from the campaign when the server starts."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Money in the campaign's currency, counts and errors."""
        status = self._service.status()
        money = GaugeMetricFamily("amcc_money", "Where the budget is.", labels=("part",))
        balance = status.money
        parts = {"budget": balance.budget, "paid": balance.paid, "due": balance.due, "reserved": balance.reserved,
                 "left": balance.left}  # fmt: skip
        for part, units in parts.items():
            money.add_metric([part], as_number(units, status.decimals))
        yield money
        numbers = {
            "amcc_items": ("Items.", status.n_items), "amcc_workers": ("Workers.", status.n_workers),
            "amcc_votes": ("Votes that count.", status.n_votes), "amcc_skips": ("Cannot tell.", status.n_skips),
            "amcc_open_leases": ("Pages that somebody has open.", status.open_leases),
            "amcc_pairs": ("Pairs of item and label.", status.n_pairs),
            "amcc_settled_pairs": ("Pairs that need no more answers.", status.settled),
            "amcc_fitted_votes": ("Votes that the last whole fit knew.", status.fitted_votes),
            "amcc_expected_error": ("Share of pairs expected to be wrong.", status.expected_error),
            "amcc_running": ("1 while pages are handed out.", float(status.state == "running")),
        }  # fmt: skip
        for name, (what, value) in numbers.items():
            yield GaugeMetricFamily(name, what, value=value)
        shares = {"present": status.settled_present, "absent": status.settled_absent}
        settled = GaugeMetricFamily("amcc_settled_share", "Settled share of the asked pairs.", labels=("called",))
        for called, share in shares.items():
            if share is not None:
                settled.add_metric([called], share)
        yield settled
        if status.audited.share is not None:
            yield GaugeMetricFamily("amcc_audited_error", "Share of audit answers that disagree.",
                                    value=status.audited.share)  # fmt: skip
