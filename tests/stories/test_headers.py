"""Nothing that a tenant or publisher says becomes a header of its own. SPDX-License-Identifier: Apache-2.0"""
import json

import pytest

INJECTED = "b\r\nx-evil: 1"


@pytest.mark.parametrize("value", [INJECTED, "b\nc", "b\rc", "b\0c"])
def test_custom_header_with_a_line_break_is_refused(api, receiver, value):
    api.tenant()
    answer = api.call("POST", "/api/v1/tenants/acme/destinations", {
        "type": "webhook", "topics": "*",
        "config": {"url": receiver.url(), "custom_headers": json.dumps({"x-a": value})}})
    assert answer.status == 422, answer
    assert answer.json()["message"] == "validation error"
    assert answer.json()["data"][0].startswith("config.custom_headers.x-a ")


@pytest.mark.parametrize("value", [INJECTED, "a\nb", "a\rb", "a\0b", "\x7f"])
def test_metadata_with_control_bytes_is_a_failed_attempt(api, receiver, hook, value):
    event = api.publish({}, metadata={"note": value})["id"]
    attempt = api.attempted(event)[0]
    assert (attempt["status"], attempt["code"]) == ("failed", "network_error")
    assert receiver.requests() == []


@pytest.mark.parametrize("name", ["a b", "a:b", "é", "x\r\ny"])
def test_metadata_name_that_is_no_header_name_is_left_out(api, receiver, hook, name):
    api.publish({}, metadata={name: "v", "good": "1"})
    got = receiver.wait()[0]
    assert got.header("x-outpost-good") == "1"
    assert [key for key in got.names() if key.startswith("x-outpost-")] == [
        "x-outpost-event-id", "x-outpost-good", "x-outpost-signature", "x-outpost-timestamp", "x-outpost-topic"]


def test_values_beyond_ascii_are_sent_as_they_are(api, receiver, hook):
    api.publish({}, metadata={"name": "é\tü"})
    assert receiver.wait()[0].header("x-outpost-name").encode("latin-1").decode() == "é\tü"
