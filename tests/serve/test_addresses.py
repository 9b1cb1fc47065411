"""Where requests of ours may go: nothing but public addresses, however they are written, and no further than that."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading

import pytest
from receiver import receiving

from amcc.errors import InputError
from amcc.serve import outgoing
from amcc.serve.addresses import Target, allowed_addresses, is_public
from amcc.serve.outgoing import Line

PUBLIC = "93.184.215.14"


def named(*addresses):
    """A name service that gives these addresses, one after the other where they are lists."""
    answers = iter(addresses)

    def resolve(host, port, **_):
        found = next(answers)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]

    return resolve


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "::", "::1", "fe80::1", "fc00::1",
        "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:93.184.215.14", "::7f00:1", "64:ff9b::a00:1", "2002:a00:1::",
        "2001::1", "2001:db8::1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address):
    assert not is_public(address)
    with pytest.raises(InputError, match="the address must be public"):
        allowed_addresses("x.example.org", 443, private=False, resolve=named([address]))
    with pytest.raises(InputError, match="the address must be public"):  # one of several is enough
        allowed_addresses("x.example.org", 443, private=False, resolve=named([PUBLIC, address]))
    assert allowed_addresses("x.example.org", 443, private=True, resolve=named([address])) == [address]


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:4700:4700::1111"])
def test_addresses_that_are_public(address):
    assert is_public(address)
    assert allowed_addresses("x.example.org", 443, private=False, resolve=named([address])) == [address]


@pytest.mark.parametrize(
    "host",
    [
        "2130706433", "0x7f000001", "0x7f.1", "017700000001", "127.1", "127.0.1", "0177.0.0.1", "127.0.0.01",
        "1.2.3.4.5", "127.0.0.1.", "256.1.1.1", "127%2e0.0.1", "[::1%25eth0]", "[::g]", "a..b", "-a.org", "a b.org",
        "\uff11.org",
        "bücher.example", "a\\@b", "user@example.org", "user:word@example.org", "", ".", "a" * 260,
    ],
)  # fmt: skip
def test_hosts_that_can_be_read_in_two_ways(host):
    for private in (False, True):
        with pytest.raises(InputError, match="must"):
            Target.of(f"https://{host}/x", private=private)


@pytest.mark.parametrize(
    "url",
    ["http://example.org", "ftp://example.org", "file:///etc/passwd", "//example.org", "example.org", "",
     "https://example.org:0/", "https://example.org:99999/", "https://example.org/#part", "https://example.org/a b",
     "https://example.org/\r\nX: y", "https://" + "a" * 3000, "https://[::1/", None, 7],
)  # fmt: skip
def test_addresses_that_are_none(url):
    with pytest.raises(InputError, match="the address must"):
        Target.of(url)


def test_what_is_read_of_an_address():
    target = Target.of("https://Hooks.example.org:8443/a/b?c=%20d")
    assert (target.host, target.port, target.path) == ("hooks.example.org", 8443, "/a/b?c=%20d")
    assert target.host_header == "hooks.example.org:8443"
    assert Target.of("https://[2606:4700::1]").host_header == "[2606:4700::1]"
    assert Target.of("http://in-house", private=True).host_header == "in-house"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"])
def test_this_machine_is_told_apart_before_anything_is_sent(host):
    target = Target.of(f"https://{host}/")
    with pytest.raises(InputError, match="must be public"):
        target.check()
    with Line(target) as line:
        said = line.post(b"{}", {})
    assert not said.taken and "must be public" in said.said


def test_the_checked_address_is_the_one_connected_to(monkeypatch):
    """A name that is public when it is looked at and ours a moment later: it is looked up once, and that is used."""
    asked, resolve = [], named([PUBLIC], ["127.0.0.1"])

    def connect(address, *given, **named_arguments):
        asked.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "create_connection", connect)
    with Line(Target.of("https://rebinding.example.org/"), resolve=resolve) as line:
        assert line.post(b"{}", {}).said == "no connection (Connection refused)"
        assert asked == [(PUBLIC, 443)]
        assert "must be public" in line.post(b"{}", {}).said  # the next request looks it up again
    assert asked == [(PUBLIC, 443)]


def test_redirects_and_refusals_are_no_success():
    for status, words in ((302, "redirects are not followed"), (307, "redirects"), (401, "status 401"), (500, "500")):
        with receiving(lambda n, status=status: status, headers={"Location": "http://127.0.0.1:1/"}) as told:
            with Line(Target.of(told.address, private=True)) as line:
                said = line.post(b"{}", {})
            assert not said.taken and words in said.said
            assert len(told.requests) == 1


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with receiving() as told, Line(Target.of(told.address, private=True)) as line:
        assert [line.post(b"{}", {}).taken for _ in range(3)] == [True] * 3
    assert len(told.requests) == 3


@pytest.fixture
def dripping():
    """A receiver that answers without end, some bytes at a time: it never falls silent for long."""
    listener = socket.create_server(("127.0.0.1", 0))
    end = threading.Event()

    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not end.wait(0.05):
                try:
                    connection.sendall(b"X-More: yes\r\n")
                except OSError:
                    return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    end.set()
    thread.join(10)
    listener.close()


def test_all_of_a_request_has_a_time(dripping):
    with Line(Target.of(dripping, private=True), seconds=0.5) as line:
        assert line.post(b"{}", {}).said == "no answer within 0.5 s"


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with Line(Target.of(f"http://127.0.0.1:{port}", private=True)) as line:
        assert line.post(b"{}", {}).said == "no connection (Connection refused)"


def test_certificates_are_checked(tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made += ["-days", "2", "-keyout", key, "-out", certificate, "-subj", "/CN=here"]
    subprocess.run([*made, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with receiving(tls=tls) as told:
        with Line(Target.of(told.address, private=True)) as line:
            assert "its certificate is not good" in line.post(b"{}", {}).said
        assert told.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        outgoing._tls.cache_clear()
        with Line(Target.of(told.address, private=True)) as line:
            assert line.post(b"{}", {}).taken
        outgoing._tls.cache_clear()
