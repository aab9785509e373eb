"""One request of a scenario over a connection of its own, and its answer with the headers that count.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import http.client
import urllib.parse
from dataclasses import dataclass

import jsontext
import placeholders

COMPARED = ("content-type", "location", "cache-control", "pragma", "expires", "allow", "www-authenticate",
            "access-control-allow-origin", "retry-after")
_HAVE_BODY = ("POST", "PUT", "PATCH")
_TIMEOUT = 30


@dataclass
class Answer:
    status: int
    headers: dict      # only those of COMPARED
    text: str

    def tree(self):
        """The body as a tree, or None if it is not JSON in the spelling of the API."""
        try:
            tree = jsontext.read(self.text)
        except ValueError:
            return None
        return tree if jsontext.spell(tree) == self.text else None


def _chunked(body):
    return (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"


def send(url, request, names):
    where = urllib.parse.urlsplit(url)
    headers = [(name, placeholders.fill(value, names)) for name, value in request.get("headers", {}).items()]
    if "body_b64" in request:
        body = base64.b64decode(request["body_b64"])
    else:
        body = placeholders.fill(request.get("body", ""), names).encode()
    if request.get("chunked"):
        headers.append(("Transfer-Encoding", "chunked"))
        body = _chunked(body)
    elif body or request["method"] in _HAVE_BODY:
        headers.append(("Content-Length", str(len(body))))
    own_host = any(name.lower() == "host" for name, _ in headers)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=_TIMEOUT)
    try:
        connection.putrequest(request["method"], placeholders.fill(request["path"], names),
                              skip_host=own_host, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders(body)
        got = connection.getresponse()
        kept = {name: ", ".join(got.headers.get_all(name)) for name in COMPARED if name in got.headers}
        return Answer(got.status, kept, got.read().decode("utf-8", "surrogateescape"))
    finally:
        connection.close()
