"""What is expected against what came: a list of differences, each with its place, for people to read.

Knows nothing of HTTP or of scenarios; placeholders.py judges single texts.
SPDX-License-Identifier: Apache-2.0
"""
from dataclasses import dataclass

import jsontext
import placeholders
from jsontext import Members, Number

_SHOWN = 240


@dataclass
class Difference:
    place: str
    expected: str
    got: str

    def lines(self):
        expected, got = _around(self.expected, self.got)
        pad = " " * len(self.place)
        return ["%s  expected %s" % (self.place, expected), "%s  got      %s" % (pad, got)]


def _around(expected, got):
    """Both texts, cut to the neighbourhood of the first character that differs."""
    if max(len(expected), len(got)) <= _SHOWN:
        return expected, got
    same = next((i for i, (a, b) in enumerate(zip(expected, got)) if a != b), min(len(expected), len(got)))
    start = max(0, same - _SHOWN // 3)

    def cut(text):
        return ("…" if start else "") + text[start:start + _SHOWN] + ("…" if len(text) > start + _SHOWN else "")
    return cut(expected), cut(got)


def texts(place, want, got, names):
    why = placeholders.mismatch(want, got, names)
    if why is None:
        return []
    filled = placeholders.fill(want, names)
    return [Difference(place, jsontext.spell(filled), jsontext.spell(got) + ("" if why == "differs" else "  (%s)" % why))]


def _members(place, want, got, names):
    wanted = [placeholders.fill(name, names) for name in want.names()]
    given = got.names()
    if wanted != given:
        missing = [name for name in wanted if name not in given]
        extra = [name for name in given if name not in wanted]
        notes = (["missing " + ",".join(missing)] if missing else []) + (["extra " + ",".join(extra)] if extra else [])
        found = [Difference(place + " members", ",".join(wanted),
                            ",".join(given) + "  (" + ("; ".join(notes) or "other order") + ")")]
        common = [name for name in wanted if given.count(name) == 1 and wanted.count(name) == 1]
        values = dict(zip(wanted, (value for _, value in want.pairs)))
        for name in common:
            found += trees(place + "." + name, values[name], got.get(name), names)
        return found
    found = []
    for (name, expected), (_, value) in zip(zip(wanted, (v for _, v in want.pairs)), got.pairs):
        found += trees(place + "." + name, expected, value, names)
    return found


def trees(place, want, got, names):
    if isinstance(want, str) and isinstance(got, str):
        return texts(place, want, got, names)
    if want == "{{int}}" and isinstance(got, Number):
        return texts(place, want, got.text, names)
    if isinstance(want, Members) and isinstance(got, Members):
        return _members(place, want, got, names)
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [one for i, pair in enumerate(zip(want, got)) for one in trees("%s.%d" % (place, i), *pair, names)]
    if type(want) is type(got) and not isinstance(want, (list, Members)) and want == got:
        return []
    return [Difference(place, placeholders.fill(jsontext.spell(want), names), jsontext.spell(got))]


def header_maps(place, want, got, names):
    """Header sets: every expected one with its value, and no other."""
    found = []
    for name in sorted(set(want) | set(got)):
        if name not in got:
            found.append(Difference(place + "." + name, placeholders.fill(want[name], names), "(absent)"))
        elif name not in want:
            found.append(Difference(place + "." + name, "(absent)", got[name]))
        else:
            found += texts(place + "." + name, want[name], got[name], names)
    return found


def filled(tree, names):
    """A copy with the names of this run put in, so that it can be sorted by what it stands for."""
    if isinstance(tree, str):
        return placeholders.fill(tree, names)
    if isinstance(tree, list):
        return [filled(item, names) for item in tree]
    if isinstance(tree, Members):
        return Members((placeholders.fill(name, names), filled(value, names)) for name, value in tree.pairs)
    return tree


def sort_at(tree, places):
    """Sort, in place, the arrays whose order means nothing."""
    for place in places:
        array = jsontext.at(tree, place)
        if isinstance(array, list):
            array.sort(key=jsontext.spell)
