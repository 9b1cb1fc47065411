"""The cluster in network namespaces: what can be said without making one, and one of two machines where root may."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import cluster_network
import namespaces
from cluster import Work
from cluster_network import Case
from namespaces import Link


def test_who_is_not_root_is_told(monkeypatch):
    monkeypatch.setattr(namespaces.shutil, "which", lambda _: "/sbin/tool")
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    assert namespaces.what_is_missing().startswith("only root may make network namespaces")
    monkeypatch.setattr(sys, "argv", ["cluster_network.py"])
    with pytest.raises(SystemExit, match=r"cannot run here: only root .*sudo"):
        cluster_network.main()


def test_missing_tools_and_systems_are_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert namespaces.what_is_missing() == "ip and tc must be installed: apt-get install iproute2"
    monkeypatch.setattr(namespaces.sys, "platform", "darwin")
    assert namespaces.what_is_missing() == "network namespaces are a part of Linux; this is darwin"


def test_a_case_compares_the_median_with_the_simulation():
    case = Case("2", [0.3, 0.2, 1.0], fit=0.4, difference=2e-12, simulated=0.15)
    assert case.line == ["2", "0.30 (0.20 to 1.00)", "0.15", "-50 %", "0.40", "2e-12"]
    assert Case("4, one killed", [0.5], 0.4, 0.0).line[2:4] == ["", ""]


@pytest.mark.parametrize(("netem", "said"), [(True, "1000 Mbit/s and 1 ms each"), (False, "were not delayed")])
def test_the_report_says_what_links_were(netem, said):
    lines = cluster_network.report([Case("1", [0.5], 0.4, 0.0)], Work(5e5, 1000, 16), netem, others=0.25)
    about = " ".join(lines)
    assert said in about and "other programs took 25% meanwhile" in about
    assert lines[-2] == "| 1 | 0.50 (0.50 to 0.50) |  |  | 0.40 | 0e+00 |"


def test_a_process_dies_in_the_middle_of_the_rounds():
    """In the call of `total` that was chosen, once, while that call runs."""

    class Engine:
        seconds = 0.0

        def total(self):
            with contextlib.suppress(subprocess.TimeoutExpired):
                victim.wait(self.seconds)

    engine, victim = Engine(), subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    cluster_network.kill_in_a_round(engine, victim.pid)
    for _ in range(cluster_network.KILL_AT - 1):
        engine.total()
    assert victim.poll() is None
    engine.seconds = 20.0
    engine.total()
    assert victim.returncode == -9


def test_machines_reach_each_other_and_leave_nothing_behind():
    if why := namespaces.what_is_missing():
        pytest.skip(why)
    try:
        with namespaces.network(2, Link(100, 1)) as net:
            names = [net.prefix, net.name(0), net.name(1)]
            place = f"('{net.address(0)}', 5000)"
            listen = f"import socket; c, _ = socket.create_server({place}).accept(); c.sendall(b'hello')"
            server = subprocess.Popen(net.on(0, sys.executable, "-c", listen))
            ask = (
                "import socket, time\n"
                "for _ in range(100):\n"
                f"    try: print(socket.create_connection({place}).recv(9).decode()); break\n"
                "    except OSError: time.sleep(0.1)\n"
            )
            heard = subprocess.run(net.on(1, sys.executable, "-c", ask), capture_output=True, text=True, check=True)
            server.wait(20)
            limits = subprocess.run(["tc", "-n", names[1], "qdisc"], capture_output=True, text=True, check=True)
    except OSError as error:  # a container may be root and still not be allowed to
        pytest.skip(f"no network namespaces here: {error}")
    assert heard.stdout == "hello\n"
    assert "rate 100Mbit" in limits.stdout
    left = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout.split()
    assert not set(names) & set(left)
