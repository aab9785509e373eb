"""What the server owes itself is bounded: beyond BACKLOG_MAX publishing slows, then 503. Needs root.

SPDX-License-Identifier: Apache-2.0
"""
import pytest
from support import replies
from support.api import Api
from support.disks import small_disk
from support.load import Load, arrivals
from support.waiting import wait_for

MAX = 200


@pytest.mark.limit(120)
def test_a_log_that_can_not_be_written_ends_in_503(launch, receiver):
    """Deliveries go on, nothing can be recorded: accepted and unrecorded events reach the bound."""
    server = launch(start=False, BACKLOG_MAX=str(MAX))
    server.expect_error("")
    with small_disk(server.data / "log", 16) as disk:
        server.start()
        api = Api(server)
        api.tenant()
        api.destination(receiver.url())
        disk.fill()
        with Load(server, threads=8, padding=2000) as load:
            wait_for(lambda: load.refused.get(503), 60, "a refusal")
        assert set(load.refused) == {503} and load.without_retry_after == 0
        # what the log's last free pages took, what the bound lets in, and one request of each publisher
        assert len(load.accepted) <= 4 * MAX + 8 + 16
        wait_for(lambda: load.accepted <= set(arrivals(receiver)), 15, "deliveries")
        disk.free()
        wait_for(lambda: api.publish_text("{}", id="after").status == 202, 10, "publishing once the log is written")
        for event in sorted(load.accepted)[::10]:
            assert api.attempted(event, seconds=20)[-1]["status"] == "success"
        server.stop()


@pytest.mark.settings(BACKLOG_MAX=str(MAX), DELIVERY_TIMEOUT_SECONDS="20")
def test_a_hung_destination_is_no_backlog(api, server, receiver):
    """Its events are parked, and publishing for others goes on."""
    api.tenant()
    receiver.answer("/hung", replies.hang())
    api.destination(receiver.url("/hung"), id="hung", topics=["hung"])
    api.destination(receiver.url("/good"), id="good", topics=["good"])
    for n in range(5 * MAX):
        api.publish({"n": n}, topic="hung")
    for n in range(20):
        api.publish({"n": n}, topic="good")
    receiver.wait(20, "/good", seconds=5)


@pytest.mark.settings(BACKLOG_MAX=str(MAX), RETRY_SCHEDULE="60")
def test_waiting_retries_are_no_backlog(api, receiver, hook):
    receiver.answer("/in", replies.say(500))
    for n in range(3 * MAX):
        api.publish({"n": n})
    receiver.wait(3 * MAX, seconds=20)


@pytest.mark.settings(BACKLOG_MAX="50")
def test_burst_over_a_small_bound_loses_nothing(api, server, receiver, hook):
    receiver.answer("/in", replies.say(200, delay=0.05))
    with Load(server, threads=16) as load:
        wait_for(lambda: len(load.accepted) + sum(load.refused.values()) >= 1500, 40)
    assert set(load.refused) <= {503} and load.without_retry_after == 0
    wait_for(lambda: load.accepted <= set(arrivals(receiver)), 40, "every accepted event")
    assert all(len(times) == 1 for times in arrivals(receiver).values())
