#!/usr/bin/env python3
"""Runs slurm_test.sh if SLURM is installed (.ci/run installs it). Needs root."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
import junit  # noqa: E402
import scenario  # noqa: E402

os.environ["PATH"] += ":/usr/sbin:/sbin"  # Bazel removes these folders
NO_SLURM = 77
MISSING = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name) is None]


class SlurmTest(scenario.Scenario):
    @unittest.skipIf(MISSING, "there is no program " + ", ".join(MISSING))
    @unittest.skipIf(os.geteuid() != 0, "slurmctld and slurmd need root")
    def test_a_job_is_stopped_requeued_and_resumed(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slurm_test.sh")
        done = subprocess.run(["bash", script, scenario.DOPPIO], env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace")
        if done.returncode == NO_SLURM:
            self.skipTest(done.stderr.strip())
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        print(done.stdout.strip())


if __name__ == "__main__":
    junit.main()
