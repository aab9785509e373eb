"""Automatic and manual retries: when, how often, with which numbers and headers. SPDX-License-Identifier: Apache-2.0"""
import email.utils
import time

import pytest
from support import replies
from support.waiting import wait_for

SLACK = 1.0     # how late a retry may be


def gaps(requests):
    return [later.at - before.at for before, later in zip(requests, requests[1:])]


def numbers(attempts):
    return [attempt["attempt_number"] for attempt in attempts]


@pytest.mark.settings(RETRY_SCHEDULE="1,2,1")
def test_schedule_and_numbers(api, receiver, hook):
    receiver.answer("/in", replies.say(500, "no"))
    event = api.publish()["id"]
    waits = gaps(receiver.wait(4, seconds=10))
    for wait, planned in zip(waits, [1, 2, 1]):
        assert planned - 0.05 <= wait <= planned + SLACK, waits
    receiver.stays_at(4, seconds=2)
    attempts = api.attempted(event, 4)
    assert numbers(attempts) == [1, 2, 3, 4]
    assert {attempt["code"] for attempt in attempts} == {"500"}
    assert attempts[0]["response_data"] == {"body": "no", "status": 500}


@pytest.mark.settings(RETRY_SCHEDULE=None, RETRY_INTERVAL_SECONDS="1", MAX_RETRY_LIMIT="2")
def test_exponential(api, receiver, hook):
    receiver.answer("/in", replies.say(500))
    api.publish()
    waits = gaps(receiver.wait(3, seconds=10))
    assert 0.95 <= waits[0] <= 1 + SLACK and 1.95 <= waits[1] <= 2 + SLACK, waits
    receiver.stays_at(3, seconds=2)


def test_success_ends_retries(api, receiver, hook):
    receiver.answer("/in", replies.say(503), replies.say(200))
    event = api.publish()["id"]
    receiver.wait(2)
    receiver.stays_at(2, seconds=2)
    assert [a["status"] for a in api.attempted(event, 2)] == ["failed", "success"]


def test_event_that_must_not_be_retried(api, receiver, hook):
    receiver.answer("/in", replies.say(500))
    api.publish(eligible_for_retry=False)
    receiver.wait(1)
    receiver.stays_at(1, seconds=2)


def test_each_manual_retry_delivers(api, receiver, hook):
    event = api.publish()["id"]
    api.attempted(event)
    for _ in range(2):
        answer = api.retry(event)
        assert (answer.status, answer.json()) == (202, {"success": True})
    receiver.wait(3)
    attempts = api.attempted(event, 3)
    assert numbers(attempts) == [1, 2, 3]
    assert [a["manual"] for a in attempts] == [False, True, True]
    receiver.stays_at(3, seconds=1)


@pytest.mark.settings(RETRY_SCHEDULE="3,3")
def test_manual_retry_replaces_the_pending_one(api, receiver, hook):
    receiver.answer("/in", replies.say(500), replies.say(200))
    event = api.publish()["id"]
    api.attempted(event)
    assert api.retry(event).status == 202
    receiver.wait(2, seconds=2)
    receiver.stays_at(2, seconds=4)
    assert numbers(api.attempted(event, 2)) == [1, 2]


@pytest.mark.settings(RETRY_SCHEDULE="2,2,2")
def test_failing_manual_retry_moves_the_schedule(api, receiver, hook):
    receiver.answer("/in", replies.say(500))
    event = api.publish()["id"]
    api.attempted(event)
    assert api.retry(event).status == 202
    waits = gaps(receiver.wait(3, seconds=8))
    assert 1.95 <= waits[1] <= 2 + SLACK, waits
    attempts = api.attempted(event, 4)
    assert numbers(attempts) == [1, 2, 3, 4]
    assert [a["manual"] for a in attempts] == [False, True, False, False]
    receiver.stays_at(4, seconds=3)


@pytest.mark.settings(RETRY_SCHEDULE="60")
def test_numbers_rise_under_many_manual_retries(api, receiver, hook):
    receiver.answer("/in", replies.say(500))
    event = api.publish()["id"]
    api.attempted(event)
    for _ in range(10):
        assert api.retry(event).status == 202
    attempts = api.attempted(event, 11)
    assert sorted(numbers(attempts)) == list(range(1, 12))


def test_every_attempt_has_the_same_headers(api, receiver):
    """By schedule and by hand as at first."""
    api.tenant()
    api.destination(receiver.url(), credentials={"secret": "s"}, delivery_metadata={"app-id": "a"},
                    config={"custom_headers": '{"x-team":"blue"}'})
    receiver.answer("/in", replies.say(500), replies.say(200))
    event = api.publish({"a": 1}, metadata={"source": "shop"})["id"]
    api.attempted(event, 2)
    assert api.retry(event).status == 202
    first, second, third = receiver.wait(3)
    assert first.names() == second.names() == third.names()
    assert {"x-team", "x-outpost-source", "x-outpost-app-id", "x-outpost-signature"} <= set(first.names())
    assert first.body == second.body == third.body


