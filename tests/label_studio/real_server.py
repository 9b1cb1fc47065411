"""The same scenario against a real Label Studio, started here on the loopback with a database of its own.

    python tests/label_studio/real_server.py PATH/TO/label-studio        (make test-label-studio installs it)

It also tries the commands as people type them, and that a worker's tab shows their tasks in our order.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from scenario import answer, check_whole_round, prepared

from amcc.label_studio import LabelStudio

# The first start makes a database with hundreds of migrations, which takes minutes on a slow machine.
START_SECONDS = 900


@contextmanager
def running(program: str, folder: Path, token: str) -> Iterator[str]:
    """A server with an account that has this token; its address."""
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    command = [program, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port), "--data-dir",
               str(folder), "--username", "requester@example.org", "--password", secrets.token_hex(12), "--user-token",
               token, "--enable-legacy-api-token"]  # fmt: skip
    # A home of its own: it writes settings there, and must not find those of the user.
    environment = {**os.environ, "HOME": str(folder)}
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            _wait(process, address)
            yield address
        finally:
            process.terminate()
            process.wait(60)


def _free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], address: str) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(f"{address}/health", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(1)
    raise SystemExit(f"Label Studio did not start at {address}")


def new_users(server: LabelStudio, n: int) -> list[int]:
    """Further accounts; their numbers."""
    made = []
    for _ in range(n):
        name = f"worker-{secrets.token_hex(4)}"
        content = {"email": f"{name}@example.org", "username": name, "first_name": "", "last_name": ""}
        made.append(int(server.post("/api/users/", content)["id"]))
    return made


def check_commands(server: LabelStudio, token: str, users: list[int], folder: Path) -> None:
    """pull, push and watch as people type them; the tab of a worker shows their tasks in our order."""
    first, second, third, newcomer = users
    project = prepared(server, [first, second, third])
    place = ["--url", server.url, "--project", str(project.id)]

    def amcc(*words: str, fails: bool = False) -> str:
        done = subprocess.run([sys.executable, "-m", "amcc", "label-studio", *words, *place], capture_output=True,
                              text=True, env={**os.environ, "LABEL_STUDIO_TOKEN": "" if fails else token})  # fmt: skip
        assert (done.returncode == 2) if fails else (done.returncode == 0), done.stderr
        assert token not in done.stderr + done.stdout
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    amcc("pull", "-o", str(folder / "votes.csv"))
    assert len((folder / "votes.csv").read_text().splitlines()) == 1 + 3 * 17
    assert "LABEL_STUDIO_TOKEN" in amcc("pull", fails=True)
    told = amcc("push", "--budget", "4", "--worker", str(newcomer), "--json")
    assert '"predictions": 6' in told, told
    asked = {task["id"]: task["data"] for task in project.tasks() if task["data"].get("ask_for")}
    assert asked and {data["ask_for"] for data in asked.values()} == {str(newcomer)}, "the others saw all tasks"
    tab = next(
        view for view in server.get("/api/dm/views", project=project.id) if str(newcomer) in view["data"]["title"]
    )
    shown = [task["id"] for task in server.get("/api/tasks", view=tab["id"], project=project.id)["tasks"]]
    assert shown == sorted(asked, key=lambda number: asked[number]["priority"]), "the tab keeps our order"
    answer(server, shown[0], newcomer, [asked[shown[0]]["ask"][0]["value"]])
    assert "predictions written" in amcc("watch", "--every", "1", "--times", "2")


def main() -> None:
    """Start, try, stop."""
    token = secrets.token_hex(20)
    with (
        tempfile.TemporaryDirectory() as place,
        running(sys.argv[1], Path(place), token) as address,
        LabelStudio(address, token) as server,
    ):
        me = int(server.get("/api/current-user/whoami")["id"])
        users = [me, *new_users(server, 3)]
        check_whole_round(server, users[:3], users[3])
        check_commands(server, token, users, Path(place))
    sys.stdout.write("Label Studio: a whole round, and pull, push and watch: passed\n")


if __name__ == "__main__":
    main()
