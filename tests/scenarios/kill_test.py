#!/usr/bin/env python3
"""kill -9 at any moment costs at most what came after the last snapshot, and changes nothing.

A run that snapshots every iteration is killed at random moments and started again with
--resume=auto, many times over; at last it ends with the weights of a run that nobody disturbed.
"""
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

NET = scenario.TINY_NET.replace("scale: 0.01", "scale: 0.01 mirror: true")
SOLVER = """net: "net.prototxt"
type: "Adam" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed"
random_seed: 5
snapshot_prefix: "run"
"""
ENDLESS = "--set=max_iter=1000000000"


class KillTest(scenario.Scenario):
    def fill(self, extra=""):
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER + extra)

    def newest(self):
        """The iteration of the newest state in the folder, 0 if there is none."""
        found = [re.match(r"run_iter_(\d+)\.solverstate(\.h5)?$", name) for name in os.listdir(self.folder)]
        return max([int(m.group(1)) for m in found if m], default=0)

    def leftovers(self):
        return [name for name in os.listdir(self.folder) if ".tmp" in name]

    def time_to_first_snapshot(self):
        begin = time.monotonic()
        with self.start("train", "--solver=solver.prototxt", ENDLESS, "--set=snapshot=1",
                        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
            while self.newest() == 0 and process.poll() is None and time.monotonic() < begin + 60:
                time.sleep(0.002)
            process.kill()
        self.assertGreater(self.newest(), 0)
        return time.monotonic() - begin

    def live_and_die(self, after):
        """Goes on, is killed; checks where it went on from."""
        before = self.newest()
        with self.start("train", "--solver=solver.prototxt", ENDLESS, "--set=snapshot=1", "--resume=auto",
                        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            try:
                log = process.communicate(timeout=after)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                log = process.communicate()[1]
        self.assertEqual(-signal.SIGKILL, process.returncode, log)
        started = re.search(r"going on from run_iter_(\d+)\.solverstate", log)
        if started:
            # Not one iteration is lost of what was on the disk, nor does it count what was not whole.
            self.assertEqual(before, int(started.group(1)), log)
        else:
            self.assertNotIn("starting anew", log)
        self.assertNotIn("passed over", log)
        self.assertNotIn("error", log)
        self.assertGreaterEqual(self.newest(), before)
        return started is not None

    def check_kills(self, kills, seed, extra="", suffix=""):
        self.fill(extra)
        usual = self.time_to_first_snapshot()
        moments = random.Random(seed)
        resumed = 0
        for _ in range(kills):
            # The machine is not always equally busy: come later after a kill that came too early.
            if self.live_and_die(usual * moments.uniform(0.2, 2.5)):
                resumed += 1
                usual *= 0.95
            else:
                usual *= 1.2
        reached, leftovers = self.newest(), self.leftovers()
        print("%d kills, %d of them after the resume: %d iterations, %d unfinished files" %
              (kills, resumed, reached, len(leftovers)))
        self.assertGreater(resumed, kills // 4, "the kills came too early to show anything")
        self.assertGreater(reached, kills // 4)
        self.assertLessEqual(len(leftovers), 2, "each start removes the two files that the killed one before it has left")

        end = reached + 3
        self.train("--resume=auto", "--set=max_iter=%d" % end)
        model = self.read("run_iter_%d.caffemodel%s" % (end, suffix))
        state = self.read("run_iter_%d.solverstate%s" % (end, suffix))
        self.folder = self.path("undisturbed")
        os.mkdir(self.folder)
        self.fill(extra)
        self.train("--set=max_iter=%d" % end)
        self.assertEqual(self.read("run_iter_%d.caffemodel%s" % (end, suffix)), model)
        self.assertEqual(self.read("run_iter_%d.solverstate%s" % (end, suffix)), state)

    def test_a_hundred_kills(self):
        self.check_kills(100, seed=1)

    def test_twenty_kills_with_hdf5(self):
        self.check_kills(20, seed=2, extra="snapshot_format: HDF5\n", suffix=".h5")


if __name__ == "__main__":
    junit.main()
