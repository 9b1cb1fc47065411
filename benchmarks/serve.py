"""A live campaign of 100,000 items × 20 labels with 100 workers at once: times, memory, and Potato beside it.

Two loads, each on our server and on Potato's, on this machine, one after the other:

- *people*: every worker takes two to four seconds for a page, as quick people do. How long do they wait for the next
  page, and for their answer to be stored? The requester decides pairs meanwhile, so that fits run all the time.
- *flat out*: nobody pauses. How many pages with answers are stored in a second?

Both are visited as a browser visits them: our annotator pages, Potato's. Ours is also measured through its API.

    python benchmarks/serve.py                       ours alone
    python -m venv potato && potato/bin/pip install potato-annotation==2.12.1
    python benchmarks/serve.py --potato potato       both, with ratios; --write puts them into the docs
"""

from __future__ import annotations

import asyncio
import compileall
import itertools
import json
import random
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from load import free_port
from script import parser_of, whole_number, write_between
from visitors import Gone, Times, Visitor

import amcc
from amcc.serve.scenes import WORDS
from amcc.serve.service import Service, new_campaign

# Seconds that people take for a page in the first load: quick ones.
THINKING = (2.0, 4.0)

# Seconds between two decisions of the requester.
DECIDING = 2.0

# Seconds until a server must answer: Potato reads all items first.
PATIENCE = 600.0

DOCS = Path(__file__).parents[1] / "docs" / "campaigns-operations.md"


@dataclass
class Measured:
    """What workers waited for, in one load."""

    page: Times = field(default_factory=Times)
    answer: Times = field(default_factory=Times)
    seconds: float = 0.0
    labels: int = 0
    failed: int = 0
    fitting: float = 0.0

    @property
    def per_second(self) -> float:
        """Pages with answers that were stored in a second."""
        return len(self.answer.taken) / self.seconds if self.seconds else float("nan")


@dataclass
class Machine:
    """What a server took: seconds to its first answer, and megabytes."""

    start: float
    memory: float = 0.0


# One page: wait for it, answer it, and note both times. Gives False where there is no work.
Step = Callable[[Visitor, random.Random, Measured], Awaitable[bool]]


async def load(
    visitors: list[Visitor], step: Step, seconds: float, thinking: bool, look: Callable[[], bool]
) -> Measured:
    """Let all visitors work for so long; `look` says whether a fit runs."""
    for each in visitors:
        each.close()  # servers end connections that were silent for some seconds
    found, begun = Measured(), time.perf_counter()
    end, looks = begun + seconds, []

    async def work(number: int, visitor: Visitor) -> None:
        rng = random.Random(number)
        if thinking:  # nobody begins at the same moment
            await asyncio.sleep(rng.uniform(0, THINKING[1]))
        while time.perf_counter() < end:
            try:
                if not await step(visitor, rng, found):
                    await asyncio.sleep(0.2)
            except Gone:
                found.failed += 1
            if thinking:
                await asyncio.sleep(rng.uniform(*THINKING))

    async def watch() -> None:
        while time.perf_counter() < end:
            looks.append(look())
            await asyncio.sleep(0.25)

    await asyncio.gather(watch(), *(work(number, each) for number, each in enumerate(visitors)))
    found.seconds = time.perf_counter() - begun
    found.fitting = sum(looks) / max(len(looks), 1)
    return found


def texts(n: int) -> Iterator[str]:
    """Short texts to ask about."""
    rng, words = random.Random(0), [word for both in WORDS.values() for word in both]
    return (f"{rng.choice(words)} and {rng.choice(words)} number {number}" for number in range(n))


# -- ours --------------------------------------------------------------------------------------------------------------


