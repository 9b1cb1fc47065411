"""Machines that are not there: network namespaces of this one, joined by links of limited bandwidth and delay.

Each has one address and reaches only the others, through a switch that lies in a namespace of its own. Nothing of this
machine's own network is touched, and nothing stays behind. Needs Linux, root, and `ip` and `tc` of iproute2.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

# A range for documents and tests (RFC 5737): nobody's real network, should a packet ever get out.
SUBNET = "192.0.2"

# Bytes that may leave at once, more than the largest packet of TCP (64 KB), and what waits at most before it is lost.
BURST, WAITING = "128kb", "50ms"


class Link(NamedTuple):
    """Mbit per second and milliseconds, from a machine to the switch and the other way."""

    mbit: float
    ms: float


def what_is_missing() -> str:
    """Why there can be no namespaces here; empty where there can.

    >>> isinstance(what_is_missing(), str)
    True
    """
    if sys.platform != "linux":
        return f"network namespaces are a part of Linux; this is {sys.platform}"
    if absent := [tool for tool in ("ip", "tc") if shutil.which(tool) is None]:
        return f"{' and '.join(absent)} must be installed: apt-get install iproute2"
    return "" if os.geteuid() == 0 else "only root may make network namespaces: run it with sudo or in a container"


def shaping(link: Link, netem: bool) -> list[str]:
    """What `tc` is told about one end of a link; without netem, delays are left out.

    >>> " ".join(shaping(Link(1000, 1), netem=True))
    'netem rate 1000mbit delay 0.5ms limit 10000'
    >>> " ".join(shaping(Link(1000, 1), netem=False))
    'tbf rate 1000mbit burst 128kb latency 50ms'
    """
    rate = ["rate", f"{link.mbit:g}mbit"]
    if not netem:
        return ["tbf", *rate, "burst", BURST, "latency", WAITING]
    # Half at each end. As many packets may wait as come in a tenth of a second at 1 Gbit/s.
    return ["netem", *rate, "delay", f"{link.ms / 2:g}ms", "limit", "10000"]


@dataclass
class Network:
    """Machines 0, 1, … with links to a switch.

    netem : whether the kernel can delay packets
    """

    prefix: str
    netem: bool

    def name(self, machine: int) -> str:
        """The namespace of a machine."""
        return f"{self.prefix}-{machine}"

    def address(self, machine: int) -> str:
        """Its address."""
        return f"{SUBNET}.{machine + 1}"

    def on(self, machine: int, *command: str) -> list[str]:
        """A command that runs on the machine."""
        return ["ip", "netns", "exec", self.name(machine), *command]

    def limit(self, machine: int, link: Link) -> None:
        """From now on its link is like this, both ways."""
        for namespace, device in ((self.name(machine), "eth0"), (self.prefix, f"port{machine}")):
            _run("tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", *shaping(link, self.netem))


@contextmanager
def network(n_machines: int, link: Link) -> Iterator[Network]:
    """So many machines; all namespaces are gone afterwards, with everything in them."""
    prefix = f"amcc{os.getpid()}"
    with ExitStack() as made:
        _add_namespace(prefix, made)
        _run("ip", "-n", prefix, "link", "add", "switch", "type", "bridge")
        _run("ip", "-n", prefix, "link", "set", "switch", "up")
        probe = ["tc", "-n", prefix, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
        netem = subprocess.run(probe, capture_output=True, check=False).returncode == 0
        found = Network(prefix, netem)
        for machine in range(n_machines):
            name, port = found.name(machine), f"port{machine}"
            _add_namespace(name, made)
            _run("ip", "-n", prefix, "link", "add", port, "type", "veth", "peer", "eth0", "netns", name)
            _run("ip", "-n", prefix, "link", "set", port, "master", "switch", "up")
            _run("ip", "-n", name, "address", "add", f"{found.address(machine)}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _run("ip", "-n", name, "link", "set", device, "up")
            found.limit(machine, link)
        yield found


def _add_namespace(name: str, made: ExitStack) -> None:
    _run("ip", "netns", "add", name)
    made.callback(_run, "ip", "netns", "delete", name)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)} failed: {done.stderr.strip()}")
