"""How fast a live campaign hands out pages and takes answers, without the web: many workers at once, while a fit runs.

    python benchmarks/serve_core.py                     # 100,000 items × 20 labels, 100 workers, 30 seconds
    python benchmarks/serve_core.py --items 2000 --seconds 5 --postgres URL

Workers are threads that answer after a pause (bounded load: `--rate` pages per second altogether). It prints p50, p95
and p99 of both steps in milliseconds, the memory of the process, how long the first start took, and what `verify` says.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import threading
import time
from pathlib import Path

from amcc.serve.service import Service, new_campaign
from amcc.serve.views import WorkPage


def made(folder: Path, n_items: int, n_labels: int, database: str | None) -> Path:
    """A campaign of texts, with a hundredth of the truth known."""
    items, labels, truth = (folder / f"{name}.csv" for name in ("items", "labels", "truth"))
    with items.open("w") as file:
        file.write("item,text\n")
        file.writelines(f"item {n},What item {n} is about\n" for n in range(n_items))
    labels.write_text("label,question\n" + "".join(f"label {n},Is it {n}?\n" for n in range(n_labels)))
    truth.write_text("item,label,truth\n" + "".join(f"item {n},label 0,{n % 2}\n" for n in range(0, n_items, 100)))
    return new_campaign(
        folder / "campaign", items=items, labels=labels, budget="100000.00", price="0.02", page_price="0.01",
        password="not a secret", truth=[truth], database=database,
    )  # fmt: skip


def work(service: Service, worker: int, until: float, pause: float, times: dict[str, list[float]]) -> None:
    """One worker, who is right in four of five answers; every third label of an item is present."""
    rng = random.Random(worker)
    time.sleep(rng.random() * pause)
    while time.monotonic() < until:
        start = time.perf_counter()
        page = service.next_page(worker)
        times["next page"].append(time.perf_counter() - start)
        if not isinstance(page, WorkPage):
            return
        answers = {}
        for question in page.questions:
            present = (page.item.id + question.label_id) % 3 == 0
            said = present if rng.random() < 0.8 else not present
            answers[question.label_id] = "skip" if rng.random() < 0.02 else "yes" if said else "no"
        start = time.perf_counter()
        service.answer(worker, page.lease_id, answers)  # type: ignore[arg-type]
        times["answer"].append(time.perf_counter() - start)
        time.sleep(pause * (0.5 + rng.random()))


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rate", type=float, default=60, help="pages per second of all workers together; 0: no pause")
    parser.add_argument("--postgres", help="URL of an empty database")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        begun = time.perf_counter()
        folder = made(Path(place), options.items, options.labels, options.postgres)
        print(f"campaign new: {time.perf_counter() - begun:.1f} s")
        begun = time.perf_counter()
        with Service.open(folder, server=True) as service:
            print(f"first start: {time.perf_counter() - begun:.2f} s")
            service.invite([f"worker {n}" for n in range(options.workers)], actor="benchmark")
            measure(service, options)


def measure(service: Service, options: argparse.Namespace) -> None:
    """Let all workers work, and print."""
    times: dict[str, list[float]] = {"next page": [], "answer": []}
    until = time.monotonic() + options.seconds
    pause = options.workers / options.rate if options.rate else 0.0
    threads = [threading.Thread(target=work, args=(service, n, until, pause, times)) for n in range(options.workers)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begun
    for name, found in times.items():
        shown = ", ".join(
            f"p{100 * q:.0f} {1000 * sorted(found)[int(q * (len(found) - 1))]:.1f}" for q in (0.5, 0.95, 0.99)
        )
        print(f"{name}: {shown} ms; {len(found) / took:.0f} per second")
    begun = time.perf_counter()
    status = service.status()
    print(f"status: {time.perf_counter() - begun:.2f} s; {status.n_votes:,} votes, fits: {status.beliefs_version}")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    print(f"problems: {len(service.verify())}")


if __name__ == "__main__":
    main()
