"""Deliveries that fail, and ones that must not be repeated. SPDX-License-Identifier: Apache-2.0"""
import threading
import socket

import pytest
from support import replies


def closed_port():
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def failed_twice(api, url, code):
    """Every way to fail is recorded with its code and retried by the schedule."""
    api.tenant()
    api.destination(url)
    attempts = api.attempted(api.publish()["id"], 2)
    assert [(a["status"], a["code"], a["attempt_number"]) for a in attempts[:2]] == [
        ("failed", code, 1), ("failed", code, 2)]
    return attempts


def test_refused(api):
    failed_twice(api, "http://127.0.0.1:%d/" % closed_port(), "connection_refused")


def test_tls_to_a_plain_port(api):
    """No handshake comes about: the code says so."""
    def answer(listener):
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                peer.recv(4096)
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=[listener], daemon=True).start()
        failed_twice(api, "https://127.0.0.1:%d/" % listener.getsockname()[1], "tls_error")
        listener.shutdown(socket.SHUT_RDWR)


def test_untrusted_certificate(api, tls_receiver):
    failed_twice(api, tls_receiver.url(), "tls_error")
    assert tls_receiver.requests() == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_not_followed(api, receiver, status):
    receiver.answer("/in", replies.redirect(receiver.url("/loop"), status))
    failed_twice(api, receiver.url("/in"), "redirect_error")
    assert receiver.requests("/loop") == []


def test_redirect_without_a_place(api, receiver):
    receiver.answer("/in", replies.say(302))
    failed_twice(api, receiver.url("/in"), "302")


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422, 429, 500, 599])
def test_status_beyond_2xx_fails(api, receiver, status):
    receiver.answer("/in", replies.say(status, "why"))
    attempts = failed_twice(api, receiver.url("/in"), str(status))
    assert attempts[0]["response_data"] == {"body": "why", "status": status}


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_2xx_succeeds(api, receiver, hook, status):
    receiver.answer("/in", replies.say(status))
    attempt = api.attempted(api.publish()["id"])[0]
    assert (attempt["status"], attempt["code"]) == ("success", str(status))


@pytest.mark.settings(RETRY_SCHEDULE="1,1,1")
def test_accepted_delivery_is_never_repeated(api, receiver, hook):
    api.publish()
    receiver.wait(1)
    receiver.stays_at(1, seconds=6)


def test_answer_of_two_megabytes(api, receiver, hook):
    """It is recorded, its body replaced, and delivered once."""
    receiver.answer("/in", replies.say(200, b"x" * (2 << 20)))
    attempt = api.attempted(api.publish()["id"])[0]
    assert (attempt["status"], attempt["code"]) == ("success", "200")
    assert attempt["response_data"] == {
        "body": "Response body exceeded 131072 bytes and was not stored", "status": 200}
    receiver.stays_at(1, seconds=2)


@pytest.mark.settings(DESTINATIONS_WEBHOOK_MAX_RESPONSE_BODY_BYTES="1024")
@pytest.mark.parametrize("size, kept", [(1024, True), (1025, False)])
def test_limit_of_what_is_kept(api, receiver, hook, size, kept):
    receiver.answer("/in", replies.say(500, b"y" * size))
    body = api.attempted(api.publish()["id"])[0]["response_data"]["body"]
    assert body == ("y" * size if kept else "Response body exceeded 1024 bytes and was not stored")
