"""Waiting for a condition with a bound, never for a time. SPDX-License-Identifier: Apache-2.0"""
import time

POLL = 0.02


def wait_for(condition, seconds=10, what=None):
    """The first true value of the condition; fails with `what` when there is none in time."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("not within %g s: %s" % (seconds, what or "the condition"))
        time.sleep(POLL)


def stays(condition, seconds, what=None):
    """The condition holds for the whole time: for things that must not happen."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert condition(), "within %g s: %s" % (seconds, what or "the condition ended")
        time.sleep(POLL)
