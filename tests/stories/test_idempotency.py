"""The same event id twice. SPDX-License-Identifier: Apache-2.0"""
import threading

import pytest


def test_second_publish_is_a_duplicate(api, receiver, hook):
    assert api.publish({"n": 1}, id="e1")["duplicate"] is False
    again = api.publish({"n": 2}, id="e1")
    assert again == {"id": "e1", "duplicate": True, "destination_ids": ["d1"]}
    assert receiver.wait(1)[0].body == b'{"n": 1}'
    receiver.stays_at(1, seconds=1)


def test_id_belongs_to_its_tenant(api, receiver):
    for name in ("acme", "globex"):
        api.tenant(name)
        api.destination(receiver.url("/" + name), tenant=name)
        assert api.publish({"of": name}, tenant=name, id="e1")["duplicate"] is False
    for name in ("acme", "globex"):
        receiver.wait(1, "/" + name)
        api.attempted("e1", tenant_id=name)
        assert [event["tenant_id"] for event in api.events(id="e1", tenant_id=name)] == [name]
    assert len(api.events(id="e1")) == 2


def test_remembered_through_a_restart(api, server, receiver, hook):
    api.publish(id="e1")
    receiver.wait(1)
    server.restart()
    assert api.publish(id="e1")["duplicate"] is True
    receiver.stays_at(1, seconds=1)


def test_remembered_through_a_kill(api, server, receiver, hook):
    api.publish(id="e1")
    api.attempted("e1")
    server.kill()
    server.start()
    assert api.publish(id="e1")["duplicate"] is True
    receiver.stays_at(1, seconds=1)


@pytest.mark.settings(PUBLISH_IDEMPOTENCY_KEY_TTL="2")
def test_forgotten_after_its_time(api, receiver, hook):
    api.publish(id="e1")
    receiver.wait(1)
    receiver.stays_at(1, seconds=3)
    assert api.publish(id="e1")["duplicate"] is False
    receiver.wait(2)


def test_unmatched_id_is_not_remembered(api, receiver):
    api.tenant()
    assert api.publish(id="e1")["destination_ids"] == []
    api.destination(receiver.url())
    assert api.publish(id="e1") == {"id": "e1", "duplicate": False, "destination_ids": ["d1"]}
    receiver.wait(1)


def test_race_delivers_once(api, receiver, hook):
    """Sixteen at the same instant: one delivers, each gets an answer of the specification."""
    gate, answers = threading.Barrier(16), []

    def publish():
        client = api.other()
        gate.wait()
        answers.append(client.call("POST", "/api/v1/publish",
                                   {"id": "e1", "tenant_id": "acme", "topic": "t", "data": {}}))
    threads = [threading.Thread(target=publish) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accepted = [answer.json()["duplicate"] for answer in answers if answer.status == 202]
    assert accepted.count(False) == 1
    assert {answer.status for answer in answers} <= {202, 409}
    receiver.wait(1)
    receiver.stays_at(1, seconds=1)
