"""A client of the HTTP API over one kept connection, with the calls that stories make again and again.

Not thread-safe: each thread takes its own (`other()`). Never repeats a request by itself.
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import urllib.parse
from dataclasses import dataclass

from .server import KEY
from .waiting import wait_for

TIMEOUT = 30


@dataclass
class Answer:
    status: int
    headers: object
    body: bytes

    def json(self):
        return json.loads(self.body)

    def __str__(self):
        return "%d %s" % (self.status, self.body[:2000].decode("utf-8", "replace"))


class Api:
    def __init__(self, server, key=KEY):
        self._server, self._key = server, key
        self._connection, self._start = None, 0

    def other(self, key=None):
        return Api(self._server, key or self._key)

    def close(self):
        if self._connection:
            self._connection.close()
        self._connection = None

    def call(self, method, path, body=None, headers=None):
        """One request. A dict is sent as JSON, text and bytes as they are."""
        if self._start != self._server.starts:      # another process: the kept connection is of no use
            self.close()
            self._start = self._server.starts
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=TIMEOUT)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        sent = {"Authorization": "Bearer " + self._key, **(headers or {})}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        try:
            self._connection.request(method, path, body, sent)
            got = self._connection.getresponse()
            return Answer(got.status, got.headers, got.read())
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def expect(self, status, method, path, body=None):
        """The parsed answer, which must have this status."""
        answer = self.call(method, path, body)
        assert answer.status == status, "%s %s: %s" % (method, path, answer)
        return answer.json() if answer.body else None

    # -- nouns

    def tenant(self, tenant="acme"):
        answer = self.call("PUT", "/api/v1/tenants/" + tenant)
        assert answer.status in (200, 201), answer
        return answer.json()

    def destination(self, url, tenant="acme", topics="*", id="d1", **more):
        """A webhook destination; config and everything else can be given."""
        config = {"url": url, **more.pop("config", {})}
        body = {"id": id, "type": "webhook", "topics": topics, "config": config, **more}
        return self.expect(201, "POST", "/api/v1/tenants/%s/destinations" % tenant, body)

    def change(self, id="d1", tenant="acme", **members):
        return self.expect(200, "PATCH", "/api/v1/tenants/%s/destinations/%s" % (tenant, id), members)

    def turn(self, how, id="d1", tenant="acme"):
        """`enable` or `disable` a destination."""
        return self.expect(200, "PUT", "/api/v1/tenants/%s/destinations/%s/%s" % (tenant, id, how))

    def publish(self, data=None, tenant="acme", topic="order.placed", **more):
        """The answer's body; must be accepted."""
        body = {"tenant_id": tenant, "topic": topic, "data": {} if data is None else data, **more}
        return self.expect(202, "POST", "/api/v1/publish", body)

    def publish_text(self, data, tenant="acme", topic="order.placed", id=None):
        """Publish a payload by its very bytes; the Answer, whatever it is."""
        data = data.encode() if isinstance(data, str) else data
        head = {"tenant_id": tenant, "topic": topic}
        if id is not None:
            head["id"] = id
        return self.call("POST", "/api/v1/publish", json.dumps(head).encode()[:-1] + b', "data": ' + data + b"}")

    def event(self, id):
        return self.expect(200, "GET", "/api/v1/events/" + urllib.parse.quote(id))

    def events(self, **query):
        return self._models("/api/v1/events", query)

    def attempts(self, **query):
        """Attempts, oldest first unless told otherwise, with response_data."""
        return self._models("/api/v1/attempts", {"dir": "asc", "include": "response_data", **query})

    def _models(self, path, query):
        return self.expect(200, "GET", path + "?" + urllib.parse.urlencode(query))["models"]

    def attempted(self, event, count=1, seconds=10, **query):
        """The attempts of an event, once there are so many."""
        def enough():
            found = self.attempts(event_id=event, **query)
            return found if len(found) >= count else None
        return wait_for(enough, seconds, "%d attempts of event %s" % (count, event))

    def retry(self, event, destination="d1"):
        return self.call("POST", "/api/v1/retry", {"event_id": event, "destination_id": destination})
