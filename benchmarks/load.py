"""A live campaign under load while its server is killed: what was acknowledged, what was paid, how fast it was.

Fifty workers or more answer at once, by the API of a real server. Some press twice, answer too late, contradict
themselves or send what they made up. The server is killed with SIGKILL at random moments, also while it starts, and
started again. The budget is small and grows when it is used up, so that the last cent is asked for all the time.

At the end the books are checked by hand (`books`). The last four numbers of each table must be 0, or the command fails.

    make load                                              100 kills each: SQLite, PostgreSQL, two servers; full disks
    python benchmarks/load.py --kills 5 --only sqlite      a few
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from books import Books, Noted, Unsure, compare, read_books
from script import parser_of, write_between
from visitors import Gone, Times, Visitor

from amcc.serve.folders import Folder
from amcc.serve.scenes import THINGS, WORDS
from amcc.serve.service import Service, new_campaign

sys.path.append(str(Path(__file__).parents[1] / "tests" / "serve"))
from postgres import Cluster, cluster, programs

DOCS = Path(__file__).parents[1] / "docs" / "campaigns-operations.md"

# Enough that nobody runs out of items, few enough that people meet on the same pairs.
N_ITEMS = 1500

# What is added where the money is used up, and how often at most.
BUDGET, MORE = "3.00", "3.00"

# Seconds between two kills after the server answers again, on average; now and then it is killed while it starts.
BETWEEN, WHILE_STARTING = 0.8, 0.15

# Seconds until a server that was started must answer, and until workers give up on one that is not killed any more.
PATIENCE = 90.0

# Seconds that a page is leased: the least there is, so that pages that somebody left come back while we look.
LEASE_SECONDS = 10

# Share of pages with which a worker does something they should not.
MISCHIEF = 0.15

# Problems of a scenario that are printed.
MOST_SHOWN = 20

# Of the disk that runs full: what the campaign gets beside what it has at the start.
ROOM = 600_000

# Quarters of a second in which all room that is left is taken away: a hundred workers' worth of pages needs some.
SQUEEZES = 80


# -- the server --------------------------------------------------------------------------------------------------------


# Has everything imported, and forks a server whenever it is told to: a start then takes a moment, not seconds. What
# runs is what `amcc serve` runs.
NURSERY = """
import os, sys
from pathlib import Path
from amcc.serve.running import ServerPlan, serve
for line in sys.stdin:
    what, first, second = line.rstrip("\\n").split("\\t")
    if what == "start":
        number = os.fork()
        if not number:
            log = os.open(os.environ["LOAD_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.dup2(log, 1), os.dup2(log, 2), os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            try:
                serve(ServerPlan(Path(first), port=int(second)), lambda address: None)
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\\n".encode())
                os._exit(1)
            os._exit(0)
    else:
        number = os.waitpid(int(first), 0 if what == "wait" else os.WNOHANG)[0]
    print(number, flush=True)
"""


class Nursery:
    """Where servers are forked."""

    def __init__(self, log: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "LOAD_LOG": str(log)},
        )  # fmt: skip

    def ask(self, what: str, first: object, second: object = "") -> int:
        """Start a server (folder, port), wait for it or see whether it has ended (number)."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{what}\t{first}\t{second}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """No more servers."""
        self._process.communicate()


class Server:
    """The server of a campaign as a process, on one port over all its lives."""

    def __init__(self, folder: Path, log: Path, nursery: Nursery) -> None:
        self.folder, self._log, self._nursery = folder, log, nursery
        self.port = free_port()
        self.number = 0

    def start(self) -> None:
        """Start it; it does not answer yet."""
        self.number = self._nursery.ask("start", self.folder, self.port)

    async def answers(self) -> bool:
        """Wait until it answers; False where it ended before."""
        end = time.monotonic() + PATIENCE
        visitor = Visitor("127.0.0.1", self.port)
        while time.monotonic() < end:
            with suppress(Gone):
                if (await visitor.get("/healthz")).status == 200:
                    visitor.close()
                    return True
            if self._nursery.ask("poll", self.number):
                self.number = 0
                return False
            await asyncio.sleep(0.05)
        raise SystemExit(f"the server does not answer: {self._log.read_text()[-2000:]}")

    def kill(self, how: int = signal.SIGKILL) -> None:
        """End it, and wait until it is gone."""
        if self.number:
            os.kill(self.number, how)
            self._nursery.ask("wait", self.number)
            self.number = 0


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# -- the workers -------------------------------------------------------------------------------------------------------


@dataclass
class Worker:
    """Somebody who works until they are told to stop; whatever breaks, they try again with the same key."""

    name: str
    token: str
    ports: Sequence[int]
    noted: Noted
    rng: random.Random
    until: Callable[[], bool]
    busy: int = 0

    async def run(self) -> None:
        """Lease, answer, lease …"""
        visitors = {port: Visitor("127.0.0.1", port, {"authorization": f"Bearer {self.token}"}) for port in self.ports}
        try:
            while not self.until():
                told = await self._insist(visitors, "/api/v1/lease", {}, self.noted.lease)
                page = told.json().get("page") if told is not None and told.status == 200 else None
                if page is not None:
                    await self._answer(visitors, page)
                else:
                    reason = told.json().get("reason") if told is not None and told.status == 200 else "refused"
                    self.noted.statuses[f"no work: {reason}"] += 1
                    self.noted.money_gone += reason == "money"
                    await asyncio.sleep(0.05)
        finally:
            for each in visitors.values():
                each.close()

    async def _answer(self, visitors: dict[int, Visitor], page: dict[str, Any]) -> None:
        """Answer a page, mostly as one should."""
        labels = {str(each["label_id"]): each["label"] for each in page["questions"]}
        answers = {label_id: self.rng.choices(("yes", "no", "skip"), (4, 5, 1))[0] for label_id in labels}
        body = {"lease_id": page["lease_id"], "answers": answers}
        trick = self.rng.random() / MISCHIEF
        if trick < 0.15:  # gone for a cup of tea: the lease ends meanwhile
            end = time.monotonic() + LEASE_SECONDS * 1.2
            while time.monotonic() < end and not self.until():
                await asyncio.sleep(0.2)
        elif trick < 0.3:  # somebody else's page
            await self._expect(
                visitors, {**body, "lease_id": page["lease_id"] + self.rng.randint(1, 50)}, (404, 409, 422)
            )
        elif trick < 0.4:  # not what was asked
            await self._expect(visitors, {**body, "answers": {"999": "yes"}}, (422, 409))
        elif trick < 0.5:  # given back
            await self._insist(visitors, "/api/v1/release", {"lease_id": page["lease_id"]})
            return
        sent = {(self.name, page["item"]["name"], label): answers[label_id] for label_id, label in labels.items()}
        told = await self._insist(visitors, "/api/v1/answer", body, self.noted.answer)
        if told is None:
            self.noted.unsure.append(Unsure(self.name, sent, page["pays"]))
        if told is None or told.status != 200:
            return
        receipt = told.json()
        self.noted.answers |= sent
        self.noted.earned[self.name] += receipt["earned"]
        if trick < 1:
            await self._again(visitors, body, receipt)

    async def _again(self, visitors: dict[int, Visitor], body: dict[str, Any], receipt: dict[str, Any]) -> None:
        """A double click, and then other answers to the same page: neither may change anything."""
        twice = await self._insist(visitors, "/api/v1/answer", body)
        if twice is None or twice.status != 200 or twice.json()["earned"] != receipt["earned"]:
            self.noted.wrong.append(f"the same answers again gave {twice and (twice.status, twice.body[:200])}")
        other = {label: "no" if value == "yes" else "yes" for label, value in body["answers"].items()}
        await self._expect(visitors, {**body, "answers": other}, (409,))

    async def _expect(self, visitors: dict[int, Visitor], body: dict[str, Any], refusals: Sequence[int]) -> None:
        """Send answers that must be refused."""
        told = await self._insist(visitors, "/api/v1/answer", body)
        if told is not None and told.status not in refusals:
            self.noted.wrong.append(f"answers that must be refused gave {told.status} {told.body[:200]!r}: {body}")

    async def _insist(
        self, visitors: dict[int, Visitor], path: str, body: dict[str, Any], times: Times | None = None
    ) -> Any:
        """Send until the server says something that is not its own trouble; None where it is gone for good.

        Who is always the last in the queue when it is killed waits until the killing is over: then it must answer.
        """
        key, name, end, tries = {"idempotency-key": secrets.token_hex(8)}, path.rpartition("/")[2], float("inf"), 0
        while time.monotonic() < end:
            begun, tries = time.perf_counter(), tries + 1
            try:
                told = await visitors[self.rng.choice(self.ports)].post(path, body, key)
            except Gone:
                self.noted.statuses["connection lost"] += 1
            else:
                self.noted.statuses[f"{name} {told.status}"] += 1
                if told.status == 500:
                    self.noted.wrong.append(f"{path} gave {told.status} {told.body[:200]!r}")
                if told.status < 500 and told.status != 429:
                    if tries == 1 and times is not None and told.status == 200:
                        times.note(begun)
                    return told
            if self.until():
                end = min(end, time.monotonic() + PATIENCE)
            await asyncio.sleep(0.2)
        self.noted.wrong.append(f"{path} was not answered for {PATIENCE:g} seconds after the last kill")
        return None


# -- a scenario --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scenario:
    """What is tried."""

    name: str
    database: str | None
    kills: int
    workers: int
    servers: int = 1
    seconds: float = 900.0
    seed: int = 0
    quiet_seconds: float = 3.0


def make_campaign(folder: Path, database: str | None) -> None:
    """A campaign with many short texts, some of them known, on a budget that is soon used up."""
    words = [word for both in WORDS.values() for word in both]
    rng = random.Random(0)
    place = folder.with_name(f"{folder.name}-files")
    place.mkdir()
    rows = (f"text{n},{rng.choice(words)} and {rng.choice(words)}\n" for n in range(N_ITEMS))
    (place / "items.csv").write_text("item,text\n" + "".join(rows))
    (place / "labels.csv").write_text(
        "label,question,help\n" + "".join(f'{label},"{question}",\n' for label, (question, _) in THINGS.items())
    )
    known = "".join(f"text{n},{label},{rng.choice(('yes', 'no'))}\n" for n in range(50) for label in THINGS)
    (place / "known.csv").write_text("item,label,truth\n" + known)
    new_campaign(
        folder, items=place / "items.csv", labels=place / "labels.csv", truth=[place / "known.csv"], budget=BUDGET,
        price="0.02", page_price="0.01", currency="EUR", password=secrets.token_hex(8), database=database,
        lease_seconds=LEASE_SECONDS,
    )  # fmt: skip


async def run_scenario(folder: Path, plan: Scenario, log: Path) -> tuple[Noted, int]:
    """Let everybody work while the servers are killed; what they saw, and how many kills there were."""
    noted, over, kills = Noted(), False, 0
    with Service.open(folder) as service:
        links = service.invite([f"worker {n}" for n in range(plan.workers)], actor="load")
        nursery = Nursery(log)
        servers = [Server(folder, log, nursery) for _ in range(plan.servers)]
        rng, begun = random.Random(plan.seed), time.monotonic()
        try:
            for each in servers:
                each.start()
            for each in servers:
                if not await each.answers():
                    raise SystemExit(f"the server did not start: {log.read_text()[-2000:]}")
            ports = [each.port for each in servers]
            noted.begun = time.perf_counter()
            crowd = [
                asyncio.create_task(Worker(each.worker, each.token, ports, noted, random.Random(f"{plan.seed} {n}"),
                                           lambda: over).run())
                for n, each in enumerate(links)
            ]  # fmt: skip
            payer = asyncio.create_task(add_money(service, noted, lambda: over))
            await asyncio.sleep(plan.quiet_seconds)
            while kills < plan.kills and time.monotonic() < begun + plan.seconds:
                victim = rng.choice(servers)
                await asyncio.sleep(rng.expovariate(1 / BETWEEN))
                victim.kill()
                kills += 1
                victim.start()
                if rng.random() < WHILE_STARTING and kills < plan.kills:
                    await asyncio.sleep(rng.uniform(0, 0.6))
                    victim.kill()
                    kills += 1
                    victim.start()
                if not await victim.answers():
                    raise SystemExit(f"the server did not start again: {log.read_text()[-2000:]}")
            over = True
            await asyncio.gather(*crowd, payer)
            noted.ended = time.perf_counter()
        finally:
            over = True
            for each in servers:
                each.kill(signal.SIGTERM)
            nursery.close()
    return noted, kills


async def add_money(service: Service, noted: Noted, is_over: Callable[[], bool]) -> None:
    """The requester adds to the budget whenever workers found it used up, beside the running server."""
    seen = 0
    while not is_over():
        await asyncio.sleep(0.3)
        if noted.money_gone > seen:
            await asyncio.to_thread(service.add_budget, MORE, actor="load")
            seen = noted.money_gone


# -- what came of it ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How a scenario went, for people; `rows` by name."""

    name: str
    rows: dict[str, str]
    problems: list[str]
    well: bool

    def show(self) -> None:
        """Print it."""
        print(f"\n{self.name}")
        for name, value in self.rows.items():
            print(f"  {name:29}{value}")
        for problem in self.problems[:MOST_SHOWN]:
            print(f"  WRONG: {problem}")


def outcome(plan: Scenario, noted: Noted, kills: int, books: Books, log: str = "") -> Outcome:
    """What came of a scenario; log : of its servers."""
    found = compare(noted, books)
    problems = [*noted.wrong, *found.problems]
    if kills < plan.kills:
        problems.append(f"there was time for {kills} kills only")
    if noted.wrong:  # what the servers say about errors that nobody expected
        problems += [line for line in log.splitlines() if '"event": "error"' in line or "Error:" in line]
    seconds = max(noted.ended - noted.begun, 1e-9)
    rows = {
        "workers at once": f"{plan.workers}",
        "server processes": f"{plan.servers}",
        "answers acknowledged": f"{len(noted.answers):,}",
        "answers per second": f"{len(noted.answers) / seconds:.0f}",
        "next page": noted.lease.text(),
        "answer": noted.answer.text(),
        "what was said": ", ".join(f"{what} × {n:,}" for what, n in sorted(noted.statuses.items())),
        "stored, never acknowledged": f"{found.unsure_stored} of {len(noted.unsure)} pages",
        "no room, try again": f"{noted.n_no_room}",
        "kills survived": f"{kills}",
        "earned, books − workers": f"{found.differs} cents",
        "acknowledged answers lost": f"{found.lost}",
        "cents overdrawn": f"{books.overdrawn}",
        "answers paid twice": f"{books.paid_twice}",
    }
    well = not (found.lost or found.differs or books.overdrawn or books.paid_twice or problems)
    return Outcome(plan.name, rows, problems, well)


def try_scenario(plan: Scenario, place: Path) -> Outcome:
    """Run a scenario in a folder, and check its books."""
    folder, log = place / "campaign", place / "log"
    make_campaign(folder, plan.database)
    noted, kills = asyncio.run(run_scenario(folder, plan, log))
    if left := orphans(folder):
        noted.wrong.append(f"{left} processes are left")
    return outcome(plan, noted, kills, read_books(folder, place), log.read_text())


def orphans(folder: Path) -> int:
    """Processes that still work on the campaign after its servers were ended, when they had time to notice."""
    end = time.monotonic() + PATIENCE
    while found := len(working_on(folder)):
        if time.monotonic() > end:
            return found
        time.sleep(0.2)
    return 0


def working_on(folder: Path) -> list[int]:
    """Numbers of processes whose command line names the campaign."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(folder).encode() in line.read_bytes().split(b"\0"):
                found.append(int(line.parent.name))
    return found


# -- a full disk -------------------------------------------------------------------------------------------------------


def try_full_disk(workers: int, seed: int, server: Cluster | None = None) -> Outcome | None:
    """Fill the disk under a running campaign, then make room again; None where no small disk can be made.

    server : of PostgreSQL, whose tables are put on the small disk; without it, SQLite.
    """
    with small_disk(48) as disk, tempfile.TemporaryDirectory(prefix="load") as elsewhere:
        if disk is None:
            return None
        place = Path(elsewhere)
        folder = (disk if server is None else place) / "campaign"
        make_campaign(folder, None if server is None else server.database(on=disk / "tables"))
        plan = Scenario(f"A full disk, {'SQLite' if server is None else 'PostgreSQL'}", None, 0, workers, seed=seed)
        noted = asyncio.run(fill_disk(folder, plan, place / "log", disk / "filler"))
        if not noted.n_no_room:
            noted.wrong.append("the disk was never full")
        found = outcome(plan, noted, 0, read_books(folder, place), (place / "log").read_text())
        if server is not None:
            server.drop(Folder.read(folder).database)  # or the disk could not be taken away
        return found


async def fill_disk(folder: Path, plan: Scenario, log: Path, filler: Path) -> Noted:
    """Work; then no room for some seconds; then room again, and more work."""
    noted, over = Noted(), False
    with Service.open(folder) as service:
        links = service.invite([f"worker {n}" for n in range(plan.workers)], actor="load")
        service.add_budget("500", actor="load")
    nursery = Nursery(log)
    server = Server(folder, log, nursery)
    server.start()
    try:
        await server.answers()
        noted.begun = time.perf_counter()
        crowd = [
            asyncio.create_task(Worker(each.worker, each.token, [server.port], noted, random.Random(f"{plan.seed} {n}"),
                                       lambda: over).run())
            for n, each in enumerate(links)
        ]  # fmt: skip
        await asyncio.sleep(1.5)
        left = shutil.disk_usage(filler.parent).free
        with filler.open("wb") as file, suppress(OSError):
            file.write(bytes(max(left - ROOM, 0)))
        await asyncio.sleep(1.5)
        # The rest, too, bit by bit: a journal that was emptied is written over, and needs no room for a while.
        for _ in range(SQUEEZES):
            with filler.open("ab") as file, suppress(OSError):
                file.write(bytes(shutil.disk_usage(filler.parent).free))
            await asyncio.sleep(0.25)
            if noted.n_no_room > 0:
                break
        await asyncio.sleep(1.5)
        before = len(noted.answers)
        filler.unlink()
        await asyncio.sleep(1.5)
        over = True
        await asyncio.gather(*crowd)
        noted.ended = time.perf_counter()
        if len(noted.answers) <= before:
            noted.wrong.append("nothing was answered after there was room again")
    finally:
        over = True
        server.kill(signal.SIGTERM)
        nursery.close()
    return noted


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path | None]:
    """A folder on a disk of its own of that size; None where this user may not make one."""
    with tempfile.TemporaryDirectory(prefix="full") as folder:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder], capture_output=True, check=False
        )
        if made.returncode:
            yield None
            return
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=False)


# -- all of it ---------------------------------------------------------------------------------------------------------

NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL", "two-servers": "PostgreSQL, two servers"}
KINDS = (*NAMES, "full-disk")


def scenarios(kinds: Sequence[str], kills: int, workers: int, seconds: float, seed: int) -> Iterator[Outcome]:
    """Try each."""
    with ExitStack() as stack:
        made: Cluster | None = None
        if set(kinds) - {"sqlite"}:
            if programs() is None:
                raise SystemExit("PostgreSQL is not installed: apt-get install postgresql")
            made = stack.enter_context(cluster(careful=True, connections=300))
        for kind, name in NAMES.items():
            if kind in kinds:
                url = None if kind == "sqlite" or made is None else made.database()
                plan = Scenario(name, url, kills, workers, 2 if kind == "two-servers" else 1, seconds, seed)
                with tempfile.TemporaryDirectory(prefix="load") as place:
                    yield try_scenario(plan, Path(place))
        for server in (None, made) if "full-disk" in kinds else ():
            found = try_full_disk(workers, seed, server)
            if found is None:
                print("\nA full disk: not tried, as this user cannot mount a small one")
                return
            yield found


def table_of(outcomes: Sequence[Outcome]) -> list[str]:
    """The same side by side, for the documents."""
    lines = [f"| | {' | '.join(each.name for each in outcomes)} |", "|---" + "|---:" * len(outcomes) + "|"]
    for name in outcomes[0].rows:
        if name != "what was said":
            lines.append(f"| {name} | {' | '.join(each.rows[name] for each in outcomes)} |")
    return lines


def write(outcomes: Sequence[Outcome], given: Any) -> None:
    """Put the table where the documents have their place for it."""
    said = f"`python benchmarks/load.py --kills {given.kills} --seed {given.seed} --write`, {time.strftime('%Y-%m-%d')}"
    write_between(DOCS, "load-numbers", [f"{said}, two cores:", "", *table_of(outcomes)])


def main() -> None:
    """Read options, try everything, say how it went."""
    parser = parser_of(__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=900, help="of each scenario, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--write", action="store_true", help=f"into {DOCS.name}, where all is well")
    given = parser.parse_args()
    kinds = given.only.split(",")
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"--only must be of {', '.join(KINDS)}; got {', '.join(unknown)}")
    outcomes = []
    for each in scenarios(kinds, given.kills, given.workers, given.seconds, given.seed):
        each.show()
        outcomes.append(each)
    well = all(each.well for each in outcomes)
    print(f"\n{'all is well' if well else 'SOMETHING IS WRONG'}")
    if given.write and well:
        write(outcomes, given)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
