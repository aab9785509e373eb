#!/usr/bin/env python3
"""Does the runner see what it should? Steps that must pass, steps that must fail at the place their note names,
the list of intended differences, and every recording played against a mirror of itself.

The last line is `N passed, N failed`. SPDX-License-Identifier: Apache-2.0
"""
import importlib.util
import io
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "runner")]

import lists                                    # noqa: E402
import mirror                                   # noqa: E402
from fake import Fake, SECRET                   # noqa: E402
from receiver import Receiver                   # noqa: E402
from scenario import Player, Scenario           # noqa: E402

_spec = importlib.util.spec_from_file_location("runner_main", HERE.parent / "runner" / "__main__.py")
runner = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(runner)


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, good, shown=""):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print("FAILED selftest %s\n    %s" % (name, shown))


def canned(tally):
    fake, receiver = Fake(), Receiver()
    for name in ("good", "bad"):
        scenario = Scenario(HERE / (name + ".jsonl"))
        player = Player(fake.url, receiver, "k-admin-1", SECRET)
        player.begin()
        for step in scenario.steps:
            places = [one.place for one in player.play(step)]
            good = not places if name == "good" else step.note in places
            tally.check("%s.jsonl:%d %s" % (name, step.line, step.note), good, "differences at: %s" % places)
    fake.close()
    receiver.close()


def listed(tally):
    """A step on the list passes only as long as it differs."""
    fake, receiver = Fake(), Receiver()
    for name, line, passes in (("bad", 2, True), ("good", 2, False)):
        out = io.StringIO()
        report = runner.Report({(name + ".jsonl", line): "on purpose"}, out=out)
        scenario = Scenario(HERE / (name + ".jsonl"))
        scenario.steps = scenario.steps[:1]
        runner.play(scenario, Player(fake.url, receiver, "k", SECRET), report)
        tally.check("listed step of %s.jsonl" % name, (report.failed == 0) == passes, out.getvalue())
    table = HERE / "differences.md"
    tally.check("table of differences", lists.differences(table) == {
        ("a-b.jsonl", 3): "one", ("c.jsonl", 4): "two", ("c.jsonl", 17): "two"}, lists.differences(table))
    fake.close()
    receiver.close()


def mirrored(tally):
    """No recording may differ from its own answers, and no changed answer may pass."""
    for path in sorted((HERE.parent / "outpost").glob("*.jsonl")):
        for line, note, trouble in mirror.play(path):
            tally.check("%s:%d %s" % (path.name, line, note), trouble is None, trouble)


def main():
    tally = Tally()
    canned(tally)
    listed(tally)
    mirrored(tally)
    print("%d passed, %d failed" % (tally.passed, tally.failed))
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
