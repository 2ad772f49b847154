#!/usr/bin/env python3
"""Tests disks that are full at each write, read-only or gone: complete files stay, no partial file
is left, and the message states the reason."""
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import own_mounts  # noqa: E402
import scenario  # noqa: E402

# With 9600 weights, each file of a snapshot takes ten pages.
NET = scenario.TINY_NET.replace("num_output: 10", "num_output: 600")
SOLVER = scenario.ENDLESS_SOLVER.replace("max_iter: 1000000000", "max_iter: 3").replace('"run"', '"disk/snap/run"') + "snapshot: 1\n"
PAGE = 4


class SnapshotTest(own_mounts.MountCase):
    def fill(self, extra=""):
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER + extra)

    def train(self, *flags):
        return self.doppio("train", "--solver=solver.prototxt", *flags)

    def files(self, ending=""):
        return sorted(f for f in os.listdir(self.path("disk/snap")) if f.endswith(ending))

    def check_nothing_half(self, suffix):
        self.assertEqual([], [f for f in self.files() if ".tmp." in f])
        states = [f.replace("solverstate", "caffemodel") for f in self.files("solverstate" + suffix)]
        self.assertEqual(states, self.files("caffemodel" + suffix), "weights without a state, or a state without weights")

    def check_each_size(self, extra, suffix):
        self.fill(extra)
        failed = 0
        for kib in range(PAGE, 1000, PAGE):
            self.mount(kib)
            os.mkdir(self.path("disk/snap"))
            run = self.train()
            self.check_nothing_half(suffix)
            if run.returncode == 0:
                self.unmount()
                break
            failed += 1
            self.assertEqual(4, run.returncode, run.stderr)
            # The HDF5 library does not report the reason.
            self.assertRegex(run.stderr, r"error: cannot write .*No space left on device|error: cannot write '\S+' as HDF5; .*not full")
            whole = len(self.files("solverstate" + suffix))
            self.change("size=4m")
            again = self.train("--resume=auto")
            self.assertEqual(0, again.returncode, again.stderr)
            self.assertEqual(whole > 0, "resuming from" in again.stderr, again.stderr)
            self.assertNotIn("is skipped: ", again.stderr)
            self.assertEqual(3, len(self.files("solverstate" + suffix)))
            self.unmount()
        print("%d sizes of a full disk" % failed)
        self.assertEqual(0, run.returncode)
        self.assertGreater(failed, 3 * 2 * 38 // PAGE)

    def test_full_at_each_page_of_a_snapshot(self):
        self.check_each_size("", "")

    def test_full_at_each_page_of_a_snapshot_in_hdf5(self):
        self.check_each_size("snapshot_format: HDF5\n", ".h5")

    def start_endless(self):
        self.fill()
        self.mount(4096)
        os.mkdir(self.path("disk/snap"))
        process = self.start("train", "--solver=solver.prototxt", "--set=max_iter=1000000000", "--set=snapshot=0",
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if "] Iteration" in line:
                return process
        self.fail("it ended")

    def test_a_disk_that_has_become_read_only(self):
        process = self.start_endless()
        self.cover_read_only()
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        self.assertEqual(4, process.returncode, log)
        self.assertRegex(log, r"error: cannot write '\S+': Read-only file system\n$")
        self.assertEqual(["run.lock"], self.files())
        self.unmount()
        self.assertEqual(0, self.train("--resume=auto").returncode)

    def test_a_disk_that_is_gone(self):
        process = self.start_endless()
        self.unmount()
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        self.assertEqual(4, process.returncode, log)
        self.assertRegex(log, r"error: cannot write '\S+': there is no folder 'disk/snap/'; create it \(mkdir -p\)\n$")
        self.assertEqual([], os.listdir(self.path("disk")))


class RunFolderTest(own_mounts.MountCase):
    def test_full_at_each_page_of_a_run_folder(self):
        """The training continues, unless the folder cannot be created."""
        self.write("net.prototxt", scenario.TINY_NET)
        self.write("solver.prototxt", scenario.ENDLESS_SOLVER.replace("max_iter: 1000000000", "max_iter: 400")
                   .replace("display: 200", "display: 1"))
        outcomes = []
        for kib in range(PAGE, 2000, 2 * PAGE):
            self.mount(kib)
            run = self.doppio("train", "--solver=solver.prototxt", "--run_dir=disk/run")
            outcomes.append(run.returncode)
            self.assertIn(run.returncode, (0, 4), run.stderr)
            self.assertEqual(run.returncode == 0, os.path.exists(self.path("run_iter_400.caffemodel")), run.stderr)
            if run.returncode:
                self.assertIn("No space left on device", run.stderr)
            for name in ("run.json", "exit.json"):
                if os.path.exists(self.path("disk/run/" + name)):
                    json.loads(self.read("disk/run/" + name))
            full = "No space left on device" in run.stderr
            self.change("size=8m")
            listed = self.doppio("runs", "ls", "disk", "--json")
            self.assertEqual(0, listed.returncode, listed.stderr)
            again = self.doppio("train", "--solver=solver.prototxt", "--run_dir=disk/run", "--resume", "--set=max_iter=410")
            self.assertEqual(0, again.returncode, again.stderr)
            for name in os.listdir(self.folder):
                if re.match(r"run_iter_|run\.lock", name):
                    os.remove(self.path(name))
            self.unmount()
            if not full:
                break
        print("outcomes:", outcomes)
        self.assertFalse(full)
        self.assertGreater(len(outcomes), 5)


class FolderTest(own_mounts.MountCase):
    """Commands that write several files: all of them or none, so that the command can be repeated."""

    def check_each_size(self, sizes, *command):
        failed = 0
        for kib in sizes:
            self.mount(kib)
            run = self.doppio(*command)
            if run.returncode == 0:
                self.unmount()
                break
            failed += 1
            self.assertEqual(4, run.returncode, run.stderr)
            self.assertIn("No space left on device", run.stderr)
            self.assertEqual([], os.listdir(self.path("disk")))
            self.change("size=64m")
            again = self.doppio(*command)
            self.assertEqual(0, again.returncode, again.stderr)
            self.unmount()
        self.assertEqual(0, run.returncode)
        self.assertGreater(failed, 1)

    def write_classes(self):
        for i in range(8):
            for name in "ab":
                self.write("photos/%s/%d.png" % (name, i), scenario.png([[16 * i, 200], [40, 90]]))

    def test_init(self):
        self.write_classes()
        self.check_each_size(range(PAGE, 200, PAGE), "init", "photos", "disk/in/side")

    def test_parts_of_a_list(self):
        self.write_classes()
        self.check_each_size(range(PAGE, 200, PAGE), "data", "split", "photos", "disk/parts")

    def test_two_databases(self):
        for name in ["data_batch_%d" % i for i in range(1, 6)] + ["test_batch"]:
            self.write("cifar/%s.bin" % name, (bytes([1]) + bytes(range(256)) * 12) * 30)
        for backend in "lmdb", "leveldb":
            self.check_each_size(range(64, 4000, 128), "convert_cifar_data", "cifar", "disk", backend)


class SweepTest(own_mounts.MountCase):
    def results(self, folder):
        run = self.doppio("sweep", "ls", folder, "--json")
        self.assertEqual(0, run.returncode, run.stderr)
        return [(t["trial"], t["state"], t["values"], t["score"]) for t in json.loads(run.stdout)["trials"]]

    def sweep(self, folder):
        return self.doppio("sweep", "run", "--solver=solver.prototxt", "--sweep_dir=" + folder, "--jobs=1", "--seed=3",
                           "--param=base_lr=0.3,0.03")

    def test_full_at_each_page_of_a_sweep(self):
        self.write("net.prototxt", scenario.TINY_NET + """layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label"
  top: "accuracy" include { phase: TEST } }
""")
        self.write("solver.prototxt", scenario.ENDLESS_SOLVER.replace("max_iter: 1000000000", "max_iter: 20") +
                   "test_iter: 5 test_interval: 10\n")
        self.assertEqual(0, self.sweep("whole").returncode)
        wanted = sorted(self.results("whole"))
        failed = 0
        for kib in range(PAGE, 2000, 3 * PAGE):
            self.mount(kib)
            run = self.sweep("disk/sweep")
            # A trial that hits the full disk reports it in its own log.
            full = "No space left on device" in run.stdout + run.stderr or run.returncode != 0 or " failed" in run.stdout
            self.change("size=16m")
            begun = os.path.exists(self.path("disk/sweep/sweep.jsonl"))
            again = self.doppio("sweep", "resume", "disk/sweep") if begun else self.sweep("disk/sweep")
            rows = self.results("disk/sweep")
            # A failed trial stays failed; the results of the others are unaffected.
            self.assertEqual([w[0] for w in wanted], sorted(r[0] for r in rows))
            for row in rows:
                self.assertTrue(row in wanted or (full and row[1] == "failed"), (kib, row, again.stdout + again.stderr))
            all_failed = all(row[1] == "failed" for row in rows)
            self.assertEqual(int(all_failed), again.returncode, again.stdout + again.stderr)
            failed += full
            self.unmount()
            if not full:
                break
        print("%d sizes of a full disk" % failed)
        self.assertGreater(failed, 3)


if __name__ == "__main__":
    own_mounts.enter()
    junit.main()
