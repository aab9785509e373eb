"""Starts the real server, one configuration at a time, with a data folder and a port of its own.

The configurations are those that the scenarios name. Nothing of the caller's environment reaches the server.
SPDX-License-Identifier: Apache-2.0
"""
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

KEY, SECRET = "k-admin-1", "jwt-secret-0451"
_START_SECONDS, _STOP_SECONDS = 20, 20
_LOG_LINES = 40

_ALL = {
    "API_KEY": KEY, "API_JWT_SECRET": SECRET, "TZ": "UTC",
    "DELIVERY_MAX_CONCURRENCY": "1", "RETRY_SCHEDULE": "2,2", "RETRY_VISIBILITY_TIMEOUT_SECONDS": "2",
    "LOG_BATCH_THRESHOLD_SECONDS": "1",
    "EGRESS_ALLOW": "127.0.0.0/8,::1/128", "RETRY_JITTER": "0", "LOG_UNMATCHED": "false",
}
_TOPICS = {"TOPICS": "order.placed,order.shipped,user.created"}
CONFIGURATIONS = {
    "main": _TOPICS,
    "notopics": {
        "TOPICS_ALLOW_WILDCARDS": "true", "DEPLOYMENT_ID": "dp_blue", "IDGEN_TYPE": "nanoid",
        "IDGEN_EVENT_PREFIX": "evt_", "IDGEN_DESTINATION_PREFIX": "des_", "IDGEN_ATTEMPT_PREFIX": "att_"},
    "standard": {
        **_TOPICS, "TOPICS_ALLOW_WILDCARDS": "true", "DESTINATIONS_WEBHOOK_MODE": "standard",
        "MAX_DESTINATIONS_PER_TENANT": "3", "IDGEN_TYPE": "uuidv7",
        "OPERATOR_EVENTS_HTTP_URL": "{{RECEIVER}}/ops", "OPERATOR_EVENTS_HTTP_SIGNING_SECRET": "ops-secret",
        "OPERATOR_EVENTS_TOPICS": "tenant.subscription.updated,attempt.success,attempt.failed"},
    "open": {"API_KEY": "", "TOPICS": "", "API_AUTH": "none", "GIN_MODE": "debug", "PORTAL_PROXY_URL": "{{RECEIVER}}"},
    "log": {**_TOPICS, "SERVICE": "log"},
    "delivery": {**_TOPICS, "SERVICE": "delivery"},
    "api": {**_TOPICS, "SERVICE": "api"},
}


class StartError(Exception):
    pass


def free_port():
    """A port below the range that outgoing connections take theirs from."""
    for _ in range(200):
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("0.0.0.0", port))
                return port
            except OSError:
                continue
    raise StartError("no free port was found")


class Server:
    def __init__(self, binary, name, receiver_url, keep=False):
        if name not in CONFIGURATIONS:
            raise StartError("no configuration is called %s" % name)
        self.name, self.keep = name, keep
        self.folder = Path(tempfile.mkdtemp(prefix="outrider-cases-%s-" % name))
        self.log = self.folder / "server.log"
        port = free_port()
        self.url = "http://127.0.0.1:%d" % port
        settings = {**_ALL, **CONFIGURATIONS[name]}
        environment = {key: value.replace("{{RECEIVER}}", receiver_url) for key, value in settings.items()}
        environment.update(PATH=os.environ.get("PATH", ""), HOME=str(self.folder), API_PORT=str(port),
                           DATA_DIR=str(self.folder / "data"))
        environment.update({key: os.environ[key] for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
                            if key in os.environ})
        with open(self.log, "wb") as out:
            try:
                self._process = subprocess.Popen([str(Path(binary).resolve()), "serve"], cwd=self.folder,
                                                 env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            except OSError as error:
                raise StartError("%s can't be started: %s" % (binary, error.strerror)) from error
        self._wait_ready()

    def _wait_ready(self):
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            if not self.alive():
                raise StartError("the server ended by itself, status %d\n%s" % (self._process.returncode, self.tail()))
            try:
                with urllib.request.urlopen(self.url + "/healthz", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        self._process.kill()
        raise StartError("the server did not become healthy in %d s\n%s" % (_START_SECONDS, self.tail()))

    def alive(self):
        return self._process.poll() is None

    def tail(self):
        """The last lines of its log, indented."""
        lines = self.log.read_text("utf-8", "replace").splitlines()[-_LOG_LINES:]
        return "\n".join("    | " + line for line in lines) or "    | (the server wrote nothing)"

    def stop(self):
        """Stop as an operator would. Returns what was wrong with the end, or None."""
        fault = None if self.alive() else "the server had ended by itself, status %d" % self._process.returncode
        if fault is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                status = self._process.wait(_STOP_SECONDS)
                fault = "the server ended with status %d" % status if status else None
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                fault = "the server did not stop in %d s" % _STOP_SECONDS
        return fault

    def clean(self):
        if not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)
