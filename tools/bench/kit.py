"""The parts of the benchmark: children that end with us, nginx and wrk, server, load, sink, ledgers.

What is measured and printed is in `bench`; the C programs are load.c and sink.c. Only loopback is used.
SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import http.client
import json
import mmap
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
KEY = "bench-key-0123456789abcdef"
TICKS = os.sysconf("SC_CLK_TCK")

LOAD_HEAD, LOAD_ROW = struct.Struct("<8Q"), struct.Struct("<QI36s")     # bench.h: load_head, load_row
SINK_HEAD, SINK_ROW = struct.Struct("<8Q"), struct.Struct("<QII")       # bench.h: sink_head, sink_row
LOAD_FIELDS = "magic capacity issued accepted refused other broken late".split()
SINK_FIELDS = "magic capacity received duplicates strange".split()
LOAD_MAGIC, SINK_MAGIC = 0x3164616f6c2d726f, 0x316b6e69732d726f


class Fault(Exception):
    """The run cannot go on, or its result is wrong; the text says why."""


# -- children

_children = []
_libc = ctypes.CDLL(None)


def _die_with_parent():
    _libc.prctl(1, signal.SIGKILL)      # PR_SET_PDEATHSIG


def spawn(command, **more):
    child = subprocess.Popen([str(word) for word in command], preexec_fn=_die_with_parent, start_new_session=True,
                             stdin=subprocess.DEVNULL, **more)
    _children.append(child)
    return child


def _kill(child):
    """The child and what it started itself: each child leads a process group."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def end(child, seconds=10):
    """SIGTERM, then SIGKILL; returns (status, seconds it took)."""
    began = time.monotonic()
    if child.poll() is None:
        child.terminate()
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        _kill(child)
    if child in _children:
        _children.remove(child)
    return child.returncode, time.monotonic() - began


def end_all():
    for child in _children:
        _kill(child)
    _children.clear()


def program(name):
    """A program that we build (BENCH_LOAD and BENCH_SINK name others), or one of the system's."""
    for path in (os.environ.get(name.upper().replace("-", "_")), ROOT / "build" / name, ROOT / "build" / "tools" / "bench" / name, shutil.which(name)):
        if path and os.access(path, os.X_OK):
            return str(path)
    raise Fault("%s is missing: build it, or install it" % name)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu_seconds(pid):
    """User and system time of a process, its threads included."""
    fields = Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(pid):
    """Resident memory by /proc's names, in MB of 1024 * 1024 bytes."""
    text = Path("/proc/%d/status" % pid).read_text()
    return {name: round(int(kb) / 1024, 1) for name, kb in re.findall(r"^(VmHWM|VmRSS|Rss\w+):\s+(\d+) kB", text, re.M)}


# -- the yardsticks

# One process that is the worker itself: a master killed with us would leave its worker behind.
NGINX = """worker_processes 1; daemon off; master_process off; pid %(at)s/pid; error_log stderr error;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000000; client_body_temp_path %(at)s/1; proxy_temp_path %(at)s/2;
fastcgi_temp_path %(at)s/3; uwsgi_temp_path %(at)s/4; scgi_temp_path %(at)s/5;
server { listen 127.0.0.1:%(port)d backlog=1024; location / { return 202; } } }
"""
POST = """wrk.method = "POST"
wrk.body = '{"tenant_id":"bench-1","topic":"order.created","data":{"pad":"' .. string.rep("x", 960) .. '"}}'
wrk.headers["Content-Type"] = "application/json"
"""


