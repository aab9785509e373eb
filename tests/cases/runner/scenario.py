"""A scenario file, and playing its steps against a server. README.md beside this folder describes the format.

Each step ends as a list of differences; none means that it passed.
SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import hmac
import http.client
import json
import re
import secrets
import time
from pathlib import Path

import client
import compare
import jsontext
import placeholders
import tokens
from compare import Difference

_STEP_GAP = 0.003      # so that two creations never share a millisecond
_POLL = 0.1
_NOT_COMPARED = ("host", "user-agent", "accept-encoding", "connection", "accept", "content-length")


class Scenario:
    def __init__(self, path):
        self.path = Path(path)
        with open(path, encoding="utf-8") as lines:
            numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        head = json.loads(numbered[0][1])
        self.name, self.server = head["name"], head["server"]
        self.steps = [Step(number, line) for number, line in numbered[1:]]


class Step:
    """Members of a step as plain dicts; what is expected as trees, since order and spelling count there."""

    def __init__(self, line_number, line):
        self.line = line_number
        self.given = json.loads(line)
        whole = jsontext.read(line)
        self.response = whole.get("response")
        self.received = whole.get("received")
        self.note = self.given.get("note", "")


class Player:
    def __init__(self, url, receiver, key, secret):
        self.url, self.receiver = url, receiver
        self.fixed = {"KEY": key, "SECRET": secret, "RECEIVER": receiver.url,
                      "HOST": url.split("://", 1)[1].rstrip("/")}
        self.names = {}

    def begin(self):
        """A new scenario: every name but the fixed ones is forgotten."""
        self.names = dict(self.fixed, RUN="r" + secrets.token_hex(5))

    def play(self, step):
        try:
            return self._play(step)
        except (OSError, http.client.HTTPException) as error:
            return [Difference("request", "an answer", "%s: %s" % (type(error).__name__, error))]
        except ValueError as error:
            return [Difference("scenario", "a step that can be played", str(error))]

    def _play(self, step):
        given = step.given
        time.sleep(_STEP_GAP + float(given.get("pause", 0)))
        for name, (function, *arguments) in given.get("let", {}).items():
            self.names[name] = self._compute(function, [placeholders.fill(text, self.names) for text in arguments])
        if "answer" in given:
            self.receiver.plan(placeholders.fill(given["answer"]["path"], self.names), given["answer"]["with"])
        found = []
        if "request" in given:
            answer = self._ask(given)
            found += self._judge_answer(step, answer) + self._save(given, answer)
        if "receive" in given:
            found += self._judge_arrival(step)
        return found

    @staticmethod
    def _compute(function, arguments):
        if function == "text":
            return arguments[0]
        if function == "repeat":
            return arguments[0] * int(arguments[1])
        if function == "now":
            return time.strftime(arguments[1], time.gmtime(time.time() + int(arguments[0])))
        if function == "cursor":
            return tokens.cursor(arguments[0])
        if function == "jwt":
            return tokens.token(*arguments)
        raise ValueError("the scenario uses an unknown function %r" % function)

    def _ask(self, given):
        wait = given.get("wait")
        end = time.monotonic() + float(wait.get("seconds", 20) if wait else 0)
        while True:
            answer = client.send(self.url, given["request"], self.names)
            if not wait or time.monotonic() >= end or self._awaited(wait, answer):
                return answer
            time.sleep(_POLL)

    def _awaited(self, wait, answer):
        value = jsontext.at(answer.tree(), placeholders.fill(wait["for"], self.names))
        if value is None:
            return False
        return "equals" not in wait or jsontext.plain(value) == placeholders.fill(wait["equals"], self.names)

    def _judge_answer(self, step, answer):
        want = step.response
        if want is None:
            return [Difference("scenario", "a recorded response", "none")]
        status = want.get("status").text
        if status != str(answer.status):
            return [Difference("status", status, "%d %s" % (answer.status, answer.text))]
        found = []
        if "headers" in want:
            found += compare.header_maps("headers", dict(want.get("headers").pairs), answer.headers, self.names)
        if "text" in want:
            found += self._judge_text(step, want.get("text"), answer.text)
        elif "body" in want:
            found += self._judge_body(step, want.get("body"), answer)
        return found

    def _judge_text(self, step, want, got):
        mask = step.given.get("mask")
        if mask:     # the parts that the mask finds were taken out of the recording in the same way
            got = re.sub(mask, "{{any}}", got)
        return compare.texts("text", want, got, self.names)

    def _judge_body(self, step, want, answer):
        got = answer.tree()
        if got is None:
            return [Difference("body", placeholders.fill(jsontext.spell(want), self.names), answer.text or "(empty)")]
        places = step.given.get("unordered")
        if places:
            want = compare.filled(want, self.names)
            compare.sort_at(want, places)
            compare.sort_at(got, places)
        return compare.trees("body", want, got, self.names)

    def _save(self, given, answer):
        found, tree = [], answer.tree() if given.get("save") else None
        for name, place in given.get("save", {}).items():
            value = jsontext.at(tree, place)
            if isinstance(value, str):
                self.names[name] = value
            else:
                found.append(Difference("save " + name, "a text at " + place, "nothing"))
        return found

    def _judge_arrival(self, step):
        receive, want = step.given["receive"], step.received
        arrival = self.receiver.take(placeholders.fill(receive["path"], self.names), float(receive.get("seconds", 20)))
        if want is None:
            return [Difference("scenario", "a recorded arrival", "none")]
        if "nothing" in want:
            return [Difference("received", "nothing", "%s %s %r" % (arrival.method, arrival.target, arrival.body))] \
                if arrival else []
        if arrival is None:
            return [Difference("received", "%s %s" % (want.get("method"), want.get("path")), "nothing in time")]
        found = compare.texts("received.method", want.get("method"), arrival.method, self.names)
        found += compare.texts("received.path", want.get("path"), arrival.target, self.names)
        kept = {}
        for name, value in arrival.headers:
            if name not in _NOT_COMPARED:
                kept[name] = kept[name] + ", " + value if name in kept else value
        if "headers" in want:
            found += compare.header_maps("received.headers", dict(want.get("headers").pairs), kept, self.names)
        if "secret" in receive:
            found += self._judge_signature(placeholders.fill(receive["secret"], self.names), kept, arrival.body)
        return found + self._judge_payload(want, arrival.body)

    @staticmethod
    def _judge_signature(secret, headers, body):
        good = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        given = {name: value for name, value in headers.items() if name.endswith("signature")}
        if any(good in re.split(r"[,=\s]", value) for value in given.values()):
            return []
        return [Difference("received.signed", good, ", ".join(given.values()) or "no signature")]

    def _judge_payload(self, want, body):
        text = body.decode("utf-8", "replace")
        if "text" in want:
            return compare.texts("received.text", want.get("text"), text, self.names)
        try:
            return compare.trees("received.body", want.get("body"), jsontext.read(text), self.names)
        except ValueError:
            return [Difference("received.body", jsontext.spell(want.get("body")), text)]
