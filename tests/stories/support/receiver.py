"""A receiver of webhooks on an event loop of its own: records what arrives, answers by plan, hundreds at once.

What it answers is in replies.py, the hostile ones too. SPDX-License-Identifier: Apache-2.0
"""
import asyncio
import socket
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

from . import replies
from .waiting import stays, wait_for


@dataclass
class Request:
    method: str
    target: str
    headers: list              # (name as sent, value)
    body: bytes
    local: str                 # the address it came in at
    connection: int            # number of the connection
    at: float = field(default_factory=time.monotonic)

    @property
    def path(self):
        return self.target.partition("?")[0]

    def header(self, name):
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return found[0] if found else None

    def names(self):
        return sorted(key.lower() for key, _ in self.headers)


class Receiver:
    def __init__(self, host="127.0.0.1", port=0, tls=None, family=socket.AF_INET):
        self._lock = threading.Lock()
        self._requests = []
        self._plans = defaultdict(list)
        self.connections = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._listener = socket.create_server((host, port), family=family, backlog=4096,
                                              dualstack_ipv6=family == socket.AF_INET6)
        self.port = self._listener.getsockname()[1]
        self._scheme = "https" if tls else "http"
        self._thread = threading.Thread(target=self._run, args=(tls,), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def url(self, path="/in", host="127.0.0.1", scheme=None):
        return "%s://%s:%d%s" % (scheme or self._scheme, host, self.port, path)

    def answer(self, path, *plan):
        """What to say at a path, one after another; the last one stays."""
        with self._lock:
            self._plans[path] = list(plan)

    def requests(self, path=None):
        with self._lock:
            return [request for request in self._requests if path in (None, request.path)]

    def wait(self, count=1, path="/in", seconds=10):
        """The requests at a path once there are so many."""
        wait_for(lambda: len(self.requests(path)) >= count, seconds,
                 "%d requests at %s (there were %d)" % (count, path, len(self.requests(path))))
        return self.requests(path)

    def stays_at(self, count, path="/in", seconds=2):
        """No request beyond so many arrives at the path for a while."""
        stays(lambda: len(self.requests(path)) <= count, seconds, "more than %d requests at %s" % (count, path))
        assert len(self.requests(path)) == count

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    # -- on the loop's thread

    def _run(self, tls):
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(lambda loop, context: None)     # peers that go away are no news
        self._loop.run_until_complete(asyncio.start_server(self._serve, sock=self._listener, ssl=tls, limit=1 << 20))
        self._ready.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._listener.close()
        self._loop.close()

    async def _serve(self, reader, writer):
        self.connections += 1
        number = self.connections
        try:
            while True:
                request = await self._read(reader, writer, number)
                if request is None or not await self._next(request)(request, writer):
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _read(self, reader, writer, number):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        method, target, _ = first.split(" ")
        headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines]
        length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
        body = await reader.readexactly(length)
        return Request(method, target, headers, body, writer.get_extra_info("sockname")[0], number)

    def _next(self, request):
        """Record the request, choose the answer."""
        with self._lock:
            self._requests.append(request)
            plan = self._plans[request.path]
            if not plan:
                return replies.say(200)
            return plan.pop(0) if len(plan) > 1 else plan[0]
