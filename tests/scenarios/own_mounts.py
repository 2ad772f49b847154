"""Provides small, read-only and vanishing file systems: a tmpfs in a mount namespace of the test's own."""
import os
import subprocess
import unittest

import own_namespaces
import scenario


def enter():
    """Starts the calling script again in a new mount namespace, if possible."""
    own_namespaces.enter(["--mount"], ["mount", "-t", "tmpfs", "tmpfs", "/mnt"])


class MountCase(scenario.Scenario):
    def setUp(self):
        super().setUp()
        if own_namespaces.missing():
            raise unittest.SkipTest("no mounts of its own here: " + own_namespaces.missing())

    def mount(self, kib, name="disk"):
        """Mounts an empty file system with room for `kib` KiB."""
        os.makedirs(self.path(name), exist_ok=True)
        self.run_mount("-t", "tmpfs", "-o", "size=%dk" % kib, "tmpfs", self.path(name))
        self.addCleanup(self.unmount, name)

    def change(self, options, name="disk"):
        # Otherwise mount repeats the current options, and the owner's id among them is invalid in this namespace.
        self.run_mount("--options-source=disable", "-o", "remount," + options, self.path(name))

    def cover_read_only(self, name="disk"):
        """Makes the folder read-only until unmount(). A file system with a file that is open for writing cannot be made
        read-only itself."""
        self.run_mount("--bind", self.path(name), self.path(name))
        self.run_mount("-o", "remount,bind,ro", self.path(name))

    def unmount(self, name="disk"):
        subprocess.run(["umount", "--lazy", self.path(name)], capture_output=True, check=False)

    def run_mount(self, *words):
        done = subprocess.run(["mount", *words], capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
