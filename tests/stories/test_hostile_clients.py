"""Clients at their worst: the specified error or an end in time, and bounded memory. SPDX-License-Identifier: Apache-2.0"""
import re
import socket
import time

import pytest
from support.waiting import wait_for

HOST = b"Host: x\r\n"
KEY = b"Authorization: Bearer k-admin-1\r\n"
GET = b"GET /healthz HTTP/1.1\r\n"
POST = b"POST /api/v1/publish HTTP/1.1\r\n" + HOST + KEY
DATA = b'{"tenant_id":"acme","topic":"t","data":{}}'

# bytes sent, statuses that are right (0: the connection ends without an answer)
REQUESTS = {
    "garbage": (b"\x16\x03\x01\x00\xa5\x01\r\n\r\n", {400, 0}),
    "no host": (GET + b"\r\n", {400}),
    "two hosts": (GET + HOST + HOST + b"\r\n", {400}),
    "NUL in a header": (GET + HOST + b"X-A: a\0b\r\n\r\n", {400}),
    "bare CR": (GET + HOST + b"X-A: a\rb\r\n\r\n", {400}),
    "folded header": (GET + HOST + b"X-A: a\r\n b\r\n\r\n", {400}),
    "space before the colon": (GET + HOST + b"X-A : a\r\n\r\n", {400}),
    "length and chunked": (POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}),
    "two lengths": (POST + b"Content-Length: 42\r\nContent-Length: 41\r\n\r\n" + DATA, {400}),
    "signed length": (POST + b"Content-Length: +42\r\n\r\n" + DATA, {400}),
    "bad chunk": (POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", {400}),
    "odd coding": (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", {400, 501}),
    "head too large": (GET + HOST + b"X-A: " + b"a" * (80 << 10) + b"\r\n\r\n", {431}),
    "too many lines": (GET + HOST + b"X-A: a\r\n" * 400 + b"\r\n", {431}),
    "old protocol": (b"GET /healthz HTTP/0.9\r\n\r\n", {400, 505, 0}),
    "preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 505, 0}),
    "body too large": (POST + b"Content-Length: 99999999999\r\n\r\n", {413}),
}


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=10)


def status_of(sock):
    """The status of the next answer; 0 if the connection ends first."""
    got = b""
    try:
        while b"\r\n" not in got:
            piece = sock.recv(4096)
            if not piece:
                return 0
            got += piece
    except ConnectionError:
        return 0
    return int(got.split(b" ")[1])


@pytest.mark.parametrize("what", REQUESTS)
def test_malformed_request(server, what):
    data, right = REQUESTS[what]
    with connect(server) as sock:
        try:
            sock.sendall(data)
        except ConnectionError:
            pass        # refused before all of it was sent
        assert status_of(sock) in right
    assert server.healthy()


def test_byte_by_byte(server):
    with connect(server) as sock:
        for byte in GET + HOST + b"\r\n":
            sock.sendall(bytes([byte]))
        assert status_of(sock) == 200


def test_pipelined_requests_are_answered_in_order(server):
    with connect(server) as sock:
        sock.sendall((GET + HOST + b"\r\n") + (b"GET /api/v1/nowhere HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"))
        got = b""
        while piece := sock.recv(4096):
            got += piece
        assert re.findall(rb"HTTP/1\.1 (\d+) ", got) == [b"200", b"404"]


def test_half_a_head_ends_in_time(server):
    """Within ten seconds, even when a byte comes now and then."""
    with connect(server) as sock:
        begin = time.monotonic()
        sock.sendall(GET)
        sock.settimeout(0.5)
        while time.monotonic() - begin < 20:
            try:
                sock.sendall(b"X")
                if sock.recv(4096) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        assert 5 < time.monotonic() - begin < 14


def test_client_that_leaves(server, api, receiver, hook):
    """In the middle of its body: nothing was published, nothing breaks."""
    for _ in range(50):
        with connect(server) as sock:
            sock.sendall(POST + b"Content-Length: 42\r\n\r\n" + DATA[:20])
    api.publish({"n": 1})
    receiver.wait(1)
    receiver.stays_at(1, seconds=0.5)


@pytest.mark.limit(90)
def test_slow_clients_cost_little(server, api):
    """A thousand half-sent requests, half of them in the body of an announced 16 MB."""
    api.tenant()
    before = server.memory()
    socks = []
    try:
        for n in range(1000):
            sock = connect(server)
            sock.sendall(GET + b"X-Part: 1\r\n" if n % 2 else POST + b"Content-Length: 16000000\r\n\r\n" + b" " * 1000)
            socks.append(sock)
        api.publish({"n": 1})
        wait_for(lambda: api.call("GET", "/healthz").status == 200, 5)
        assert server.memory() - before < 48 << 20
    finally:
        for sock in socks:
            sock.close()
    assert server.healthy()


def test_clients_that_do_not_read(server, api):
    """They ask for much and read nothing: what waits for them is bounded, others are served."""
    api.tenant()
    text = "x" * 20000
    for n in range(40):
        api.publish({"text": text}, tenant="ghost")
    before = server.memory()
    ask = b"GET /api/v1/events?limit=1000 HTTP/1.1\r\n" + HOST + KEY + b"\r\n"
    socks = [connect(server) for _ in range(40)]
    for sock in socks:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(ask * 20)
    begin = time.monotonic()
    assert api.expect(200, "GET", "/api/v1/topics") in (None, [])
    assert time.monotonic() - begin < 2
    assert server.memory() - before < 160 << 20
    for sock in socks:
        sock.close()
