"""The endpoint that webhooks of a scenario go to: keeps what arrives by path, answers as the scenario planned.

Well-behaved on purpose; hostile receivers belong to the stories.
SPDX-License-Identifier: Apache-2.0
"""
import http.server
import queue
import threading
import time
from dataclasses import dataclass


@dataclass
class Arrival:
    method: str
    target: str
    headers: list          # (lower-case name, value), sorted
    body: bytes


class Receiver:
    def __init__(self, port=0):
        self._lock = threading.Lock()
        self._arrived = {}     # path -> queue of Arrival
        self._plans = {}       # path -> answers still to give; the last one stays
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        self.port = self._http.server_address[1]
        self.url = "http://127.0.0.1:%d" % self.port

    def close(self):
        self._http.shutdown()
        self._http.server_close()

    def plan(self, path, answers):
        with self._lock:
            self._plans[path] = list(answers)

    def take(self, path, seconds):
        """The oldest request at the path that was not taken yet; None when none comes in time."""
        try:
            return self._queue(path).get(timeout=seconds)
        except queue.Empty:
            return None

    def _queue(self, path):
        with self._lock:
            return self._arrived.setdefault(path, queue.Queue())

    def _next_answer(self, path):
        with self._lock:
            plan = self._plans.get(path)
            if not plan:
                return {}
            return plan.pop(0) if len(plan) > 1 else plan[0]

    def _handler(outer):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _body(self):
                if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                parts = []
                while (size := int(self.rfile.readline().split(b";")[0], 16)) > 0:
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)

            def _serve(self):
                headers = sorted((name.lower(), value) for name, value in self.headers.items())
                body = self._body()
                path = self.path.partition("?")[0]
                answer = outer._next_answer(path)
                outer._queue(path).put(Arrival(self.command, self.path, headers, body))
                time.sleep(float(answer.get("delay", 0)))
                text = answer.get("body", "").encode()
                self.send_response_only(int(answer.get("status", 200)))
                for name, value in answer.get("headers", {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

            def log_message(self, *arguments):
                pass
        return Handler