def make_campaign(folder: Path, n_items: int, n_labels: int) -> float:
    """A large campaign; seconds to make it."""
    place = folder.with_name("files")
    place.mkdir()
    (place / "items.csv").write_text("item,text\n" + "".join(f"i{n},{text}\n" for n, text in enumerate(texts(n_items))))
    labels = "".join(f"l{n},Is it l{n}?,\n" for n in range(n_labels))
    (place / "labels.csv").write_text("label,question,help\n" + labels)
    begun = time.perf_counter()
    new_campaign(
        folder, items=place / "items.csv", labels=place / "labels.csv", budget="1000000", price="0.02",
        page_price="0.01", password=secrets.token_hex(8), completion_code="DONE",
    )  # fmt: skip
    return time.perf_counter() - begun


async def api_step(visitor: Visitor, rng: random.Random, found: Measured) -> bool:
    """A page through the API."""
    begun = time.perf_counter()
    told = (await visitor.post("/api/v1/lease", {})).json()
    page = told.get("page")
    if page is None:
        return False
    found.page.note(begun)
    answers = {str(each["label_id"]): rng.choice(("yes", "no", "no")) for each in page["questions"]}
    begun = time.perf_counter()
    receipt = await visitor.post("/api/v1/answer", {"lease_id": page["lease_id"], "answers": answers})
    if receipt.status != 200:
        found.failed += 1
        return True
    found.answer.note(begun)
    found.labels += len(answers)
    return True


async def page_step(visitor: Visitor, rng: random.Random, found: Measured) -> bool:
    """A page as a browser without JavaScript sees it: read it, send the form, which gives a redirect to the next."""
    begun = time.perf_counter()
    html = (await visitor.get("/work")).body.decode()
    lease = re.search(r'name="lease" value="(\d+)"', html)
    if lease is None:
        return False
    found.page.note(begun)
    fields = set(re.findall(r'name="(answer-\d+)"', html))
    form = {"lease": lease[1], **{name: rng.choice(("yes", "no", "no")) for name in fields}}
    begun = time.perf_counter()
    told = await visitor.send("POST", "/work", urlencode(form).encode(), {
        "content-type": "application/x-www-form-urlencoded", "origin": f"http://{visitor.host}:{visitor.port}",
    })  # fmt: skip
    if told.status != 303:
        found.failed += 1
        return True
    found.answer.note(begun)
    found.labels += len(fields)
    return True


@contextmanager
def our_server(folder: Path, log: Path) -> Iterator[tuple[int, Any]]:
    """`amcc serve`, as people start it; its port and process."""
    port = free_port()
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "amcc", "serve", str(folder), "--port", str(port)], stdout=out, stderr=out
        )
    with ended(process):
        yield port, process


@contextmanager
def ended(process: Any) -> Iterator[None]:
    """End a process after the block, kindly at first."""
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def first_answer(port: int, process: Any, path: str, log: Path) -> Machine:
    """Wait until a server answers."""
    begun, visitor = time.perf_counter(), Visitor("127.0.0.1", port)
    while True:
        with suppress(Gone):
            await visitor.get(path)
            visitor.close()
            return Machine(time.perf_counter() - begun)
        if process.poll() is not None or time.perf_counter() - begun > PATIENCE:
            raise SystemExit(f"the server does not start: {log.read_text()[-1500:]}")
        await asyncio.sleep(0.02)


async def measure_ours(folder: Path, workers: int, seconds: float, log: Path) -> tuple[Machine, dict[str, Measured]]:
    """Start the server, let workers come by the API and by the pages, and see what it takes."""
    with Service.open(folder) as service:
        links = service.invite([f"w{n}" for n in range(workers)], actor="benchmark")
    with our_server(folder, log) as (port, process):
        machine, found = await first_answer(port, process, "/healthz", log), {}
        by_api = [Visitor("127.0.0.1", port, {"authorization": f"Bearer {each.token}"}) for each in links]
        by_page = [Visitor("127.0.0.1", port) for each in links]
        for visitor, link in zip(by_page, links, strict=True):
            await visitor.get(f"/w/{link.token}")
        # Flat out first: the votes that it leaves are what fits learn from while people come.
        for name, visitors, step, thinking in (
            ("pages, flat out", by_page, page_step, False),
            ("API, flat out", by_api, api_step, False),
            ("pages, people", by_page, page_step, True),
            ("API, people", by_api, api_step, True),
        ):
            with deciding(folder) if thinking else nullcontext():
                found[name] = await load(visitors, step, seconds, thinking, lambda: fit_runs(folder))
            machine.memory = max(machine.memory, megabytes(process.pid))
        return machine, found


