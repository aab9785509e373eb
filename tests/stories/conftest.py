"""Fixtures of the stories: each test has a server of its own in a data folder of its own.

    server     the program, with the settings of the `settings` mark; must end with status 0 and without undeclared errors
    launch     the same as a function, for tests that start several or later
    api        a client with the admin key;  receiver   a place that webhooks go to

SPDX-License-Identifier: Apache-2.0
"""
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.api import Api                     # noqa: E402
from support.receiver import Receiver           # noqa: E402
from support.server import BINARY, SLOWER, Server       # noqa: E402

_servers = pytest.StashKey()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test shows what its servers wrote."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for server in item.stash.get(_servers, []):
            if server.log.exists():
                report.sections.append(("log of %s" % server.folder.name, server.tail()))


@pytest.fixture(autouse=True)
def _time_limit(request):
    mark = request.node.get_closest_marker("limit")
    seconds = int((mark.args[0] if mark else 60) * SLOWER)

    def expired(number, frame):
        raise AssertionError("the test took longer than %d s" % seconds)
    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def launch(request, tmp_path):
    """launch(NAME="value", ...) starts a server; launch(start=False) only makes it. All are ended with the test."""
    assert BINARY.exists(), "%s is not built" % BINARY
    servers = request.node.stash.setdefault(_servers, [])

    def make(start=True, name=None, **settings):
        server = Server(tmp_path / (name or "server%d" % len(servers)), **settings)
        servers.append(server)
        return server.start() if start else server
    yield make
    faults = []
    for server in servers:
        try:
            server.stop()
        except AssertionError as fault:
            faults.append(str(fault))
        finally:
            if server.running():
                server.kill()
        if server.log.exists():
            faults += ["undeclared error line: " + line for line in server.undeclared_errors()]
    assert not faults, "\n".join(faults)


@pytest.fixture
def server(request, launch):
    settings = {}
    for mark in request.node.iter_markers("settings"):
        settings = {**mark.kwargs, **settings}
    return launch(**settings)


@pytest.fixture
def api(server):
    client = Api(server)
    yield client
    client.close()


@pytest.fixture
def receiver():
    place = Receiver()
    yield place
    place.close()


@pytest.fixture
def tls_receiver(tmp_path):
    """A receiver with a certificate that nobody trusts."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    place = Receiver(tls=context)
    yield place
    place.close()


@pytest.fixture
def hook(api, receiver):
    """Tenant acme with destination d1, a webhook to /in of the receiver, secret s3cret."""
    api.tenant()
    return api.destination(receiver.url(), credentials={"secret": "s3cret"})


@pytest.fixture
def clock():
    """Seconds since the test began."""
    begin = time.monotonic()
    return lambda: time.monotonic() - begin
