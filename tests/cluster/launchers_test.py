#!/usr/bin/env python3
"""Starts a training on two simulated machines (nodes.py) with each launcher that is installed, and compares the losses.

Needs root, ip and the right to create namespaces, and sshd for launchers that use ssh."""
import os
import shutil
import sys
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
import junit  # noqa: E402
import launchers  # noqa: E402
import nodes  # noqa: E402
import scenario  # noqa: E402

MISSING = nodes.enter() if os.geteuid() == 0 else "this needs root"


class LaunchersTest(scenario.Scenario):
    def test_all_launchers_start_the_same_training(self):
        if MISSING:
            self.skipTest("no network namespaces here: " + MISSING)
        machines = nodes.Nodes(2, self.folder)
        self.addCleanup(machines.down)
        names = ["environment_variables"]
        sshd = shutil.which("sshd")
        if sshd and shutil.which("ssh"):
            machines.start_sshd(sshd)
            names += ["launch", "mpirun"]
        found = launchers.Launchers(types.SimpleNamespace(doppio=scenario.DOPPIO, ranks=1), machines)
        losses = {}
        for name in names:
            program = launchers.PROGRAMS[name]
            if shutil.which(program):
                seconds, milliseconds, joined, losses[name] = launchers.run(found, getattr(found, name)())
                print("%s: %.1f s to the first iteration, %.0f ms in an iteration, %s" % (name, seconds, milliseconds, joined))
        self.assertEqual(1, len(set(losses.values())), losses)


if __name__ == "__main__":
    junit.main()
