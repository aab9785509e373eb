"""Nothing set: the server makes its own secrets, prints its key once, lets nobody else in. SPDX-License-Identifier: Apache-2.0"""
import re
import stat

from support.api import Api

BARE = {"API_KEY": None, "API_JWT_SECRET": None}


def printed_key(server):
    """The admin key is the one text of its output that opens the door."""
    for word in dict.fromkeys(re.findall(r"[\w-]{16,}", server.text())):
        if Api(server, word).call("GET", "/api/v1/topics").status == 200:
            return word
    raise AssertionError("no admin key is printed\n" + server.tail())


def test_key_is_printed_once_and_kept(launch):
    server = launch(**BARE)
    key = printed_key(server)
    assert server.text().count(key) == 1
    server.restart()
    assert server.text().count(key) == 1
    assert Api(server, key).call("GET", "/api/v1/topics").status == 200


def test_secrets_are_private_files(launch):
    server = launch(**BARE)
    key = printed_key(server)
    holders = [path for path in server.data.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert holders, "the key must be found again by the operator"
    for path in holders:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_nobody_is_admin_without_a_key(launch):
    server = launch(**BARE)
    for key in ("", "k-admin-1", "null", "undefined"):
        assert Api(server, key).call("GET", "/api/v1/topics").status == 401
    assert Api(server).call("GET", "/api/v1/topics", headers={"Authorization": ""}).status == 401


def test_empty_key_is_no_open_door(launch):
    server = launch(API_KEY="")
    assert Api(server, "x").call("GET", "/api/v1/topics").status == 401


def test_open_door_is_a_decision_and_a_warning(launch):
    server = launch(API_KEY=None, API_AUTH="none")
    assert Api(server, "x").call("GET", "/api/v1/topics", headers={"Authorization": ""}).status == 200
    assert any(line.get("level") == "warn" for line in server.lines())
    server.restart()
    assert sum(1 for line in server.lines() if line.get("level") == "warn" and "API_AUTH" in str(line)) == 2


def test_tokens_survive_a_restart(launch):
    server = launch(API_JWT_SECRET=None)
    api = Api(server)
    api.tenant()
    token = api.expect(200, "GET", "/api/v1/tenants/acme/token")["token"]
    server.restart()
    assert Api(server, token).call("GET", "/api/v1/tenants/acme").status == 200


def test_credentials_are_not_in_clear_on_disk(launch, receiver):
    server = launch()
    api = Api(server)
    api.tenant()
    api.destination(receiver.url(), credentials={"secret": "very-secret-indeed"})
    server.stop()
    for path in server.data.rglob("*"):
        assert not path.is_file() or b"very-secret-indeed" not in path.read_bytes(), path
