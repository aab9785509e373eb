"""SIGKILL at random instants under load: nothing that was answered is missing, little is repeated.

KILL_ROUNDS says how often (default 50). SPDX-License-Identifier: Apache-2.0
"""
import os
import random
import time

import pytest
from support import replies
from support.load import Load, arrivals
from support.waiting import wait_for

ROUNDS = int(os.environ.get("KILL_ROUNDS", "50"))
SLOTS = 16              # attempts in flight at most
RECENT = 1.0            # seconds: what arrived longer before a kill has been settled by then


@pytest.mark.limit(60 + 4 * ROUNDS)
@pytest.mark.settings(DELIVERY_PER_DESTINATION=str(SLOTS), RETRY_SCHEDULE="1")
def test_nothing_is_lost_under_kill(api, server, receiver, hook):
    seed = int(os.environ.get("KILL_SEED", random.randrange(1 << 32)))
    print("KILL_SEED=%d KILL_ROUNDS=%d" % (seed, ROUNDS))
    chance, kills = random.Random(seed), []
    with Load(server) as load:
        for number in range(ROUNDS):
            wait_for(lambda start=len(load.accepted): len(load.accepted) > start, 10, "an accepted event")
            time.sleep(chance.uniform(0, 1.5 if number % 10 == 9 else 0.3))     # the random instant itself
            server.kill()
            kills.append(time.monotonic())
            server.start()
    assert len(load.accepted) > 5 * ROUNDS
    assert load.refused == {}
    wait_for(lambda: load.accepted <= set(arrivals(receiver)), 30,
             "%d accepted events at the receiver" % len(load.accepted))
    time.sleep(2)       # what is going to be repeated has been by then
    check_ledger(load, arrivals(receiver), kills)
    check_log(api, load)


def check_ledger(load, arrived, kills):
    strangers = set(arrived) - load.accepted - load.unknown
    assert not strangers, "never published: %s" % sorted(strangers)[:5]
    repeated = {event: times for event, times in arrived.items() if len(times) > 1}
    extra = sum(len(times) - 1 for times in repeated.values())
    assert extra <= 2 * SLOTS * ROUNDS, "%d repetitions in %d rounds" % (extra, ROUNDS)
    for event, times in repeated.items():
        for first in times[:-1]:
            assert any(0 <= kill - first <= RECENT for kill in kills), \
                "%s was repeated, though no kill came within %g s of its delivery" % (event, RECENT)


def check_log(api, load):
    """Every accepted event has its row and an attempt that succeeded."""
    for event in random.Random(1).sample(sorted(load.accepted), min(200, len(load.accepted))):
        assert any(attempt["status"] == "success" for attempt in api.attempted(event)), event


@pytest.mark.settings(RETRY_SCHEDULE="2,2,2")
def test_retries_go_on_after_a_kill(api, server, receiver, hook):
    """A pending retry keeps its number and roughly its time."""
    receiver.answer("/in", replies.say(500), replies.say(200))
    events = [api.publish({"n": n})["id"] for n in range(20)]
    for event in events:
        api.attempted(event)
    server.kill()
    receiver.answer("/in", replies.say(200))
    server.start()
    for event in events:
        attempts = api.attempted(event)
        wait_for(lambda e=event: any(a["status"] == "success" for a in api.attempts(event_id=e)), 10)
        numbers = [attempt["attempt_number"] for attempt in attempts]
        assert numbers == sorted(set(numbers)), numbers


def test_tenants_and_destinations_survive(api, server):
    """What was answered is there: creation, change, removal."""
    api.tenant()
    for n in range(10):
        api.destination("http://127.0.0.1:1/%d" % n, id="d%d" % n)
    api.turn("disable", "d1")
    api.change("d2", topics=["order.shipped"])
    api.expect(200, "DELETE", "/api/v1/tenants/acme/destinations/d3")
    before = api.expect(200, "GET", "/api/v1/tenants/acme/destinations")
    server.kill()
    server.start()
    assert api.expect(200, "GET", "/api/v1/tenants/acme/destinations") == before


@pytest.mark.limit(120)
def test_kill_at_start(server, api, hook):
    """Killed while it starts, again and again: it always comes up."""
    api.publish({"n": 1}, id="e1")
    chance = random.Random(7)
    for _ in range(15):
        server.kill()
        server.spawn()
        time.sleep(chance.uniform(0, 0.15))
    server.kill()
    server.start()
    assert api.event("e1")["id"] == "e1"
