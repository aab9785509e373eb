"""Two lists that people keep: steps that differ on purpose, and files whose parts are not built yet.

SPDX-License-Identifier: Apache-2.0
"""
import re
from pathlib import Path

_PLACE = re.compile(r"([\w-]+\.jsonl):(\d+(?:, ?\d+)*)")


def differences(path):
    """{(file name, line): reason} from the rows `| file:line | reason | test |` of a Markdown table."""
    found = {}
    if not Path(path).exists():
        return found
    for row in Path(path).read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        places = _PLACE.fullmatch(cells[0]) if row.lstrip().startswith("|") else None
        if not places:
            continue
        if len(cells) != 3:
            raise ValueError("%s: a row needs three cells: %s" % (path, row))
        for line in places[2].split(","):
            found[places[1], int(line)] = cells[1]
    return found


def later(path):
    """{file name: why it is not played yet} from lines `file.jsonl  reason`, and {(file, line): why it need not pass yet} from lines
    `file.jsonl:3,7-9  reason`."""
    found, steps = {}, {}
    if Path(path).exists():
        for line in Path(path).read_text("utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                name, _, reason = line.strip().partition(" ")
                name, _, lines = name.partition(":")
                for part in filter(None, lines.split(",")):
                    first, _, last = part.partition("-")
                    steps.update({(name, n): reason.strip() for n in range(int(first), int(last or first) + 1)})
                if not lines:
                    found[name] = reason.strip()
    return found, steps
