"""A graceful stop: in time, with status 0, nothing lost, nothing repeated. SPDX-License-Identifier: Apache-2.0"""
import http.client
import signal
import threading
import time

import pytest
from support import replies
from support.waiting import wait_for


def by_event(receiver):
    found = {}
    for request in receiver.requests():
        found.setdefault(request.header("x-outpost-event-id"), []).append(request)
    return found


def test_idle_server_stops_at_once(server, api, clock):
    api.tenant()
    begin = clock()
    server.stop()
    assert clock() - begin < 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_both_signals(server, number):
    server.process.send_signal(number)
    assert server.process.wait(10) == 0
    server.process = None


def test_stop_in_the_middle_of_deliveries(server, api, receiver, hook):
    """Answers that take a second are waited for; what was answered is never sent again."""
    receiver.answer("/in", replies.say(200, delay=1))
    events = {api.publish({"n": n})["id"] for n in range(100)}
    receiver.wait(10)
    server.stop(15)
    before = by_event(receiver)
    assert all(len(requests) == 1 for requests in before.values())
    receiver.answer("/in", replies.say(200))
    server.start()
    wait_for(lambda: set(by_event(receiver)) == events, 10, "every event")
    receiver.stays_at(100, seconds=2)
    for event in events:
        assert [a["status"] for a in api.attempted(event)] == ["success"]


@pytest.mark.limit(90)
@pytest.mark.settings(DELIVERY_TIMEOUT_SECONDS="60")
def test_hung_deliveries_are_given_back(server, api, receiver, hook, clock):
    receiver.answer("/in", replies.hang())
    event = api.publish()["id"]
    receiver.wait(1)
    begin = clock()
    server.stop(15)
    assert clock() - begin <= 15.5
    receiver.answer("/in", replies.say(200))
    server.start()
    receiver.wait(2)
    assert [a["status"] for a in api.attempted(event)] == ["success"]


def test_stop_under_load(server, api, receiver, hook):
    """Publishers at work: each event answered 202 arrives exactly once, before or after."""
    accepted, lock, stopping = set(), threading.Lock(), threading.Event()

    def publish(name):
        client, n = api.other(), 0
        while not stopping.is_set():
            n += 1
            event = "%s-%d" % (name, n)
            try:
                if client.publish_text("{}", id=event).status == 202:
                    with lock:
                        accepted.add(event)
            except (OSError, http.client.HTTPException):
                return      # the listener is gone
    threads = [threading.Thread(target=publish, args=("p%d" % n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(accepted) > 200, 10)
    server.stop(15)
    stopping.set()
    for thread in threads:
        thread.join()
    server.start()
    wait_for(lambda: accepted <= set(by_event(receiver)), 15, "every accepted event")
    time.sleep(1)       # a repetition would come by now
    assert [event for event, requests in by_event(receiver).items() if len(requests) > 1] == []


def test_request_under_way_is_answered(server, api):
    """A body half sent when the stop begins is still served."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    body = b'{"tenant_id":"ghost","topic":"t","data":{}}'
    connection.putrequest("POST", "/api/v1/publish")
    connection.putheader("Authorization", "Bearer k-admin-1")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body[:10])
    time.sleep(0.2)     # so that the head has been read
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    connection.send(body[10:])
    answer = connection.getresponse()
    assert answer.status == 202
    answer.read()
    assert server.process.wait(15) == 0
    server.process = None
