"""A slow, hung or failing destination is its own problem. SPDX-License-Identifier: Apache-2.0"""
import pytest
from support import replies


@pytest.fixture
def pair(api, receiver):
    api.tenant()
    api.destination(receiver.url("/slow"), id="slow", topics=["slow"])
    api.destination(receiver.url("/quick"), id="quick", topics=["quick"])


@pytest.mark.settings(DELIVERY_TIMEOUT_SECONDS="10")
def test_quick_one_does_not_wait(api, receiver, pair):
    """Six events to a receiver that takes four seconds, then one to a quick one."""
    receiver.answer("/slow", replies.say(200, delay=4))
    for n in range(6):
        api.publish({"n": n}, topic="slow")
    receiver.wait(1, "/slow")
    api.publish({}, topic="quick")
    receiver.wait(1, "/quick", seconds=3)
    receiver.wait(6, "/slow", seconds=10)


@pytest.mark.settings(DELIVERY_TIMEOUT_SECONDS="10")
def test_backlog_of_a_hung_one_does_not_matter(api, receiver, pair):
    receiver.answer("/slow", replies.hang())
    for n in range(1000):
        api.publish({"n": n}, topic="slow")
    for n in range(20):
        api.publish({"n": n}, topic="quick")
    receiver.wait(20, "/quick", seconds=3)
    assert len(receiver.requests("/slow")) <= 40, "more in flight than one destination may have"


@pytest.mark.settings(DELIVERY_PER_DESTINATION="4", DELIVERY_TIMEOUT_SECONDS="20")
def test_cap_per_destination(api, receiver, pair):
    receiver.answer("/slow", replies.hang())
    for n in range(50):
        api.publish({"n": n}, topic="slow")
    receiver.wait(4, "/slow")
    receiver.stays_at(4, "/slow", seconds=2)


@pytest.mark.settings(RETRY_SCHEDULE="1,1,1,1,1")
def test_first_tries_do_not_wait_behind_retries(api, receiver, pair):
    receiver.answer("/slow", replies.say(500, delay=0.2))
    for n in range(500):
        api.publish({"n": n}, topic="slow")
    receiver.wait(100, "/slow")
    api.publish({}, topic="quick")
    receiver.wait(1, "/quick", seconds=1)


@pytest.mark.limit(120)
@pytest.mark.settings(DELIVERY_TIMEOUT_SECONDS="30", MAX_DESTINATIONS_PER_TENANT="1000")
def test_three_hundred_hung_destinations(api, server, receiver):
    """Three events wait for each; a good destination hardly notices."""
    api.tenant("hung")
    api.tenant()
    api.destination(receiver.url("/good"))
    for n in range(300):
        receiver.answer("/hung/%d" % n, replies.hang())
        api.destination(receiver.url("/hung/%d" % n), tenant="hung", id="d%d" % n)
    for n in range(3):
        api.publish({"n": n}, tenant="hung")
    receiver.wait(1, "/hung/0")
    for n in range(50):
        api.publish({"n": n})
    receiver.wait(50, "/good", seconds=5)
    server.stop()       # thousands of them in flight, and still in time
