"""Small, read-only and vanishing file systems: a tmpfs in a mount namespace of the test's own."""
import os
import subprocess
import unittest

import own_namespaces
import scenario


def enter():
    """Starts the calling script again in such a namespace, where that can be."""
    own_namespaces.enter(["--mount"], ["mount", "-t", "tmpfs", "tmpfs", "/mnt"])


class MountCase(scenario.Scenario):
    def setUp(self):
        super().setUp()
        if own_namespaces.missing():
            raise unittest.SkipTest("no mounts of its own here: " + own_namespaces.missing())

    def mount(self, kib, name="disk"):
        """An empty file system with room for so many KiB."""
        os.makedirs(self.path(name), exist_ok=True)
        self.run_mount("-t", "tmpfs", "-o", "size=%dk" % kib, "tmpfs", self.path(name))
        self.addCleanup(self.unmount, name)

    def change(self, options, name="disk"):
        # Otherwise mount repeats the present options, and the owner's number among them means nothing in this namespace.
        self.run_mount("--options-source=disable", "-o", "remount," + options, self.path(name))

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
