"""The base class of scenarios with trainings whose ranks leave and come."""
import glob
import os
import re
import signal
import time

import scenario

# Batches of 12 can be shared by 1, 2, 3 and 4 ranks. Forward changes the statistics of BatchNorm, also in iterations
# that are dropped.
NET = scenario.TINY_NET.replace("batch_size: 4", "batch_size: 12")
NORM = 'layer { name: "norm" type: "BatchNorm" bottom: "pool" top: "pool" }\n'
NORMED_NET = NET.replace('layer { name: "drop"', NORM + 'layer { name: "drop"')
# Tests run often, so that many moments are in a test.
SOLVER = scenario.ENDLESS_SOLVER + "test_iter: 4\ntest_interval: 20\naverage_loss: 7\n"
WORLD = re.compile(r"world (\d+): (\d+) ranks?(?:, continuing after iteration (\d+))?(.*)")


class ElasticCase(scenario.Scenario):
    def setUp(self):
        super().setUp()
        self.write("net.prototxt", NORMED_NET)
        self.write("solver.prototxt", SOLVER)

    def environment(self, **env):
        return super().environment(**scenario.ONE_THREAD, OPENBLAS_NUM_THREADS="1", **env)

    def logged(self):
        return self.read("log").decode(errors="replace")

    def wait_for(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, what + "\n" + (self.logged() if os.path.exists(self.path("log")) else ""))
            time.sleep(0.01)

    def ranks(self):
        """Returns the processes that train in this folder, by the launcher's rank."""
        found = {}
        for path in glob.glob("/proc/[0-9]*/environ"):
            folder = os.path.dirname(path)
            try:
                if os.readlink(folder + "/cwd") != self.folder or not os.path.basename(os.readlink(folder + "/exe")).startswith("doppio"):
                    continue
                with open(path, "rb") as f:
                    variables = dict(line.split(b"=", 1) for line in f.read().split(b"\0") if b"=" in line)
                with open(folder + "/cmdline", "rb") as f:
                    if f.read().split(b"\0")[1] == b"train":
                        found[int(variables[b"RANK"])] = int(path.split("/")[2])
            except (OSError, KeyError):
                pass
        return found

    def worlds(self):
        """Returns (ranks, first iteration, the rest of the line) of each world so far."""
        return [(int(m.group(2)), int(m.group(3) or 0), m.group(4)) for m in WORLD.finditer(self.logged())]

    def begin(self, ranks, *flags, launch=()):
        """Starts a training. Returns launch once the training has run for a while."""
        with open(self.path("log"), "w", encoding="utf-8") as log:
            process = self.start("launch", "--ranks=%d" % ranks, *launch, "--", "train", "--solver=solver.prototxt",
                                 "--set", "display=50", *flags, stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_for(lambda: "Iteration 100 " in self.logged(), "the training does not begin")
        return process

    def await_world(self, number, seconds=60):
        """Waits until the training has gone on for a while in the given world."""
        self.wait_for(lambda: len(self.worlds()) >= number, "there is no world %d" % number, seconds)
        count = self.logged().count("] Iteration ")
        self.wait_for(lambda: self.logged().count("] Iteration ") > count + 2, "world %d does not train" % number)

    def stop(self, process):
        """Stops all ranks. Returns the last iteration and the weights."""
        process.send_signal(signal.SIGTERM)
        self.assertEqual(75, process.wait(60), self.logged())
        ends = [int(re.search(r"_(\d+)\.caffemodel", name).group(1)) for name in glob.glob(self.path("run_iter_*.caffemodel"))]
        return max(ends), self.read("run_iter_%d.caffemodel" % max(ends))

    def reference(self, worlds, end, *flags):
        """Returns the weights of a training that is stopped and resumed with another number of ranks where worlds begin."""
        resume = ()
        os.mkdir(self.path("reference"))
        for i, (ranks, first, _) in enumerate(worlds):
            last = worlds[i + 1][1] if i + 1 < len(worlds) else end
            if last == first:
                continue
            run = self.doppio("launch", "--ranks=%d" % ranks, "--", "train", "--solver=solver.prototxt", "--set", "max_iter=%d" % last,
                              "--set", "snapshot_prefix=reference/run", *resume, *flags) if ranks > 1 else self.doppio(
                "train", "--solver=solver.prototxt", "--set", "max_iter=%d" % last, "--set", "snapshot_prefix=reference/run", *resume, *flags)
            self.assertEqual(0, run.returncode, run.stderr)
            resume = ("--resume=reference/run_iter_%d.solverstate" % last,)
        return self.read("reference/run_iter_%d.caffemodel" % end)
