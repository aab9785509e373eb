"""A payload arrives as it was published, byte for byte, and is shown so. SPDX-License-Identifier: Apache-2.0"""
import json

import pytest
from support import signatures

TEXTS = {
    "white space": '{ "z" : 1 ,\n\t"a":\r[ 1 , 2 ] }',
    "html": '{"html":"<b>&</b>","sep":"\u2028\u2029"}',
    "numbers": '{"n":[12345678901234567890,1.10,1e400,-0,1E+2,0.1e-7,123456789.000000000000001]}',
    "order and doubles": '{"z":1,"a":2,"z":3,"":{"":null}}',
    "escapes": '{"u":"\\u00e9\\u2028\\ud83d\\ude00\\/é😀","lone":"\\ud800","nul":"\\u0000"}',
    "empty": "{}",
    "deep": '{"a":' * 200 + "1" + "}" * 200,
}


@pytest.mark.parametrize("name", TEXTS)
def test_arrives_byte_for_byte(api, receiver, hook, name):
    sent = TEXTS[name].encode()
    answer = api.publish_text(sent, id="e1")
    assert answer.status == 202, answer
    got = receiver.wait()[0]
    assert got.body == sent
    assert signatures.default_mode("s3cret", sent) in got.header("x-outpost-signature")


@pytest.mark.parametrize("name", TEXTS)
def test_is_shown_as_published(api, receiver, hook, name):
    sent = TEXTS[name].encode()
    assert api.publish_text(sent, id="e1").status == 202
    api.attempted("e1")
    answer = api.call("GET", "/api/v1/events/e1")
    assert answer.status == 200 and answer.body.endswith(b',"data":' + sent + b"}"), answer
    shown = api.call("GET", "/api/v1/attempts?event_id=e1&include=event.data")
    assert b'"data":' + sent in shown.body


def test_retries_send_the_same_bytes(api, receiver, hook):
    sent = TEXTS["white space"].encode()
    api.publish_text(sent, id="e1")
    api.attempted("e1")
    assert api.retry("e1").status == 202
    assert [request.body for request in receiver.wait(2)] == [sent, sent]


def test_invalid_utf8_is_delivered_and_shown_readable(api, receiver, hook):
    sent = b'{"a":"caf\xe9 \xff"}'
    assert api.publish_text(sent, id="e1").status == 202
    assert receiver.wait()[0].body == sent
    api.attempted("e1")
    shown = api.call("GET", "/api/v1/events/e1").body.decode("utf-8")
    assert json.loads(shown)["data"] == {"a": "caf\ufffd \ufffd"}


def test_large_payload(api, receiver, hook):
    sent = json.dumps({"text": "x" * (2 << 20)}).encode()
    assert api.publish_text(sent, id="e1").status == 202
    assert receiver.wait(seconds=20)[0].body == sent
    api.attempted("e1")
    assert len(api.event("e1")["data"]["text"]) == 2 << 20


@pytest.mark.settings(API_MAX_BODY="1MiB")
def test_too_large_payload_is_refused(api, hook):
    answer = api.publish_text(json.dumps({"text": "x" * (2 << 20)}))
    assert answer.status == 413
    assert api.other().publish()["duplicate"] is False


REFUSED = {
    "nothing": ("", "invalid JSON"),
    "cut off": ("{", "invalid JSON"),
    "an array": ("[]", "invalid JSON"),
    "data is an array": ('{"tenant_id":"acme","data":[]}', "validation error"),
    "leading zero": ('{"tenant_id":"acme","data":{"a":01}}', "invalid JSON"),
    "control byte": ('{"tenant_id":"acme","data":{"a":"\x01"}}', "invalid JSON"),
    "too deep": ('{"tenant_id":"acme","data":' + '{"a":' * 10001 + "1" + "}" * 10001 + "}", "invalid JSON"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_payload(api, hook, what):
    body, message = REFUSED[what]
    answer = api.call("POST", "/api/v1/publish", body)
    assert (answer.status, answer.json()["message"]) == (422, message)
