"""Addresses that webhooks may not go to. All of this runs in a network namespace without routes, with the addresses on
its only interface and a listener on every one: a guard that is missing is seen, and nothing leaves the machine. Needs root.

SPDX-License-Identifier: Apache-2.0
"""
import socket

import pytest
from support import replies
from support.api import Api
from support.namespace import lonely_network
from support.receiver import Receiver

PUBLIC = "11.22.33.44"
PUBLIC6 = "2a00:1450:4001:81b::200e"
BLOCKED = ["127.0.0.1", "127.8.9.10", "10.1.2.3", "172.16.0.1", "172.31.255.254", "192.168.7.8", "169.254.169.254",
           "169.254.1.1", "100.64.0.1", "192.0.0.8", "198.18.0.1", "192.0.2.1", "198.51.100.7", "203.0.113.9", "240.0.0.1"]
BLOCKED6 = ["::1", "fc00::1", "fd12:3456:789a::1", "fe80::1", "fec0::1", "64:ff9b::7f00:1", "64:ff9b::a01:203",
            "2002:7f00:1::1", "2002:a01:203::1", "2001:0:7f00:1::1", "2001:db8::1", "100::1"]
# other spellings of the above: {} is the port
SPELLINGS = [
    "http://localhost:{}/", "http://LOCALHOST:{}/", "http://localhost.:{}/", "http://127.1:{}/", "http://127.0.1:{}/",
    "http://2130706433:{}/", "http://0x7f000001:{}/", "http://0x7f.0.0.1:{}/", "http://0177.0.0.1:{}/",
    "http://017700000001:{}/", "http://0:{}/", "http://0.0.0.0:{}/", "http://[::]:{}/",
    "http://[0:0:0:0:0:0:0:1]:{}/", "http://[::ffff:127.0.0.1]:{}/", "http://[::ffff:7f00:1]:{}/",
    "http://[::ffff:10.1.2.3]:{}/", "http://[0:0:0:0:0:ffff:a01:203]:{}/", "http://[::127.0.0.1]:{}/",
    "http://[::ffff:0:127.0.0.1]:{}/", "http://[64:ff9b::127.0.0.1]:{}/",
    "http://user:pass@127.0.0.1:{}/", "http://11.22.33.44@127.0.0.1:{}/", "https://127.0.0.1:{}/",
    "http://169.254.169.254:{}/latest/meta-data/", "http://2852039166:{}/", "http://[fe80::1%25lo]:{}/",
    "http://１２７.0.0.1:{}/", "http://224.0.0.1:{}/", "http://255.255.255.255:{}/", "http://[ff02::1]:{}/",
]


@pytest.fixture(scope="module", autouse=True)
def network():
    with lonely_network([PUBLIC, PUBLIC6] + BLOCKED + BLOCKED6):
        yield


@pytest.fixture
def everywhere():
    """A receiver on every address of both families."""
    place = Receiver("::", family=socket.AF_INET6)
    yield place
    place.close()


def attempt_to(api, url, topic="t"):
    """The first attempt at a URL, whatever came of it."""
    api.tenant()
    api.destination(url, id="x" + str(abs(hash(url))), topics=[topic])
    return api.attempted(api.publish(topic=topic, eligible_for_retry=False)["id"], seconds=15)[0]


def address_url(address, port):
    return ("http://[%s]:%d/" if ":" in address else "http://%s:%d/") % (address, port)


@pytest.fixture
def guarded(launch):
    return Api(launch(EGRESS_ALLOW=None))


@pytest.mark.parametrize("address", BLOCKED + BLOCKED6)
def test_address_is_blocked(guarded, everywhere, address):
    attempt = attempt_to(guarded, address_url(address, everywhere.port))
    assert everywhere.requests() == [] and everywhere.connections == 0
    assert (attempt["status"], attempt["code"]) == ("failed", "address_blocked")


@pytest.mark.parametrize("url", SPELLINGS)
def test_spelling_is_blocked(guarded, everywhere, url):
    """However it is written: no connection. Hosts that nothing can resolve may say so instead."""
    guarded.tenant()
    body = {"type": "webhook", "id": "d1", "topics": "*", "config": {"url": url.format(everywhere.port)}}
    created = guarded.call("POST", "/api/v1/tenants/acme/destinations", body)
    assert created.status == 201, "nothing is refused at create: %s" % created
    attempt = guarded.attempted(guarded.publish(eligible_for_retry=False)["id"], seconds=15)[0]
    assert everywhere.requests() == [] and everywhere.connections == 0
    assert attempt["status"] == "failed"
    assert attempt["code"] in ("address_blocked", "dns_error", "ERR", "network_error"), attempt


