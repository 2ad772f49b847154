"""Small, read-only and vanishing file systems: a tmpfs in a mount namespace of the test's own, which needs root or user namespaces."""
import os
import subprocess
import sys
import unittest

import scenario

INSIDE = "DOPPIO_TEST_OWN_MOUNTS"
UNSHARE = ["unshare", "--map-root-user", "--mount"]


def enter():
    """Starts the calling script again in such a namespace. Returns why that cannot be, or "" once it is inside."""
    if INSIDE in os.environ:
        return os.environ[INSIDE]
    try:
        trial = subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, text=True)
        reason = trial.stderr.strip() if trial.returncode else ""
    except FileNotFoundError:
        reason = "there is no program unshare"
    os.environ[INSIDE] = "no mounts of its own here: " + reason if reason else ""
    if not reason:
        os.execvp(UNSHARE[0], [*UNSHARE, sys.executable, *sys.argv])
    return os.environ[INSIDE]


class MountCase(scenario.Scenario):
    def setUp(self):
        super().setUp()
        if os.environ.get(INSIDE):
            raise unittest.SkipTest(os.environ[INSIDE])

    def mount(self, kib, name="disk"):
        """An empty file system with room for so many KiB."""
        os.makedirs(self.path(name), exist_ok=True)
        self.run_mount("-t", "tmpfs", "-o", "size=%dk" % kib, "tmpfs", self.path(name))
        self.addCleanup(self.unmount, name)

    def change(self, options, name="disk"):
        self.run_mount("-o", "remount," + options, self.path(name))

    def cover_read_only(self, name="disk"):
        """Shows the folder read-only from now on, up to unmount(). A file system with a file that is open for writing cannot be
        made so itself."""
        self.run_mount("--bind", self.path(name), self.path(name))
        self.run_mount("-o", "remount,bind,ro", self.path(name))

    def unmount(self, name="disk"):
        subprocess.run(["umount", "--lazy", self.path(name)], capture_output=True, check=False)

    def run_mount(self, *words):
        done = subprocess.run(["mount", *words], capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
