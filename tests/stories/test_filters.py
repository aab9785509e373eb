"""Filters on data and metadata. The whole truth table is among the cases. SPDX-License-Identifier: Apache-2.0"""
import json

import pytest


def test_site_and_severity(api, receiver):
    """Subscriptions by site and severity: one of five events matches."""
    api.tenant()
    api.destination(receiver.url(), filter={"data": {"site": {"$in": ["north", "south"]}},
                                            "metadata": {"severity": "high"}})
    events = [("north", "high"), ("east", "high"), ("north", "low"), ("west", "low"), ("NORTH", "high")]
    matched = [api.publish({"site": site}, metadata={"severity": severity})["destination_ids"]
               for site, severity in events]
    assert matched == [["d1"], [], [], [], []]
    assert receiver.wait()[0].body == b'{"site": "north"}'
    receiver.stays_at(1, seconds=0.5)


@pytest.mark.parametrize("condition, value, matches", [
    ("9007199254740993", "9007199254740992", False),
    ("9007199254740993", "9007199254740993.0", True),
    ('{"$gt":12345678901234567889}', "12345678901234567890", True),
    ('{"$gt":12345678901234567890}', "12345678901234567890", False),
    ('{"$lt":1e400}', "1e401", False),
    ('{"$lt":1.10}', "1.1", False),
    ('{"$lte":1.10}', "1.1", True),
    ('{"$gt":0.1}', "0.10000000000000000001", True),
])
def test_numbers_compare_as_decimals(api, condition, value, matches):
    """Large filter numbers are not re-spelled: what a filter means must not depend on a double."""
    api.tenant()
    body = json.dumps({"id": "d1", "type": "webhook", "topics": "*", "config": {"url": "http://127.0.0.1:1/"}})
    created = api.call("POST", "/api/v1/tenants/acme/destinations",
                       body[:-1] + ', "filter":{"data":{"a":%s}}}' % condition)
    if "e400" in condition:
        assert created.status == 422
        return
    assert created.status == 201, created
    answer = api.publish_text('{"a":%s}' % value)
    assert answer.json()["destination_ids"] == (["d1"] if matches else [])


def test_filter_change_holds_for_the_next_event(api, hook):
    api.change(filter={"data": {"a": 1}})
    assert api.publish({"a": 2})["destination_ids"] == []
    api.change(filter=None)
    assert api.publish({"a": 2})["destination_ids"] == ["d1"]
