"""An event goes in, a signed webhook comes out. SPDX-License-Identifier: Apache-2.0"""
import re
import time

import pytest
from support import signatures

SECRET = "whsec_3f5a9c1e7b2d4f60a8c3e5d7f1b9a2c4e6d8f0b1a3c5e7d9f2b4a6c8e0d1f3a5"
OLD = "whsec_0011223344556677889900aabbccddeeff112233445566778899aabbccddeeff"
STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_delivery_is_signed(api, receiver):
    api.tenant()
    api.destination(receiver.url("/in"), credentials={"secret": SECRET})
    event = api.publish({"user": 1}, id="evt-1", metadata={"source": "shop"})
    assert event == {"id": "evt-1", "duplicate": False, "destination_ids": ["d1"]}
    got = receiver.wait()[0]
    assert (got.method, got.target) == ("POST", "/in")
    assert got.header("content-type") == "application/json"
    assert got.header("x-outpost-event-id") == "evt-1"
    assert got.header("x-outpost-topic") == "order.placed"
    assert got.header("x-outpost-source") == "shop"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", got.header("x-outpost-timestamp"))
    assert signatures.default_candidates(got.header("x-outpost-signature")) == [
        signatures.default_mode(SECRET, got.body)]
    assert got.header("content-length") == str(len(got.body))
    assert got.header("transfer-encoding") is None


def test_signature_vector():
    """Our own HMAC agrees with the published examples, so that the other tests mean something."""
    body = b'{"user_id":"usr_123","email":"user@example.com"}'
    assert signatures.default_mode(SECRET, body) == "ca9120b7516fdfeea7f371a5a33fe63c0caf6eb87f8b80819076dec4a53b2cc4"
    assert signatures.standard_mode(STANDARD, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}') == \
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_two_secrets_sign_until_the_old_one_expires(api, receiver):
    api.tenant()
    soon = time.time() + 3
    api.destination(receiver.url(), credentials={
        "secret": SECRET, "previous_secret": OLD,
        "previous_secret_invalid_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(soon))})
    api.publish({"n": 1})
    first = receiver.wait(1)[0]
    assert signatures.default_candidates(first.header("x-outpost-signature")) == [
        signatures.default_mode(SECRET, first.body), signatures.default_mode(OLD, first.body)]
    time.sleep(max(0, soon + 1.2 - time.time()))      # the clock has to pass the moment; nothing to wait for
    api.publish({"n": 2})
    second = receiver.wait(2)[1]
    assert signatures.default_candidates(second.header("x-outpost-signature")) == [
        signatures.default_mode(SECRET, second.body)]


def test_rotation_holds_for_the_next_event(api, receiver, hook):
    api.publish({"n": 1})
    receiver.wait(1)
    changed = api.change(credentials={"rotate_secret": True})
    api.publish({"n": 2})
    second = receiver.wait(2)[1]
    assert signatures.default_candidates(second.header("x-outpost-signature")) == [
        signatures.default_mode(changed["credentials"]["secret"], second.body),
        signatures.default_mode("s3cret", second.body)]


@pytest.mark.settings(DESTINATIONS_WEBHOOK_MODE="standard")
def test_standard_webhooks(api, receiver):
    api.tenant()
    api.destination(receiver.url(), credentials={"secret": STANDARD}, delivery_metadata={"app-id": "a1"})
    api.publish({"test": 1}, id="msg_1", metadata={"source": "crm"})
    got = receiver.wait()[0]
    assert got.header("webhook-id") == "msg_1"
    assert abs(int(got.header("webhook-timestamp")) - time.time()) < 10
    assert got.header("webhook-signature") == signatures.standard_mode(
        STANDARD, "msg_1", got.header("webhook-timestamp"), got.body)
    assert [got.header(name) for name in ("webhook-topic", "webhook-app-id", "webhook-source", "source")] == [
        "order.placed", "a1", "crm", "crm"]


def test_metadata_wins_over_delivery_metadata_and_custom_headers(api, receiver):
    api.tenant()
    api.destination(receiver.url(), credentials={"secret": "s"}, delivery_metadata={"source": "static", "app": "a"},
                    config={"custom_headers": '{"x-outpost-source":"custom","x-team":"blue"}'})
    api.publish({}, metadata={"source": "event"})
    got = receiver.wait()[0]
    assert [got.header(name) for name in ("x-outpost-source", "x-outpost-app", "x-team")] == ["event", "a", "blue"]


def test_topics_choose_destinations(api, receiver):
    api.tenant()
    api.destination(receiver.url("/all"), id="all")
    api.destination(receiver.url("/placed"), id="placed", topics=["order.placed"])
    api.destination(receiver.url("/off"), id="off")
    api.turn("disable", "off")
    assert sorted(api.publish(topic="order.placed")["destination_ids"]) == ["all", "placed"]
    assert api.publish(topic="order.shipped")["destination_ids"] == ["all"]
    assert api.publish(topic="order.placed", destination_id="placed")["destination_ids"] == ["placed"]
    receiver.wait(2, "/all")
    receiver.wait(2, "/placed")
    receiver.stays_at(0, "/off", 0.5)


def test_tenants_do_not_see_each_other(api, receiver):
    for name in ("acme", "globex"):
        api.tenant(name)
        api.destination(receiver.url("/" + name), tenant=name)
    api.publish(tenant="acme")
    receiver.wait(1, "/acme")
    receiver.stays_at(0, "/globex", 0.5)


def test_edit_holds_for_the_next_event(api, receiver, hook):
    api.change(config={"url": receiver.url("/new")})
    api.publish()
    receiver.wait(1, "/new")
    receiver.stays_at(0, "/in", 0.3)


def test_connections_are_reused(api, receiver, hook):
    for n in range(20):
        event = api.publish({"n": n})["id"]
        api.attempted(event)
    assert receiver.connections <= 3


def test_attempt_shows_within_a_second(api, receiver, hook):
    event = api.publish({"n": 1})["id"]
    receiver.wait()
    attempt = api.attempted(event, seconds=1)[0]
    assert (attempt["status"], attempt["code"], attempt["attempt_number"], attempt["manual"]) == (
        "success", "200", 1, False)
    assert (attempt["event_id"], attempt["destination_id"], attempt["tenant_id"]) == (event, "d1", "acme")
    assert api.event(event)["matched_destination_ids"] == ["d1"]


def test_one_wide_line_per_event_and_attempt(api, server, receiver, hook):
    event = api.publish()["id"]
    attempt = api.attempted(event)[0]
    received = [line for line in server.lines("event.received") if line["event_id"] == event]
    attempted = [line for line in server.lines("delivery.attempted") if line["event_id"] == event]
    assert len(received) == 1 and received[0]["matched_destination_ids"] == ["d1"]
    assert len(attempted) == 1 and attempted[0]["attempt_id"] == attempt["id"]
    assert "s3cret" not in server.text()
