"""Events that match nothing are kept. SPDX-License-Identifier: Apache-2.0"""
import pytest


def test_event_of_an_unknown_tenant_is_kept(api):
    event = api.publish({"n": 1}, tenant="ghost", id="e1")
    assert event == {"id": "e1", "duplicate": False, "destination_ids": []}
    kept = api.event("e1")          # at once: it was written before the answer
    assert (kept["tenant_id"], kept["matched_destination_ids"], kept["data"]) == ("ghost", [], {"n": 1})
    assert api.attempts(event_id="e1") == []
    assert [listed["id"] for listed in api.events(tenant_id="ghost")] == ["e1"]


def test_event_for_a_disabled_destination_can_be_delivered_later(api, receiver, hook):
    api.turn("disable")
    assert api.publish({"n": 1}, id="e1")["destination_ids"] == []
    assert api.event("e1")["id"] == "e1"
    assert api.retry("e1").status == 400
    api.turn("enable")
    answer = api.retry("e1")
    assert answer.status == 202, answer
    assert receiver.wait()[0].body == b'{"n": 1}'
    attempt = api.attempted("e1")[0]
    assert (attempt["attempt_number"], attempt["manual"], attempt["status"]) == (1, True, "success")


def test_same_id_again_makes_no_second_row(api):
    for _ in range(2):
        assert api.publish(tenant="ghost", id="e1")["duplicate"] is False
    assert len(api.events(id="e1")) == 1


def test_retry_of_an_unmatched_event_checks_names(api, hook):
    api.publish(id="e1", topic="t", tenant="ghost")
    assert api.retry("e1", "none").json() == {"status": 404, "message": "event not found"}


def test_kept_through_a_kill(api, server):
    api.publish(tenant="ghost", id="e1")
    server.kill()
    server.start()
    assert api.event("e1")["id"] == "e1"


@pytest.mark.settings(LOG_UNMATCHED="false")
def test_not_kept_where_switched_off(api):
    api.publish(tenant="ghost", id="e1")
    assert api.call("GET", "/api/v1/events/e1").status == 404
