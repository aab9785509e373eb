"""Small file systems that can be filled up. Needs root; without it a test fails by name.

SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path


class Disk:
    def __init__(self, folder):
        self.folder = Path(folder)
        self._filler = self.folder / "filler"

    def fill(self):
        """Take every byte that is left."""
        out = os.open(self._filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            for size in (1 << 20, 4096, 1):
                with suppress(OSError):
                    while True:
                        os.write(out, bytes(size))
        finally:
            os.close(out)

    def free(self):
        self._filler.unlink()


@contextmanager
def small_disk(folder, megabytes):
    """A tmpfs at the folder for as long as the block runs."""
    assert os.geteuid() == 0, "this test needs root: it mounts a small file system"
    Path(folder).mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0700,size=%dm" % megabytes, "tmpfs", folder], check=True)
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
