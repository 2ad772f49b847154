#!/usr/bin/env python3
"""Tests a job of a batch system from start to end: PBS's script with the real mpirun, or with doppio launch, stopped before
its time limit, queued again, and trained to the end. Only qsub is a stand-in."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

NET = 'name: "tiny"\n' + scenario.TINY_NET
SOLVER = """net: "net.prototxt"
type: "SGD" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed"
random_seed: 5
max_iter: 1000000000
snapshot_prefix: "run"
"""


class JobTest(scenario.Scenario):
    def run_job(self, training, *flags):
        """Runs the job script. Returns its exit code and what it has queued again."""
        script = subprocess.run(
            [scenario.DOPPIO, "submit", "pbs", "--time=00:00:24", "--warn_seconds=15", "--ranks_per_node=2",
             "--program=" + scenario.DOPPIO, *flags, "--", "train", "--solver=solver.prototxt", *training],
            cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(0, script.returncode, script.stderr)
        self.write("job", script.stdout)
        self.write("queued", "")
        self.write("nodes", "localhost slots=2\n")
        self.write("qsub", '#!/bin/bash\necho "$@" >>queued\n')
        os.chmod(self.path("qsub"), 0o755)
        job = subprocess.run(["bash", "job"], cwd=self.folder, capture_output=True, text=True, timeout=120,
                             env=self.environment(**scenario.ONE_THREAD, PATH=self.folder + ":" + os.environ["PATH"],
                                                  OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                                  OMPI_MCA_rmaps_base_oversubscribe="1", PBS_O_WORKDIR=self.folder,
                                                  PBS_NODEFILE="nodes"))
        return job, self.read("queued").decode().split("\n")[:-1]

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_goes_on_until_it_is_done(self):
        self.check_that_it_goes_on()

    def test_goes_on_until_it_is_done_without_mpi(self):
        self.check_that_it_goes_on("--nompi")

    def check_that_it_goes_on(self, *flags):
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER)
        job, queued = self.run_job([], *flags)
        self.assertEqual((75, ["-v DOPPIO_JOB_RUNS=2 job"]), (job.returncode, queued), job.stderr)
        states = [f for f in os.listdir(self.folder) if f.endswith(".solverstate")]
        self.assertEqual(1, len(states), job.stderr)
        stopped = int(states[0].split("_iter_")[1].split(".")[0])
        self.assertGreater(stopped, 0)
        job, queued = self.run_job(["--set=max_iter=%d" % (stopped + 10)], *flags)
        self.assertEqual((0, []), (job.returncode, queued), job.stderr)
        self.assertIn("resuming from run_iter_%d.solverstate" % stopped, job.stderr)
        self.assertIn("run_iter_%d.solverstate" % (stopped + 10), os.listdir(self.folder))


if __name__ == "__main__":
    junit.main()
