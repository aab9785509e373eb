"""JSON as text: trees that keep member order, doubled members and the spelling of numbers.

Not a general JSON library: only what comparing answers needs. placeholders.py and compare.py build on it.
SPDX-License-Identifier: Apache-2.0
"""
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    """A number, by the characters it was written with: 1.0 is not 1."""
    text: str


class Members:
    """An object: its (name, value) pairs in the order they came."""

    def __init__(self, pairs=()):
        self.pairs = list(pairs)

    def names(self):
        return [name for name, _ in self.pairs]

    def get(self, wanted, default=None):
        for name, value in self.pairs:
            if name == wanted:
                return value
        return default

    def __contains__(self, wanted):
        return wanted in self.names()


def _no_constant(word):
    raise ValueError(word + " is not JSON")


def read(text):
    return json.loads(text, object_pairs_hook=Members, parse_int=Number, parse_float=Number,
                      parse_constant=_no_constant)


_ESCAPES = {ord(char): "\\u%04x" % ord(char) for char in "<>&\u2028\u2029"}
_ESCAPES.update({code: "\\u%04x" % code for code in range(0x20)})
_ESCAPES.update({code: "\\u%04x" % code for code in range(0xd800, 0xe000)})
_ESCAPES.update({ord(char): "\\" + letter for char, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt')})


def spell(tree):
    """The one spelling that the API answers in: no white space, its own set of escapes."""
    if isinstance(tree, str):
        return '"' + tree.translate(_ESCAPES) + '"'
    if isinstance(tree, Number):
        return tree.text
    if isinstance(tree, Members):
        return "{" + ",".join(spell(name) + ":" + spell(value) for name, value in tree.pairs) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(spell(item) for item in tree) + "]"
    return {None: "null", True: "true", False: "false"}[tree]


def at(tree, place):
    """The value at a dotted place such as models.0.id; None where there is nothing."""
    for part in place.split("."):
        if isinstance(tree, Members):
            tree = tree.get(part)
        elif isinstance(tree, list) and part.isdecimal() and int(part) < len(tree):
            tree = tree[int(part)]
        else:
            return None
    return tree


def plain(value):
    """A scalar as the text that a scenario would write for it."""
    return value if isinstance(value, str) else spell(value)