def wrk(url, seconds, script=None, want_2xx=True):
    """Requests per second over 64 connections from one thread; all answers must be of the kind wanted."""
    command = [program("wrk"), "-t1", "-c64", "-d%ds" % seconds] + (["-s", str(script)] if script else []) + [url]
    child = spawn(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text = child.communicate(timeout=seconds + 30)[0]
    end(child)
    rate, total = re.search(r"Requests/sec:\s+([\d.]+)", text), re.search(r"(\d+) requests in", text)
    others = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    bad = int(others[1]) if others else 0
    if not rate or not total or bad != (0 if want_2xx else int(total[1])) or "Socket errors" in text:
        raise Fault("wrk on %s: unexpected answers\n%s" % (url, text))
    return float(rate[1])


class Yardstick:
    """Y: nginx with one worker answers `return 202` to wrk's POSTs of the same size. Median of its rounds."""

    def __init__(self, folder, given=None):
        self.given, self.rounds = given, []
        if given:
            return
        folder.mkdir()
        self.port, self.script = free_port(), folder / "post.lua"
        (folder / "nginx.conf").write_text(NGINX % {"at": folder, "port": self.port})
        self.script.write_text(POST)
        folder.chmod(0o755)
        self.child = spawn([program("nginx"), "-e", "stderr", "-p", folder, "-c", folder / "nginx.conf"])
        wait_for(lambda: can_connect(self.port) or self.child.poll() is not None, 10, "nginx does not start")

    def round(self, seconds=3):
        if not self.given:
            self.rounds.append(wrk("http://127.0.0.1:%d/" % self.port, seconds, self.script))

    @property
    def value(self):
        if self.given:
            return self.given
        ordered = sorted(self.rounds)
        middle = len(ordered) // 2
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def sync_ms(folder, times=200):
    """S: median of fdatasync after 16 records of 1.3 KB into a file written before."""
    record, took = b"x" * (16 * 1331), []
    fd = os.open(folder / "sync", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.pwrite(fd, b"\0" * (len(record) * times), 0)
        os.fsync(fd)
        for i in range(times):
            os.pwrite(fd, record, i * len(record))
            began = time.perf_counter()
            os.fdatasync(fd)
            took.append(time.perf_counter() - began)
    finally:
        os.close(fd)
        (folder / "sync").unlink()
    return sorted(took)[times // 2] * 1000


def file_system(path):
    best = ("", "unknown")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        mount, kind = line.split()[1:3]
        inside = str(path) == mount or str(path).startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best[0]):
            best = (mount, kind)
    return best[1]


def wait_for(condition, seconds, text):
    until = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > until:
            raise Fault(text)
        time.sleep(0.05)


def can_connect(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


# -- server, load, sink

class Http:
    """One keep-alive connection, made again when the peer closed it while it was idle."""

    def __init__(self, host, port):
        self.connection = http.client.HTTPConnection(host, port, timeout=30)

    def call(self, method, path, body=None, want=(200, 201, 202)):
        headers = {"Authorization": "Bearer " + KEY}
        if body is not None:
            body, headers["Content-Type"] = json.dumps(body), "application/json"
        try:
            answer, text = self.exchange(method, path, body, headers)
        except (OSError, http.client.HTTPException) as why:
            raise Fault("%s %s: %r" % (method, path, why)) from None
        if answer.status not in want:
            raise Fault("%s %s answered %d: %s" % (method, path, answer.status, text[:300]))
        return json.loads(text) if text.startswith(("{", "[")) else text

    def exchange(self, method, path, body, headers, again=True):
        try:
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
            return answer, answer.read().decode("utf-8", "replace")
        except (ConnectionError, http.client.RemoteDisconnected):
            self.connection.close()
            if not again or method == "POST":
                raise
            return self.exchange(method, path, body, headers, again=False)


class Server:
    """The program under test, embedded, in a data folder of its own."""

    def __init__(self, path, folder, settings):
        self.folder, self.port = folder, free_port()
        folder.mkdir()
        self.settings = {"API_KEY": KEY, "API_PORT": str(self.port), "DATA_DIR": str(folder / "data"),
                         "EGRESS_ALLOW": "127.0.0.0/8", "LOG_LEVEL": "warn", **settings}
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(folder), **self.settings}
        self.log = folder / "log"
        with open(self.log, "wb") as log:
            self.child = spawn(path.split() + ["serve"], cwd=folder, env=environment, stdout=log, stderr=log)
        wait_for(lambda: can_connect(self.port) or self.child.poll() is not None, 15, "the server does not listen")
        self.check()
        self.api = Http("127.0.0.1", self.port)
        self.api.call("GET", "/healthz")

    def check(self):
        if self.child.poll() is not None:
            raise Fault("the server ended with status %d:\n%s" % (self.child.returncode, self.tail()))

    def tail(self):
        return self.log.read_text("utf-8", "replace")[-2000:]

    def prepare(self, prefix, urls):
        """One tenant for each URL, with one destination that wants all topics."""
        for number, url in enumerate(urls):
            tenant = "/api/v1/tenants/%s%d" % (prefix, number)
            self.api.call("PUT", tenant)
            self.api.call("POST", tenant + "/destinations", {"type": "webhook", "topics": ["*"], "config": {"url": url}})

    def attempts(self, event_id):
        return self.api.call("GET", "/api/v1/attempts?include=response_data&event_id=" + event_id)["models"]

    def recorded(self, event_id):
        """True when the log has a successful attempt of the event."""
        return any(attempt["status"] == "success" for attempt in self.attempts(event_id))

    def cpu(self):
        return cpu_seconds(self.child.pid)

    def memory(self):
        return memory_mb(self.child.pid)

    def stop(self):
        """Ends it and removes its folder; a status other than 0 is a fault."""
        self.check()
        status, took = end(self.child, 30)
        if status:
            raise Fault("the server stopped with status %d:\n%s" % (status, self.tail()))
        shutil.rmtree(self.folder)
        return took


class Ledger:
    """A head of live counters and a row for each seq, in a file that a C program maps."""

    def __init__(self, path, head, fields, row, magic):
        self.path, self.head, self.fields, self.row = path, head, fields, row
        with open(path, "rb") as f:
            self.map = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        if self.count("magic") != magic:
            raise Fault("%s is no ledger of this kit" % path)

    def count(self, field):
        return self.head.unpack_from(self.map)[self.fields.index(field)]

    def rows(self, first, last):
        at = self.head.size
        return self.row.iter_unpack(memoryview(self.map)[at + first * self.row.size:at + last * self.row.size])


class Sink:
    def __init__(self, folder, name, address, count, hang=None, capacity=1 << 24):
        path = folder / (name + ".ledger")
        command = [program("bench-sink"), "--address", address, "--count", count,
                   "--ledger", path, "--capacity", capacity] + (["--hang", hang] if hang else [])
        self.child = spawn(command, stdout=subprocess.PIPE, text=True)
        line = self.child.stdout.readline()
        if not line:
            raise Fault("bench-sink did not start")
        self.addresses = json.loads(line)
        self.urls = ["http://%s%s" % (a, hang or "/hook") for a in self.addresses]
        host, port = self.addresses[0].split(":")
        self.http = Http(host, int(port))
        self.ledger = Ledger(path, SINK_HEAD, SINK_FIELDS, SINK_ROW, SINK_MAGIC)

    def stats(self):
        return self.http.call("GET", "/bench/stats")

    def reset(self):
        return self.http.call("GET", "/bench/reset")

    def received(self):
        return self.ledger.count("received")

    def stop(self):
        end(self.child)
        self.ledger.path.unlink()


class Load:
    def __init__(self, folder, name, server, capacity=1 << 24, **options):
        self.path = folder / (name + ".ledger")
        command = [program("bench-load"), "--port", server.port, "--key", KEY,
                   "--ledger", self.path, "--capacity", capacity]
        for option, value in options.items():
            command += ["--" + option, value]
        self.path.unlink(missing_ok=True)
        self.began = time.monotonic()
        self.child = spawn(command, stdout=subprocess.PIPE, text=True)
        size = LOAD_HEAD.size + capacity * LOAD_ROW.size
        self.ledger = None
        wait_for(lambda: self._open(size), 10, "bench-load did not start")

    def _open(self, size):
        if not self.path.exists() or self.path.stat().st_size != size:
            return False
        try:
            self.ledger = Ledger(self.path, LOAD_HEAD, LOAD_FIELDS, LOAD_ROW, LOAD_MAGIC)
        except Fault:       # not filled in yet
            return False
        return True

    def accepted(self):
        return self.ledger.count("accepted")

    def report(self, seconds):
        """Waits for its end."""
        try:
            text = self.child.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            raise Fault("bench-load does not end") from None
        end(self.child)
        if self.child.returncode:
            raise Fault("bench-load ended with status %d" % self.child.returncode)
        return json.loads(text)

    def stop(self):
        self.child.terminate()
        return self.report(30)

    def newest_accepted(self, count):
        """Ids of the last accepted events."""
        last = self.ledger.count("issued")
        rows = [row for row in self.ledger.rows(max(0, last - 20 * count), last) if row[1] == 202]
        return [row[2].rstrip(b"\0").decode() for row in rows[-count:]]


def compare(load, sink):
    """Every accepted event must have arrived, under the id that was answered."""
    result = dict.fromkeys(("accepted", "received", "missing", "duplicates", "wrong_id", "not_accepted"), 0)
    examples, last = [], load.count("issued")
    for (id_hash, status, event_id), (seen_hash, times, _) in zip(load.rows(0, last), sink.rows(0, last)):
        result["received"] += times > 0
        result["duplicates"] += times - 1 if times else 0
        if status == 202:
            result["accepted"] += 1
            result["missing"] += not times
            result["wrong_id"] += times > 0 and id_hash != seen_hash
            if not times and len(examples) < 5:
                examples.append(event_id.rstrip(b"\0").decode("ascii", "replace"))
        else:
            result["not_accepted"] += times > 0
    return {**result, "strange": sink.count("strange"), "missing_examples": examples}
