"""A network namespace without routes for the whole test process: whatever leaves a program here, stays here.

The calling thread enters it; threads and processes that it starts live in it too. Needs root.
SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import os
import socket
import subprocess
from contextlib import contextmanager

_NEW_NETWORK = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextmanager
def lonely_network(addresses):
    """Inside: one interface, lo, which has all the addresses."""
    assert os.geteuid() == 0, "this test needs root: it makes a network namespace"
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _check(_libc.unshare(_NEW_NETWORK))
        try:
            assert [name for _, name in socket.if_nameindex()] == ["lo"], "not in a namespace of its own"
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            for address in addresses:
                bits = "128" if ":" in address else "32"
                subprocess.run(["ip", "addr", "replace", "%s/%s" % (address, bits), "dev", "lo"], check=True)
            yield
        finally:
            _check(_libc.setns(home, _NEW_NETWORK))
    finally:
        os.close(home)
