"""Where we answer otherwise than an Outpost on purpose, and no other story says so. SPDX-License-Identifier: Apache-2.0"""
import urllib.parse

import pytest


@pytest.mark.parametrize("id", ["a/b", "a\x12b", "a\nb", "/", "a\0"])
def test_id_that_no_path_can_carry_is_refused(api, hook, id):
    destination = api.call("POST", "/api/v1/tenants/acme/destinations", {
        "id": id, "type": "webhook", "topics": "*", "config": {"url": "http://127.0.0.1:1/"}})
    assert destination.status == 422, destination
    event = api.call("POST", "/api/v1/publish", {"id": id, "tenant_id": "acme", "topic": "t", "data": {}})
    assert event.status == 422, event
    if "/" not in id:
        assert api.call("PUT", "/api/v1/tenants/" + urllib.parse.quote(id)).status == 422


@pytest.mark.parametrize("id", ["a b", "é", "a%2Fb", "a?b", "x" * 200])
def test_other_ids_are_fine(api, id):
    assert api.call("PUT", "/api/v1/tenants/" + urllib.parse.quote(id, safe="")).status == 201
    assert api.expect(200, "GET", "/api/v1/tenants/" + urllib.parse.quote(id, safe=""))["id"] == id


def test_embedded_store_lists_tenants(api):
    api.tenant()
    listed = api.expect(200, "GET", "/api/v1/tenants")
    assert [tenant["id"] for tenant in listed["models"]] == ["acme"] and listed["count"] == 1
    assert api.call("GET", "/api/v1/tenants?next=evil!").status == 400
