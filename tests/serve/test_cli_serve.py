"""amcc serve as a process: it starts, refuses a second one, ends by a signal, and on PostgreSQL is several."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from amcc.serve.demo import served
from amcc.serve.service import Service, new_campaign
from running import amcc, said

# Seconds for what takes two on a machine that does nothing else.
PATIENCE = 60


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    return make(tmp_path, None)


def make(place: Path, database: str | None) -> Path:
    (place / "items.csv").write_text("item,text\n" + "".join(f"i{n},text {n}\n" for n in range(30)))
    (place / "labels.csv").write_text("label,question,help\ncat,Is there a cat?,\ndog,Is there a dog?,\n")
    return new_campaign(place / "pets", items=place / "items.csv", labels=place / "labels.csv", budget="20",
                        price="0.02", password="correct horse", database=database)  # fmt: skip


@contextlib.contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address."""
    command = [sys.executable, "-m", "amcc", "serve", str(folder), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline().rpartition(" ")[2].strip()
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_it_serves_until_a_signal_and_lets_go(pets):
    with serving(pets, "--log") as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
        assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}
        assert httpx.get(f"{address}/healthz", headers={"host": "evil.example"}).status_code == 400
        refused = subprocess.run([sys.executable, "-m", "amcc", "serve", str(pets), "--port", "0"], capture_output=True,
                                 text=True, timeout=PATIENCE)  # fmt: skip
        assert refused.returncode == 1
        assert "is served already" in refused.stderr and "Traceback" not in refused.stderr
        assert said("campaign", "status", pets)[0]  # commands work beside it
        port = address.rpartition(":")[2]
        assert "Address already in use" in amcc("serve", pets, "--port", port, code=2).stderr
        process.send_signal(signal.SIGTERM)
        _, notes = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert "everything that was acknowledged is stored" in notes
        lines = [line for line in notes.splitlines() if not line.startswith(("Ctrl-C", "ended"))]
        assert {json.loads(line)["route"] for line in lines} == {"/healthz", "(none)"}  # the log, and nothing else
    with Service.open(pets, server=True, learn=False):  # the lock is free
        pass


def test_a_server_starts_without_what_others_need(pets):
    """Imports are most of the seconds until the first page. Modules are counted, not seconds."""
    code = """
import sys
from amcc.serve.running import create_app
from amcc.serve.service import Service
with Service.open(sys.argv[1], server=True, learn=False) as service:
    create_app(service)
print(*sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code, str(pets)], capture_output=True, text=True, check=True)
    imported = set(run.stdout.split())
    assert {"fastapi", "sqlalchemy", "numpy"} <= imported
    slow = {"pandas", "scipy.optimize", "scipy.stats", "numba", "alembic", "httpx", "matplotlib", "altair", "sklearn"}
    assert imported.isdisjoint({*slow, "amcc.active.replay", "amcc.active.campaign"}), slow & imported


def test_ctrl_c_is_the_usual_end(pets):
    with serving(pets) as (process, _):
        process.send_signal(signal.SIGINT)
        _, notes = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "Traceback" not in notes and "interrupted" not in notes


def test_a_name_from_outside_must_be_said(pets):
    with serving(pets, "--https", "--public", "https://study.example.org/") as (_, address):
        told = httpx.get(f"{address}/signin", headers={"host": "study.example.org"})
        assert told.status_code == 200
        assert "max-age" in told.headers["strict-transport-security"]


@pytest.mark.parametrize("options", [("--workers", "2"), ("--port", "70000"), ("--host", "no.such.host.example")])
def test_what_cannot_be_served(pets, options):
    run = amcc("serve", pets, "--port", "0", *options, code=2)
    assert "rror" in run.stderr


def test_an_open_door_without_tls_is_pointed_out(pets):
    with serving(pets, "--host", "0.0.0.0") as (process, address):
        assert address.startswith("http://0.0.0.0:")
        process.send_signal(signal.SIGTERM)
        assert "without TLS" in process.communicate(timeout=PATIENCE)[1]


def children(pid: int) -> list[int]:
    """Server processes below the first one."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = status.read_text().rpartition(")")[2].split()
            if int(words[1]) == pid and b"spawn_main" in status.with_name("cmdline").read_bytes():
                found.append(int(status.parent.name))
    return found


def waits_for(condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_two_processes_share_a_campaign_on_postgres(tmp_path, postgres_url):
    folder = make(tmp_path, postgres_url)
    with Service.open(folder) as service:
        links = service.invite([f"w{n}" for n in range(4)], actor="test")
    with serving(folder, "--workers", "2") as (process, address):
        waits_for(lambda: len(children(process.pid)) == 2)
        transport = httpx.HTTPTransport(retries=3)
        with httpx.Client(base_url=address, timeout=PATIENCE, transport=transport) as client:
            leased = set()
            for link in links:
                told = client.post("/api/v1/lease", json={}, headers={"authorization": f"Bearer {link.token}"}).json()
                page = told["page"]
                pairs = {(page["item"]["name"], each["label"]) for each in page["questions"]}
                assert not pairs & leased  # nobody gets what somebody else has open
                leased |= pairs
                answers = {str(each["label_id"]): "yes" for each in page["questions"]}
                client.post("/api/v1/answer", json={"lease_id": page["lease_id"], "answers": answers},
                            headers={"authorization": f"Bearer {link.token}"}).raise_for_status()  # fmt: skip
        first = children(process.pid)
        os.kill(first[0], signal.SIGKILL)
        waits_for(lambda: len(set(children(process.pid)) - set(first)) == 1)  # it is replaced
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    amcc("campaign", "verify", folder)


def test_processes_end_with_the_first_one(tmp_path, postgres_url):
    folder = make(tmp_path, postgres_url)
    with serving(folder, "--workers", "2") as (process, _):
        waits_for(lambda: len(children(process.pid)) == 2)
        others = children(process.pid)
        process.kill()
        process.wait()
        waits_for(lambda: not any(Path(f"/proc/{each}/cmdline").exists() and Path(f"/proc/{each}/cmdline").read_bytes()
                                  for each in others))  # fmt: skip


def test_a_server_that_cannot_start_says_why(tmp_path):
    from amcc.errors import EngineError

    with pytest.raises(EngineError, match=r"campaign\.toml"), served(tmp_path):
        pass
