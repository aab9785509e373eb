"""Receivers at their worst: each becomes an attempt with a steady code, a bounded body, in bounded time and memory.

SPDX-License-Identifier: Apache-2.0
"""
import pytest
from support import replies

CAP = 131072
GARBAGE = b"garbage\r\n\r\n"
STALLED_HEAD = b"HTTP/1.1 200 OK\r\nContent-Le"
STALLED_BODY = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart"
TWO_LENGTHS = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"
BAD_LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nabc"

# what the receiver does, the code of the attempt
NO_ANSWER = {
    "hangs": (replies.hang(), "timeout"),
    "resets": (replies.reset(), "connection_reset"),
    "closes": (replies.close(), "network_error"),
    "says garbage": (replies.raw(GARBAGE), "network_error"),
    "stalls in its head": (replies.raw(STALLED_HEAD, "hang"), "timeout"),
    "trickles its head": (replies.trickle(), "timeout"),
    "sends headers without end": (replies.endless_header(), "network_error"),
    "sends one header without end": (replies.one_endless_header(), "network_error"),
    "says two lengths": (replies.raw(TWO_LENGTHS), "network_error"),
    "says a length that is none": (replies.raw(BAD_LENGTH), "network_error"),
}
# what the receiver does, the code, the body that is kept (None: replaced by a sentence, or cut)
ODD_ANSWER = {
    "stalls in its body": (replies.raw(STALLED_BODY, "hang"), "200", "part"),
    "promises too much": (replies.short_body(500), "500", "abc"),
    "sends too much": (replies.long_body(500), "500", "abc"),
    "sends a body without end": (replies.endless_body(500), "500", None),
    "sends a gzip bomb": (replies.gzip_bomb(500), "500", None),
    "says bytes that are no text": (replies.say(500, b"caf\xe9 \xff\xfe end"), "500", "caf\ufffd \ufffd\ufffd end"),
    "says NUL": (replies.say(500, b"a\0b\0\0c"), "500", "a\0b\0\0c"),
    "says control bytes": (replies.say(500, bytes(range(1, 32))), "500", bytes(range(1, 32)).decode()),
}


@pytest.mark.parametrize("how", NO_ANSWER)
def test_no_answer(api, receiver, hook, how):
    reply, code = NO_ANSWER[how]
    receiver.answer("/in", reply)
    attempts = api.attempted(api.publish()["id"], 2, seconds=15)
    assert [(a["status"], a["code"]) for a in attempts[:2]] == [("failed", code)] * 2
    assert len(receiver.requests("/in")) >= 2


@pytest.mark.parametrize("how", ODD_ANSWER)
def test_odd_answer(api, receiver, hook, how):
    reply, code, body = ODD_ANSWER[how]
    receiver.answer("/in", reply)
    attempt = api.attempted(api.publish(eligible_for_retry=False)["id"], seconds=15)[0]
    assert attempt["code"] == code
    assert attempt["status"] == ("success" if code == "200" else "failed")
    kept = attempt["response_data"]["body"]
    assert kept == body if body is not None else len(kept) <= CAP
    receiver.stays_at(1, seconds=0.5)


@pytest.mark.limit(90)
@pytest.mark.settings(RETRY_SCHEDULE="60")
def test_memory_stays_small(api, server, receiver):
    """Forty floods at once, of every kind."""
    api.tenant()
    api.publish()
    before = server.memory()
    for name, reply in (("bomb", replies.gzip_bomb()), ("body", replies.endless_body()),
                        ("head", replies.endless_header()), ("long", replies.one_endless_header())):
        receiver.answer("/" + name, reply)
        api.destination(receiver.url("/" + name), id=name)
    events = [api.publish()["id"] for _ in range(10)]
    for event in events:
        api.attempted(event, 4, seconds=30)
    assert server.peak_memory() - before < 64 << 20


def test_others_are_served_meanwhile(api, receiver):
    """A hanging and a flooding receiver next to a good one."""
    api.tenant()
    receiver.answer("/hang", replies.hang())
    receiver.answer("/flood", replies.endless_body())
    for name in ("hang", "flood", "good"):
        api.destination(receiver.url("/" + name), id=name)
    for n in range(20):
        api.publish({"n": n})
    receiver.wait(20, "/good", seconds=5)