@pytest.mark.limit(90)
@pytest.mark.settings(RETRY_SCHEDULE="5", RETRY_JITTER="0.2")
def test_a_burst_comes_back_spread_out(api, receiver, hook):
    receiver.answer("/in", replies.say(500))
    for n in range(200):
        api.publish({"n": n})
    receiver.wait(400, seconds=30)
    first = {}
    waits = []
    for request in receiver.requests("/in"):
        event = request.header("x-outpost-event-id")
        if event in first:
            waits.append(request.at - first[event])
        first.setdefault(event, request.at)
    assert len(waits) == 200
    assert min(waits) >= 3.9 and max(waits) <= 6 + SLACK, (min(waits), max(waits))
    assert max(waits) - min(waits) >= 1.2, "no spread"
    assert sum(1 for wait in waits if wait < 5) >= 40 and sum(1 for wait in waits if wait > 5) >= 40


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_in_seconds(api, receiver, hook, status):
    receiver.answer("/in", replies.say(status, headers={"Retry-After": "3"}), replies.say(200))
    api.publish()
    wait = gaps(receiver.wait(2, seconds=8))[0]
    assert 2.95 <= wait <= 3 + SLACK


def test_retry_after_as_a_date(api, receiver, hook):
    due = time.time() + 4
    receiver.answer("/in", replies.say(503, headers={"Retry-After": email.utils.formatdate(due, usegmt=True)}),
                    replies.say(200))
    api.publish()
    receiver.wait(2, seconds=9)
    assert int(due) - 0.1 <= time.time() <= due + 1 + SLACK


@pytest.mark.settings(RETRY_SCHEDULE="3")
def test_retry_after_never_makes_it_earlier(api, receiver, hook):
    receiver.answer("/in", replies.say(503, headers={"Retry-After": "1"}), replies.say(200))
    api.publish()
    assert gaps(receiver.wait(2, seconds=8))[0] >= 2.95


@pytest.mark.settings(RETRY_AFTER_MAX="2")
def test_retry_after_is_capped(api, receiver, hook):
    receiver.answer("/in", replies.say(429, headers={"Retry-After": "86400"}), replies.say(200))
    api.publish()
    assert 1.95 <= gaps(receiver.wait(2, seconds=8))[0] <= 2 + SLACK


@pytest.mark.settings(RETRY_AFTER_MAX="0")
def test_retry_after_can_be_ignored(api, receiver, hook):
    receiver.answer("/in", replies.say(429, headers={"Retry-After": "30"}), replies.say(200))
    api.publish()
    assert gaps(receiver.wait(2, seconds=8))[0] <= 1 + SLACK


def test_retry_after_of_other_answers_is_ignored(api, receiver, hook):
    receiver.answer("/in", replies.say(500, headers={"Retry-After": "30"}), replies.say(200))
    api.publish()
    assert gaps(receiver.wait(2, seconds=8))[0] <= 1 + SLACK


@pytest.mark.settings(RETRY_SCHEDULE="20")
def test_manual_retry_does_not_wait_for_retry_after(api, receiver, hook):
    receiver.answer("/in", replies.say(429, headers={"Retry-After": "30"}), replies.say(200))
    event = api.publish()["id"]
    api.attempted(event)
    assert api.retry(event).status == 202
    receiver.wait(2, seconds=2)


@pytest.mark.settings(RETRY_SCHEDULE="3")
def test_pending_retry_survives_a_restart(api, server, receiver, hook):
    receiver.answer("/in", replies.say(500), replies.say(200))
    event = api.publish()["id"]
    api.attempted(event)
    server.restart()
    waits = gaps(receiver.wait(2, seconds=8))
    assert 2.9 <= waits[0] <= 3 + 2 * SLACK, waits
    assert numbers(api.attempted(event, 2)) == [1, 2]


@pytest.mark.settings(DISABLE_ON_GONE="true")
def test_gone_disables_where_asked_for(api, receiver, hook):
    receiver.answer("/in", replies.say(410))
    api.publish()
    receiver.wait(1)
    wait_for(lambda: api.expect(200, "GET", "/api/v1/tenants/acme/destinations/d1")["disabled_at"], 5, "disabled")
    receiver.stays_at(1, seconds=2)


def test_gone_is_an_ordinary_failure_by_default(api, receiver, hook):
    receiver.answer("/in", replies.say(410))
    api.publish()
    receiver.wait(2)
    assert api.expect(200, "GET", "/api/v1/tenants/acme/destinations/d1")["disabled_at"] is None


def test_retry_refusals(api, receiver, hook):
    event = api.publish()["id"]
    api.attempted(event)
    assert api.retry("none").json() == {"status": 404, "message": "event not found"}
    api.change(topics=["user.created"])
    assert api.retry(event).json() == {"status": 400, "message": "destination does not match event"}
    api.turn("disable")
    assert api.retry(event).json() == {"status": 400, "message": "Destination is disabled",
                                       "data": {"error": "destination_disabled"}}
    assert api.call("POST", "/api/v1/retry", {}).json()["data"] == [
        "event_id is required", "destination_id is required"]


def test_deleted_destination_ends_its_retries(api, receiver, hook):
    receiver.answer("/in", replies.say(500))
    event = api.publish()["id"]
    api.attempted(event)
    api.expect(200, "DELETE", "/api/v1/tenants/acme/destinations/d1")
    receiver.stays_at(1, seconds=2.5)
    assert api.event(event)["id"] == event