@pytest.mark.parametrize("url", [
    "http://localhost:{}/", "http://127.1:{}/", "http://0x7f000001:{}/", "http://2130706433:{}/",
    "http://[::ffff:127.0.0.1]:{}/", "http://[64:ff9b::127.0.0.1]:{}/", "http://0.0.0.0:{}/", "https://127.0.0.1:{}/"])
def test_common_spellings_say_blocked(guarded, everywhere, url):
    assert attempt_to(guarded, url.format(everywhere.port))["code"] == "address_blocked"


def test_attempt_names_range_and_setting(guarded, everywhere):
    for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
        attempt = attempt_to(guarded, "http://%s:%d/" % (host, everywhere.port), topic=host.strip("[]").replace(":", "."))
        text = attempt["response_data"]["error"]
        assert attempt["code"] == "address_blocked" and "EGRESS_ALLOW" in text, text
        assert "127.0.0.0/8" in text or "::1/128" in text or "::ffff:0:0/96" in text, text


@pytest.mark.parametrize("address", [PUBLIC, PUBLIC6])
def test_public_address_is_served(guarded, everywhere, address):
    attempt = attempt_to(guarded, address_url(address, everywhere.port))
    assert attempt["status"] == "success"
    assert len(everywhere.requests("/")) == 1


def test_redirect_to_a_blocked_address(guarded, everywhere):
    everywhere.answer("/", replies.redirect("http://127.0.0.1:%d/inside" % everywhere.port))
    attempt = attempt_to(guarded, address_url(PUBLIC, everywhere.port))
    assert (attempt["status"], attempt["code"]) == ("failed", "redirect_error")
    assert everywhere.requests("/inside") == []


def test_blocked_attempt_is_retried_by_schedule(guarded, everywhere):
    """The operator may open the range meanwhile."""
    guarded.tenant()
    guarded.destination(address_url("10.1.2.3", everywhere.port))
    attempts = guarded.attempted(guarded.publish()["id"], 2)
    assert [a["code"] for a in attempts[:2]] == ["address_blocked"] * 2


def test_allowed_range_is_served_and_no_other(launch, everywhere):
    api = Api(launch(EGRESS_ALLOW="10.1.0.0/16,fd12::/16"))
    for address in ("10.1.2.3", "fd12:3456:789a::1"):
        assert attempt_to(api, address_url(address, everywhere.port), topic=address)["status"] == "success"
    for address in ("127.0.0.1", "192.168.7.8", "fc00::1"):
        assert attempt_to(api, address_url(address, everywhere.port), topic=address)["code"] == "address_blocked"


def test_policy_any(launch, everywhere):
    api = Api(launch(EGRESS_ALLOW=None, EGRESS_POLICY="any"))
    for address in ("127.0.0.1", "169.254.169.254", "::1"):
        assert attempt_to(api, address_url(address, everywhere.port), topic=address)["status"] == "success"


def test_bad_range_stops_the_start(launch):
    server = launch(start=False, EGRESS_ALLOW="10.0.0.0/33")
    server.spawn()
    assert server.process.wait(10) not in (0, -6, -11)
    server.process = None
    server.expect_error("")
    assert "10.0.0.0/33" in server.text()


def test_developer_mode_allows_loopback_and_says_so(launch, everywhere):
    server = launch(EGRESS_ALLOW=None, DEV_MODE="true")
    assert attempt_to(Api(server), address_url("127.0.0.1", everywhere.port))["status"] == "success"
    assert "loopback" in server.text() or "127.0.0.0/8" in server.text()


def test_name_that_does_not_resolve(guarded):
    """A failed attempt with a code of its own, and retried."""
    guarded.tenant()
    guarded.destination("http://no-such-host.invalid/")
    attempts = guarded.attempted(guarded.publish()["id"], 2, seconds=30)
    assert [(a["status"], a["code"]) for a in attempts[:2]] == [("failed", "dns_error")] * 2


def test_nothing_is_resolved_at_create(guarded, clock):
    guarded.tenant()
    begin = clock()
    guarded.destination("http://no-such-host.invalid/")
    assert clock() - begin < 1