@contextmanager
def deciding(folder: Path) -> Iterator[None]:
    """A requester who decides a pair now and then: the server fits again, though its votes have grown by little."""
    over = threading.Event()

    def decide() -> None:
        with Service.open(folder) as beside:
            for item in itertools.count():
                if over.wait(DECIDING):
                    return
                beside.decide(item, 0, True, "benchmark")

    thread = threading.Thread(target=decide)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def fit_runs(folder: Path) -> bool:
    """Whether a process fits this campaign now."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = line.read_bytes().split(b"\0")
            if b"amcc.serve.fit" in words and str(folder).encode() in words:
                return True
    return False


def megabytes(pid: int) -> float:
    """The largest memory that a process had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


# -- Potato ------------------------------------------------------------------------------------------------------------

CONFIG = """
server_name: potato
annotation_task_name: benchmark
task_dir: .
output_annotation_dir: out/
output_annotation_format: json
data_files: [items.jsonl]
item_properties: {id_key: id, text_key: text}
user_config: {allow_all_users: true, users: []}
require_password: false
max_annotations_per_item: 20
max_annotations_per_user: -1
assignment_strategy: random
annotation_schemes:
  - {annotation_type: multiselect, name: labels, description: "Which labels?", labels: [LABELS]}
site_dir: default
"""


@contextmanager
def potato_server(venv: Path, place: Path, n_items: int, n_labels: int, log: Path) -> Iterator[tuple[int, Any]]:
    """Potato with the same items and labels, each worker free to take any number of them; its port and process."""
    with (place / "items.jsonl").open("w") as file:
        file.writelines(json.dumps({"id": f"i{n}", "text": text}) + "\n" for n, text in enumerate(texts(n_items)))
    (place / "config.yaml").write_text(CONFIG.replace("LABELS", ", ".join(f"l{n}" for n in range(n_labels))))
    port = free_port()
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(venv.resolve() / "bin" / "potato"), "start", "config.yaml", "-p", str(port), "--host", "127.0.0.1"],
            cwd=place, stdout=out, stderr=out,
        )  # fmt: skip
    with ended(process):
        yield port, process


async def potato_step(visitor: Visitor, rng: random.Random, found: Measured, n_labels: int) -> bool:
    """A page of Potato: what its own script sends. The page is there after the first visit, or with the last answer."""
    instance = visitor.cookies.get("instance")
    if instance is None:
        instance = instance_in((await visitor.get("/annotate")).body)
    chosen = [f"l{n}" for n in range(n_labels) if rng.random() < 1 / 3]
    body = {"instance_id": instance, "annotations": {f"labels:::{each}": each for each in chosen or ["l0"]},
            "span_annotations": []}  # fmt: skip
    begun = time.perf_counter()
    told = await visitor.post("/updateinstance", body)
    if told.status != 200:
        found.failed += 1
        return True
    found.answer.note(begun)
    found.labels += n_labels
    begun = time.perf_counter()
    page = await visitor.post("/annotate", {"action": "next_instance", "instance_id": instance})
    if page.status != 200:
        found.failed += 1
        visitor.cookies.pop("instance", None)
        return True
    found.page.note(begun)
    visitor.cookies["instance"] = instance_in(page.body)
    return True


def instance_in(html: bytes) -> str:
    """The item that a page of Potato shows."""
    shown = re.search(rb'id="instance_id"[^>]*value="([^"]*)"', html)
    if shown is None:
        raise Gone("a page without an item")
    return shown[1].decode()


