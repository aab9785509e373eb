"""A full disk: 503 with Retry-After, never a lost 202, and it clears by itself. Needs root.

SPDX-License-Identifier: Apache-2.0
"""
import pytest
from support.api import Api
from support.disks import small_disk
from support.load import arrivals
from support.waiting import wait_for

TEXT = '{"p":"%s"}' % ("x" * 8000)


@pytest.fixture
def cramped(launch):
    """A server whose whole data folder is on a disk of 32 MB."""
    server = launch(start=False)
    with small_disk(server.data, 32) as disk:
        server.expect_error("")         # it may say what it likes about its disk
        server.start()
        yield server, disk, Api(server)
        server.stop()


def publish_until_refused(api, accepted, limit=4000):
    for n in range(limit):
        event = "e%05d" % n
        answer = api.publish_text(TEXT, id=event)
        if answer.status != 202:
            return answer
        accepted.add(event)
    raise AssertionError("a full disk refused nothing")


@pytest.mark.limit(120)
def test_publish_is_refused_and_comes_back(cramped, receiver):
    server, disk, api = cramped
    api.tenant()
    api.destination(receiver.url())
    accepted = {api.publish(id="before")["id"]}
    disk.fill()
    refusal = publish_until_refused(api, accepted)
    assert refusal.status == 503 and int(refusal.headers["Retry-After"]) >= 1, refusal
    wait_for(lambda: accepted <= set(arrivals(receiver)), 15, "deliveries go on while the disk is full")
    assert api.call("GET", "/healthz").status == 200
    disk.free()
    wait_for(lambda: api.publish_text("{}", id="after").status == 202, 3, "publishing after there is room")
    accepted.add("after")
    wait_for(lambda: accepted <= set(arrivals(receiver)), 15)
    for event in sorted(accepted):
        assert api.attempted(event, seconds=20)[-1]["status"] == "success"


@pytest.mark.limit(120)
def test_nothing_is_lost_through_a_kill_on_a_full_disk(cramped, receiver):
    server, disk, api = cramped
    api.tenant()
    api.destination(receiver.url())
    accepted = set()
    disk.fill()
    publish_until_refused(api, accepted)
    server.kill()
    disk.free()
    server.start()
    wait_for(lambda: accepted <= set(arrivals(receiver)), 15, "every accepted event")
    assert api.publish(id="after")["duplicate"] is False


def test_management_is_refused_too(cramped):
    server, disk, api = cramped
    api.tenant()
    disk.fill()

    def refused():
        answer = api.call("PUT", "/api/v1/tenants/acme", {"metadata": {"k": "x" * 4000}})
        return answer.status not in (200, 201) and answer
    answer = wait_for(refused, 20, "a refusal")
    assert answer.status == 503 and answer.headers["Retry-After"], answer
    assert api.call("GET", "/api/v1/tenants/acme").status == 200
    disk.free()
    wait_for(lambda: api.call("PUT", "/api/v1/tenants/acme").status == 200, 3, "changes after there is room")
