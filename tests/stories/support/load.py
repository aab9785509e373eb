"""Publishers that never rest, with a ledger of what they were answered. SPDX-License-Identifier: Apache-2.0"""
import http.client
import json
import threading

from .server import KEY


class Load:
    """Threads that publish one event after another; a broken connection ends none of them, only that event.

    accepted   ids answered 202 (and not a duplicate)      refused   {status: count} of other answers
    unknown    ids without an answer: they may have been taken or not
    """

    def __init__(self, server, threads=4, tenant="acme", padding=200):
        self._server, self._tenant, self._padding = server, tenant, "x" * padding
        self._lock, self._end, self._count = threading.Lock(), threading.Event(), 0
        self.accepted, self.unknown, self.refused, self.without_retry_after = set(), set(), {}, 0
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._end.set()
        for thread in self._threads:
            thread.join(30)

    def _next(self):
        with self._lock:
            self._count += 1
            return "load-%07d" % self._count

    def _work(self):
        connection = None
        while not self._end.is_set():
            event = self._next()
            body = json.dumps({"id": event, "tenant_id": self._tenant, "topic": "load", "data": {"p": self._padding}})
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=20)
                    connection.connect()
            except OSError:
                connection = None
                self._end.wait(0.01)        # nobody listens: not even sent
                continue
            try:
                connection.request("POST", "/api/v1/publish", body, {"Authorization": "Bearer " + KEY})
                answer = connection.getresponse()
                self._note(event, answer, answer.read())
            except (OSError, http.client.HTTPException):
                connection.close()
                connection = None
                with self._lock:
                    self.unknown.add(event)

    def _note(self, event, answer, body):
        with self._lock:
            if answer.status == 202:
                self.accepted.add(event)
                return
            self.refused[answer.status] = self.refused.get(answer.status, 0) + 1
            if answer.status == 503 and not answer.headers.get("Retry-After"):
                self.without_retry_after += 1
        if answer.status == 503:
            self._end.wait(0.02)


def arrivals(receiver, path="/in"):
    """{event id: times of arrival}"""
    found = {}
    for request in receiver.requests(path):
        found.setdefault(request.header("x-outpost-event-id"), []).append(request.at)
    return found
