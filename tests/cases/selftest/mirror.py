"""Plays a recording against its own answers, without any server: each hole is filled with a value of its kind.

Every step must pass as recorded, and must fail once its answer is changed in one place.
SPDX-License-Identifier: Apache-2.0
"""
import copy
import hashlib
import hmac
import re
import secrets
import time
import uuid

import client
import jsontext
import placeholders
import scenario as scenarios
import tokens
from jsontext import Members, Number
from receiver import Arrival

SECRET = "jwt-secret-0451"
_HOLE = re.compile(r"\{\{([a-z][a-z0-9]*(?::[a-z]+)?)\}\}")


def _time(digits):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ("." + "1" * digits if digits else "") + "Z"


def _jwt():
    at = int(time.time())
    return tokens.token('{"alg":"HS256","typ":"JWT"}',
                        '{"exp":%d,"iat":%d,"iss":"outpost","sub":"x"}' % (at + 86400, at), SECRET)


_MAKE = {
    "time:s": lambda: _time(0), "time:ms": lambda: _time(3), "time:us": lambda: _time(6), "time:ns": lambda: _time(9),
    "id:des": lambda: str(uuid.uuid4()), "id:evt": lambda: str(uuid.uuid4()), "id:att": lambda: str(uuid.uuid4()),
    "nanoid": lambda: secrets.token_hex(13), "jwt": _jwt, "hex64": lambda: secrets.token_hex(32),
    "base64": lambda: "YQ==", "int": lambda: "17", "any": lambda: "presentation",
    "cursor:tnt": lambda: tokens.cursor("tntv01:5"), "cursor:evt": lambda: tokens.cursor("evtv01:5::e"),
    "cursor:att": lambda: tokens.cursor("attv01:5::a"), "uuid7": lambda: "0b6c6f0e-6d3e-7f57-9c0a-" + secrets.token_hex(6),
}


def _text(text, names):
    return _HOLE.sub(lambda hole: _MAKE[hole[1]](), placeholders.fill(text, names))


def _tree(tree, names, key=""):
    if isinstance(tree, str):
        return Number("17") if tree == "{{int}}" and not key.endswith("timestamp") else _text(tree, names)
    if isinstance(tree, list):
        return [_tree(item, names, key) for item in tree]
    if isinstance(tree, Members):
        return Members((_text(name, names), _tree(value, names, name)) for name, value in tree.pairs)
    return tree


class _Mirror(scenarios.Player):
    """A player whose server and receiver hand out what is recorded; `spoil` changes it first."""

    class _Nowhere:
        url = "http://127.0.0.1:1"

        def plan(self, path, answers):
            pass

    def __init__(self):
        super().__init__("http://127.0.0.1:1", self._Nowhere(), "k-admin-1", SECRET)
        self.step, self.spoil = None, False

    def _ask(self, given):
        want = self.step.response
        headers = {name: _text(value, self.names) for name, value in want.get("headers").pairs}
        if "text" in want:
            body = _text(want.get("text"), self.names)
        else:
            body = jsontext.spell(_tree(want.get("body"), self.names))
        if self.spoil:
            return client.Answer(int(want.get("status").text), headers, _spoilt(body))
        return client.Answer(int(want.get("status").text), headers, body)

    def _judge_arrival(self, step):
        self.receiver.take = lambda path, seconds: self._arrival(step)
        return super()._judge_arrival(step)

    def _arrival(self, step):
        want, receive = step.received, step.given["receive"]
        if "nothing" in want:
            return Arrival("POST", "/", [], b"") if self.spoil else None
        if "text" in want:
            body = _text(want.get("text"), self.names).encode()
        else:
            body = jsontext.spell(_tree(want.get("body"), self.names)).encode("utf-8", "surrogatepass")
        headers = {name: _text(value, self.names) for name, value in want.get("headers", Members()).pairs}
        if "secret" in receive:
            key = placeholders.fill(receive["secret"], self.names).encode()
            sign = hmac.new(key, body, hashlib.sha256).hexdigest()
            headers = {name: re.sub("[0-9a-f]{64}", sign, value, count=1) for name, value in headers.items()}
        if self.spoil:
            headers["x-extra"] = "1"
        return Arrival(want.get("method"), placeholders.fill(want.get("path"), self.names), sorted(headers.items()), body)


def _spoilt(body):
    """The body with a last character too many inside its last member, or as a whole."""
    return body[:-1] + ',"more":1}' if body.endswith('"}') or re.search(r'[\w\]}]}$', body) else body + " "


def play(path):
    """For each step: (line, note, what went wrong or None)."""
    player = _Mirror()
    scenarios._STEP_GAP = 0
    player.begin()
    for step in scenarios.Scenario(path).steps:
        player.step, player.spoil = step, False
        kept = copy.copy(player.names)
        found = player.play(step)
        trouble = None
        if found:
            trouble = "differs from itself: " + " / ".join(line for one in found for line in one.lines())
        elif "request" in step.given or "receive" in step.given:
            after, player.names, player.spoil = player.names, kept, True
            if not player.play(step):
                trouble = "a changed answer passed"
            player.names = after
        yield step.line, step.note, trouble
