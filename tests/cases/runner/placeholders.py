"""Texts with holes: {{NAME}} stands for a value of this run, {{kind}} for anything of that kind.

Not about trees: compare.py walks those and asks here about each text.
SPDX-License-Identifier: Apache-2.0
"""
import re
from datetime import datetime, timezone

import tokens

_NAME = re.compile(r"\{\{([A-Z][A-Z0-9_]*)\}\}")
_KIND = re.compile(r"\{\{([a-z][a-z0-9]*(?::[a-z]+)?)\}\}")
_FEW_DAYS = 2 * 86400


def _uuid(version):
    return "[0-9a-f]{8}-[0-9a-f]{4}-%d[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}" % version


def _time(fraction):
    return r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d" + (r"(?:\.\d{0,%d}[1-9])?" % (fraction - 1) if fraction else "") + "Z"


_SHAPES = {
    "time:s": _time(0), "time:ms": _time(3), "time:us": _time(6), "time:ns": _time(9),
    "id:des": _uuid(4), "id:evt": _uuid(4), "id:att": _uuid(4), "uuid7": _uuid(7),
    "nanoid": "[0-9A-Za-z]{26}",
    "cursor:tnt": "[0-9A-Za-z]+", "cursor:evt": "[0-9A-Za-z]+", "cursor:att": "[0-9A-Za-z]+",
    "jwt": r"[\w-]+\.[\w-]+\.[\w-]{43}",
    "hex64": "[0-9a-f]{64}", "base64": "[0-9A-Za-z+/]+={0,2}", "int": "-?[0-9]+", "any": "(?:.|\n)*",
}


def fill(text, names):
    """The text with the names of this run put in; an unknown name is the scenario's mistake."""
    def value(found):
        if found[1] not in names:
            raise ValueError("the scenario uses %s before it has a value" % found[0])
        return names[found[1]]
    return _NAME.sub(value, text)


def has_kinds(text):
    return _KIND.search(text) is not None


def _time_fault(text):
    then = datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    away = abs((datetime.now(timezone.utc) - then).total_seconds())
    return None if away < _FEW_DAYS else "is not a time of this run"


def _cursor_fault(kind, text):
    inside = tokens.cursor_text(text)
    resource = kind.split(":")[1]
    form = r"tntv01:\d+" if resource == "tnt" else resource + r"v01:-?\d+::.*"
    return None if re.fullmatch(form, inside, re.DOTALL) else "holds %r" % inside


def _fault(kind, text, names):
    """What the shape alone can't tell."""
    if kind.startswith("time:"):
        return _time_fault(text)
    if kind.startswith("cursor:"):
        return _cursor_fault(kind, text)
    return tokens.token_fault(text, names["SECRET"]) if kind == "jwt" else None


def mismatch(want, got, names):
    """None when got fits want, else a few words why not."""
    want = fill(want, names)
    pieces = _KIND.split(want)
    kinds = pieces[1::2]
    if not kinds:
        return None if want == got else "differs"
    for kind in kinds:
        if kind not in _SHAPES:
            raise ValueError("the scenario has an unknown placeholder {{%s}}" % kind)
    form = "".join("(" + _SHAPES[piece] + ")" if odd else re.escape(piece)
                   for piece, odd in zip(pieces, [False, True] * len(pieces)))
    found = re.fullmatch(form, got)
    if not found:
        return "does not fit"
    for kind, text in zip(kinds, found.groups()):
        fault = _fault(kind, text, names)
        if fault:
            return "{{%s}}: %s" % (kind, fault)
    return None
