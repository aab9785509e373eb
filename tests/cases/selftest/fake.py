"""A server of canned answers for the runner's self-test. POST /deliver/<path> sends a signed webhook first.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import hmac
import http.server
import threading
import time
import urllib.request

import tokens

JSON = "application/json; charset=utf-8"
SECRET = "jwt-secret-0451"


def _now(fraction=""):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + fraction + "Z"


def _token(issuer):
    at = int(time.time())
    return tokens.token('{"alg":"HS256","typ":"JWT"}',
                        '{"exp":%d,"iat":%d,"iss":"%s","sub":"acme"}' % (at + 86400, at, issuer), SECRET)


# path -> status, extra headers, body; a function is called for each request
ANSWERS = {
    "/plain": (200, {"Content-Type": JSON}, '{"a":1.0,"b":["x","\\u003cy\\u003e"],"c":null}'),
    "/order": (200, {"Content-Type": JSON}, '{"ids":["b","c","a"]}'),
    "/loose": (200, {"Content-Type": JSON}, '{"a": 1}'),
    "/none": (404, {"Content-Type": "text/plain"}, "404 page not found"),
    "/moved": (301, {"Location": "/plain", "Content-Type": "text/html"}, ""),
    "/private": (200, {"Content-Type": JSON, "Cache-Control": "no-store"}, "{}"),
    "/times": lambda: (200, {"Content-Type": JSON}, '{"ms":"%s","old":"2020-01-01T00:00:00Z","zero":"%s"}'
                       % (_now(".12"), _now(".120"))),
    "/ids": (200, {"Content-Type": JSON}, '{"four":"0b6c6f0e-6d3e-4f57-9c0a-3f1d2b4c5d6e",'
             '"seven":"0b6c6f0e-6d3e-7f57-9c0a-3f1d2b4c5d6e","n":17,"next":"%s"}' % tokens.cursor("evtv01:12::e1")),
    "/token": lambda: (200, {"Content-Type": JSON}, '{"token":"%s"}' % _token("outpost")),
    "/foreign": lambda: (200, {"Content-Type": JSON}, '{"token":"%s"}' % _token("someone")),
    "/script": (200, {"Content-Type": "text/javascript"}, 'x = {"b":1,"a":2};'),
}


class Fake:
    def __init__(self):
        self._asked = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path == "/raises":      # no answer at all
                    self.close_connection = True
                    return
                status, headers, text = outer.answer(self.command, self.path, self.headers, body)
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = do_PUT = _serve

            def log_message(self, *arguments):
                pass
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self._http.server_address[1]

    def close(self):
        self._http.shutdown()
        self._http.server_close()

    def answer(self, method, path, headers, body):
        if path.startswith("/deliver/"):
            return self._deliver(headers["X-Receiver"] + path[len("/deliver"):], body)
        if path == "/echo":
            return 200, {"Content-Type": JSON}, body.decode()
        if path == "/slowly":       # the third request finds what it waits for
            self._asked += 1
            return 200, {"Content-Type": JSON}, '{"models":[]}' if self._asked < 3 else '{"models":[{"n":3}]}'
        found = ANSWERS[path]
        return found() if callable(found) else found

    @staticmethod
    def _deliver(url, body):
        sign = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
        headers = {"Content-Type": "application/json", "X-Outpost-Signature": "v0=0000," + sign, "X-Team": "blue"}
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as got:
            return 200, {"Content-Type": JSON}, '{"status":%d,"said":"%s"}' % (got.status, got.read().decode())