async def measure_potato(
    port: int, process: Any, log: Path, n_labels: int, workers: int, seconds: float
) -> tuple[Machine, dict[str, Measured]]:
    """Wait for Potato, sign everybody in, and let them work."""
    machine = await first_answer(port, process, "/", log)
    visitors = [Visitor("127.0.0.1", port) for _ in range(workers)]
    form = {"content-type": "application/x-www-form-urlencoded"}
    for number, visitor in enumerate(visitors):
        await visitor.send("POST", "/auth", f"email=w{number}&pass=".encode(), form)

    async def step(visitor: Visitor, rng: random.Random, found: Measured) -> bool:
        return await potato_step(visitor, rng, found, n_labels)

    found = {
        "pages, flat out": await load(visitors, step, seconds, False, lambda: False),
        "pages, people": await load(visitors, step, seconds, True, lambda: False),
    }
    machine.memory = megabytes(process.pid)
    return machine, found


# -- what is said ------------------------------------------------------------------------------------------------------


def rows_of(name: str, machine: Machine, loads: dict[str, Measured]) -> list[str]:
    """Rows of a Markdown table."""
    rows = []
    for what, found in loads.items():
        page, answer = (
            " / ".join(f"{times.percentile(share):.0f}" for share in (0.5, 0.95, 0.99))
            for times in (found.page, found.answer)
        )
        fit = f"{found.fitting:.0%}" if name == "amcc" else "–"
        rows.append(f"| {name} | {what} | {found.per_second:.1f} | {page} | {answer} | {fit} | {found.failed} |")
    return [*rows, f"| {name} | first start {machine.start:.1f} s, memory {machine.memory:.0f} MB | | | | | |"]


HEAD = ["| server | load | pages answered per second | next page p50 / p95 / p99, ms | answer p50 / p95 / p99, ms | "
        "time with a fit running | failed |", "|---|---|---|---|---|---|---|"]  # fmt: skip


def main() -> None:
    """Read options, measure, print a table."""
    parser = parser_of(__doc__)
    parser.add_argument("--items", type=whole_number, default=100_000)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each load")
    parser.add_argument("--potato", type=Path, help="virtual environment with potato-annotation")
    parser.add_argument("--write", action="store_true", help=f"into {DOCS.name}")
    given = parser.parse_args()
    compileall.compile_dir(Path(amcc.__file__).parent, quiet=1)  # as pip does when it installs
    with tempfile.TemporaryDirectory(prefix="serve") as place:
        folder, log = Path(place) / "campaign", Path(place) / "log"
        made = make_campaign(folder, given.items, given.labels)
        print(f"made {given.items:,} items × {given.labels} labels in {made:.1f} s", file=sys.stderr)
        machine, ours = asyncio.run(measure_ours(folder, given.workers, given.seconds, log))
        lines = [*HEAD, *rows_of("amcc", machine, ours)]
    print("\n".join(lines), flush=True)
    n_ours = len(lines)
    if given.potato:
        with tempfile.TemporaryDirectory(prefix="potato") as place:
            log = Path(place) / "log"
            with potato_server(given.potato, Path(place), given.items, given.labels, log) as (port, process):
                measured = measure_potato(port, process, log, given.labels, given.workers, given.seconds)
                its, theirs = asyncio.run(measured)
        lines += rows_of("Potato", its, theirs)
        ratio = ours["pages, flat out"].per_second / theirs["pages, flat out"].per_second
        lines += ["", f"Pages answered per second, flat out, amcc over Potato: {ratio:.1f} ×."]
        print("\n".join(lines[n_ours:]))
    if given.write:
        write(lines, given)


def write(lines: list[str], given: Any) -> None:
    """Put the table where the documents have their place for it."""
    said = (f"{given.items:,} items × {given.labels} labels, {given.workers} workers at once, two cores, SQLite, "
            f"`python benchmarks/serve.py --potato VENV --write`, {time.strftime('%Y-%m-%d')}:")  # fmt: skip
    write_between(DOCS, "serve-numbers", [said, "", *lines])


if __name__ == "__main__":
    main()
