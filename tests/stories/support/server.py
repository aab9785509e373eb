"""The real program as a child process: started, stopped, killed, watched through its log and /proc.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BINARY = Path(os.environ.get("OUTRIDER", ROOT / "build" / "outrider")).resolve()
KEY, TOKEN_SECRET = "k-admin-1", "jwt-secret-0451"
START_SECONDS, STOP_SECONDS = 15, 15
SLOWER = float(os.environ.get("SLOWER", "1"))     # factor for time limits of slow builds (sanitizers)

SETTINGS = {
    "API_KEY": KEY, "API_JWT_SECRET": TOKEN_SECRET, "TZ": "UTC",
    "EGRESS_ALLOW": "127.0.0.0/8,::1/128", "RETRY_JITTER": "0", "RETRY_SCHEDULE": "1,1",
    "DELIVERY_TIMEOUT_SECONDS": "3",
}
_ERRORS = ("error", "dpanic", "panic", "fatal")
_SANITIZERS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:")


def free_port():
    """Below the range of outgoing connections, so that nothing takes it meanwhile."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("0.0.0.0", port))
                return port
            except OSError:
                continue


class Server:
    def __init__(self, folder, **settings):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = self.folder / "data"
        self.log = self.folder / "server.log"
        self.port = free_port()
        self.url = "http://127.0.0.1:%d" % self.port
        self.settings = {**SETTINGS, **settings}
        self.process = None
        self.starts = 0
        self._expected = []

    # -- life

    def environment(self):
        own = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder), "API_PORT": str(self.port),
               "DATA_DIR": str(self.data)}
        kept = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
                if name in os.environ}
        return {**own, **kept, **{name: value for name, value in self.settings.items() if value is not None}}

    def spawn(self):
        """Start without waiting."""
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen([str(BINARY), "serve"], cwd=self.folder, env=self.environment(),
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.starts += 1

    def start(self):
        self.spawn()
        end = time.monotonic() + START_SECONDS * SLOWER
        while not self.healthy():
            assert self.process.poll() is None, "the server ended by itself, status %s\n%s" % (
                self.process.returncode, self.tail())
            assert time.monotonic() < end, "the server is not healthy\n" + self.tail()
            time.sleep(0.02)
        return self

    def healthy(self):
        try:
            with urllib.request.urlopen(self.url + "/healthz", timeout=2) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self, seconds=STOP_SECONDS):
        """As an operator stops it: SIGTERM, then exit status 0 in time."""
        if self.process is None:
            return
        assert self.running(), "the server had ended by itself, status %s\n%s" % (self.process.returncode, self.tail())
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(seconds * SLOWER)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("the server did not stop within %g s\n%s" % (seconds, self.tail())) from None
        self.process = None
        assert status == 0, "the server ended with status %d\n%s" % (status, self.tail())

    def kill(self):
        """No chance to say goodbye."""
        self.process.kill()
        self.process.wait()
        self.process = None

    def restart(self):
        self.stop()
        return self.start()

    # -- the log

    def lines(self, message=None):
        """Log lines as dicts, or those with this message."""
        found = []
        for line in self.log.read_text("utf-8", "replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"level": "", "msg": line}
            if isinstance(entry, dict) and message in (None, entry.get("msg")):
                found.append(entry)
        return found

    def text(self):
        return self.log.read_text("utf-8", "replace")

    def tail(self, count=60):
        return "\n".join("    | " + line for line in self.text().splitlines()[-count:])

    def expect_error(self, part):
        """Declare error lines of this test: those that contain the text."""
        self._expected.append(part)

    def undeclared_errors(self):
        found = []
        for entry in self.lines():
            text = json.dumps(entry)
            bad = entry.get("level") in _ERRORS or any(mark in text for mark in _SANITIZERS)
            if bad and not any(part in text for part in self._expected):
                found.append(text)
        return found

    # -- size

    def _status(self, name):
        for line in Path("/proc/%d/status" % self.process.pid).read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no %s in /proc" % name)

    def memory(self):
        """Resident bytes now."""
        return self._status("VmRSS")

    def peak_memory(self):
        return self._status("VmHWM")
