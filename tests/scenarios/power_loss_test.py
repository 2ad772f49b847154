#!/usr/bin/env python3
"""Tests a power failure after any write: training resumes from the newest snapshot on the disk, to the same bits, and a
resumed sweep has the results of an undisturbed one. First argument: the library of write_log.c."""
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import power_loss  # noqa: E402
import scenario  # noqa: E402

SHIM = os.path.abspath(sys.argv.pop(1))
ITERATIONS = 4
SOLVER = scenario.ENDLESS_SOLVER.replace("max_iter: 1000000000", "max_iter: %d" % ITERATIONS)


class PowerLossTest(scenario.Scenario):
    def record(self, *args):
        """Runs a command. Returns the records of what it writes below disk/."""
        os.mkdir(self.path("disk"))
        run = self.doppio(*args, LD_PRELOAD=SHIM, WRITE_LOG=self.path("log"), WRITE_LOG_ROOT=os.path.realpath(self.path("disk")))
        if "ASan runtime does not come first" in run.stderr:
            self.skipTest("a program with AddressSanitizer takes no preloaded library")
        self.assertEqual(0, run.returncode, run.stderr)
        return power_loss.read_log(self.path("log"))

    def each_crash(self, records):
        root = os.path.realpath(self.path("disk"))
        for durable, folders, state in power_loss.crashes(records):
            shutil.rmtree(self.path("disk"))
            os.mkdir(self.path("disk"))
            power_loss.put(state, folders, root, self.path("disk"))
            yield {os.path.relpath(path, root) for path in durable}

    def check_snapshots(self, extra, suffix, *flags):
        self.write("net.prototxt", scenario.TINY_NET)
        self.write("solver.prototxt", SOLVER.replace('"run"', '"disk/run"') + "snapshot: 1\n" + extra)
        model = "disk/run_iter_%d.caffemodel%s" % (ITERATIONS, suffix)
        records = self.record("train", "--solver=solver.prototxt", *flags)
        wanted = self.read(model)
        states, resumed = 0, 0
        for durable in self.each_crash(records):
            newest = max([int(m.group(1)) for m in (re.match(r"run_iter_(\d+)\.solverstate(\.h5)?$", p) for p in durable) if m], default=0)
            run = self.doppio("train", "--solver=solver.prototxt", "--resume=auto", *flags)
            self.assertEqual(0, run.returncode, run.stderr)
            begun = re.search(r"resuming from disk/run_iter_(\d+)\.", run.stderr)
            self.assertGreaterEqual(int(begun.group(1)) if begun else 0, newest, run.stderr)
            self.assertEqual(wanted, self.read(model))
            states += 1
            resumed += begun is not None
        print("%d records, %d states of the disk, %d with a snapshot to resume from" % (len(records), states, resumed))
        self.assertGreater(states, 30)
        self.assertGreater(resumed, states // 4)

    def test_snapshots_survive(self):
        self.check_snapshots("", "")

    def test_a_last_snapshot_survives(self):
        self.check_snapshots("", "", "--keep_last=1")

    def test_snapshots_in_hdf5_survive(self):
        self.check_snapshots("snapshot_format: HDF5\n", ".h5")

    def test_a_sweep_survives(self):
        self.write("net.prototxt", scenario.TINY_NET + """layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label"
  top: "accuracy" include { phase: TEST } }
""")
        self.write("solver.prototxt", SOLVER + "test_iter: 5 test_interval: 2\n")
        command = ["sweep", "run", "--solver=solver.prototxt", "--sweep_dir=disk/sweep", "--jobs=1", "--seed=3",
                   "--param=base_lr=0.3,0.03"]
        records = self.record(*command)

        def results():
            run = self.doppio("sweep", "ls", "disk/sweep", "--json")
            self.assertEqual(0, run.returncode, run.stderr)
            return [(t["trial"], t["state"], t["values"], t["score"]) for t in json.loads(run.stdout)["trials"]]

        wanted = results()
        # Leaves out the files of trials, because this test is about the journal and the settings of
        # the sweep.
        records = [r for r in records if not re.search(r"/sweep/t\d+/", r[4])]
        states = 0
        for _ in self.each_crash(records):
            begun = os.path.exists(self.path("disk/sweep/sweep.jsonl"))
            if begun:
                again = self.doppio("sweep", "resume", "disk/sweep")
            else:
                shutil.rmtree(self.path("disk/sweep"), ignore_errors=True)
                again = self.doppio(*command)
            self.assertEqual(0, again.returncode, again.stdout + again.stderr)
            self.assertEqual(wanted, results())
            states += 1
        print("%d records, %d states of the disk" % (len(records), states))
        self.assertGreater(states, 10)


if __name__ == "__main__":
    junit.main()
