#!/usr/bin/env python3
"""Play HTTP scenarios against the server and report every step that differs.

    python3 tests/cases/runner                      all scenarios, each configuration on a server of its own
    python3 tests/cases/runner publish retry        these two
    python3 tests/cases/runner --server standard    those of one configuration
    python3 tests/cases/runner --url http://127.0.0.1:3333 --server main      against a server that runs already

Exit status 0 if every step passed. The last line counts the steps. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import itertools
import sys
from pathlib import Path

import lists
import server
from receiver import Receiver
from scenario import Player, Scenario

CASES = Path(__file__).resolve().parent.parent
ROOT = CASES.parent.parent


class Stop(Exception):
    """Enough was seen (-x)."""


class Report:
    """Counts, and what people read."""

    def __init__(self, listed, stop_at_first=False, out=sys.stdout, waiting=None):
        self.listed, self.stop_at_first, self.out = listed, stop_at_first, out
        self.passed = self.failed = self.on_purpose = 0
        self.waiting, self.put_off = waiting or {}, {}

    def say(self, text):
        print(text, file=self.out, flush=True)

    def step(self, scenario, step, found):
        """Count one step. Returns whether it passed."""
        reason = self.listed.get((scenario.path.name, step.line))
        waits = self.waiting.get((scenario.path.name, step.line))
        if found and waits:
            self.put_off[scenario.path.name, waits] = self.put_off.get((scenario.path.name, waits), 0) + 1
            return True
        if waits and not reason:
            return self._fail(scenario, step, ["listed in later.txt (%s), but it passes" % waits])
        if found and reason:
            self.on_purpose += 1
        elif reason:
            return self._fail(scenario, step, ["listed as a difference (%s), but it does not differ" % reason])
        elif found:
            return self._fail(scenario, step, [line for one in found for line in one.lines()])
        self.passed += 1
        return True

    def _fail(self, scenario, step, lines):
        self.failed += 1
        self.say("\nFAILED %s:%d  %s" % (scenario.path.name, step.line, step.note))
        request = step.given.get("request")
        if request:
            self.say("    %s %s" % (request["method"], request["path"]))
        for line in lines:
            self.say("    " + line)
        if self.stop_at_first:
            raise Stop
        return False

    def server_failed(self, scenarios, text):
        """None of the steps could be played: all of them failed."""
        steps = sum(len(scenario.steps) for scenario in scenarios)
        self.failed += steps
        self.say("\nFAILED all %d steps of %s\n    %s" % (steps, ", ".join(s.path.name for s in scenarios), text))
        if self.stop_at_first:
            raise Stop

    def server_fault(self, name, text):
        self.failed += 1
        self.say("\nFAILED the server of configuration %s: %s" % (name, text))


def play(scenario, player, report, alive=lambda: True):
    """All steps of one scenario. Returns whether all passed."""
    player.begin()
    passed, failed, on_purpose = report.passed, report.failed, report.on_purpose
    for number, step in enumerate(scenario.steps):
        report.step(scenario, step, player.play(step))
        if not alive():
            rest = len(scenario.steps) - number - 1
            report.failed += rest
            report.say("\nFAILED the server is gone; %d more steps of %s can't be played" % (rest, scenario.path.name))
            break
    passed, failed, on_purpose = report.passed - passed, report.failed - failed, report.on_purpose - on_purpose
    report.say("%-28s %4d passed, %d failed%s" % (
        scenario.path.name, passed, failed, ", of them %d on purpose different" % on_purpose if on_purpose else ""))
    return failed == 0


def play_group(name, scenarios, options, report):
    """Scenarios of one configuration, one after another, on one server."""
    receiver = Receiver(options.receiver_port)
    running = None
    try:
        if not options.url:
            try:
                running = server.Server(options.binary, name, receiver.url, options.keep)
            except server.StartError as error:
                report.server_failed(scenarios, str(error))
                return
        player = Player(options.url or running.url, receiver, options.key, options.jwt_secret)
        good = True
        try:
            for scenario in scenarios:
                good = play(scenario, player, report, running.alive if running else lambda: True) and good
        finally:
            if running:
                end_server(running, good, report)
    finally:
        receiver.close()


def end_server(running, good, report):
    fault = running.stop()
    if fault:
        report.server_fault(running.name, fault)
    if fault or not good or sys.exc_info()[0]:
        report.say("\nlast lines of the server's log (%s):\n%s" % (running.name, running.tail()))
    if running.keep:
        report.say("kept: %s" % running.folder)
    running.clean()


def choose(options):
    """The scenarios to play, and the names of those that wait for parts that are not built."""
    every = sorted(Path(options.folder).glob("*.jsonl"))
    wanted = [name if name.endswith(".jsonl") else name + ".jsonl" for name in (Path(f).name for f in options.files)]
    unknown = sorted(set(wanted) - {path.name for path in every})
    if unknown:
        sys.exit("no such scenario in %s: %s" % (options.folder, ", ".join(unknown)))
    waiting = {} if wanted or options.all else lists.later(options.later)[0]
    scenarios = [Scenario(path) for path in every if (not wanted or path.name in wanted)]
    if options.server:
        scenarios = [scenario for scenario in scenarios if scenario.server == options.server]
    put_off = {scenario.path.name: waiting[scenario.path.name] for scenario in scenarios if scenario.path.name in waiting}
    return [scenario for scenario in scenarios if scenario.path.name not in put_off], put_off


def arguments():
    parser = argparse.ArgumentParser(prog="runner", description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", help="names of scenarios, with or without .jsonl (default: all)")
    parser.add_argument("--folder", default=CASES / "outpost", help="where the scenarios are")
    parser.add_argument("--server", help="only the scenarios of this configuration")
    parser.add_argument("--url", help="play against this running server; needs --server or files of one configuration")
    parser.add_argument("--binary", default=ROOT / "build" / "outrider", help="the server to start")
    parser.add_argument("--key", default=server.KEY, help="admin key of the server")
    parser.add_argument("--jwt-secret", default=server.SECRET, help="token secret of the server")
    parser.add_argument("--receiver-port", type=int, default=0, help="port that webhooks come to (default: a free one)")
    parser.add_argument("--differences", default=ROOT / "docs" / "differences.md", help="table of intended differences")
    parser.add_argument("--later", default=CASES / "later.txt", help="list of files that wait for parts not built")
    parser.add_argument("--all", action="store_true", help="also the files of that list")
    parser.add_argument("-x", dest="first", action="store_true", help="stop at the first step that fails")
    parser.add_argument("--keep", action="store_true", help="keep the data folder and the log of each server")
    return parser.parse_args()


def main():
    options = arguments()
    scenarios, put_off = choose(options)
    if not scenarios and not put_off:
        sys.exit("no scenario was chosen")
    if options.url and len({scenario.server for scenario in scenarios}) > 1:
        sys.exit("--url plays one configuration only: choose it with --server")
    report = Report(lists.differences(options.differences), options.first, waiting={} if options.all else lists.later(options.later)[1])
    order = {name: i for i, name in enumerate(server.CONFIGURATIONS)}
    scenarios.sort(key=lambda scenario: order.get(scenario.server, len(order)))
    try:
        for name, group in itertools.groupby(scenarios, key=lambda scenario: scenario.server):
            play_group(name, list(group), options, report)
    except Stop:
        report.say("\nstopped at the first failure")
    for name, reason in put_off.items():
        report.say("not played: %s: %s" % (name, reason))
    for (name, reason), count in report.put_off.items():
        report.say("not passed yet: %d steps of %s: %s" % (count, name, reason))
    report.say("%d passed, %d failed" % (report.passed, report.failed))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
