#!/usr/bin/env python3
"""Tests sweeps as jobs of SLURM, with stand-ins for sbatch, squeue, scancel, srun and scontrol. tests/cluster/slurm_test.sh runs a
sweep with the real ones."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import sweep_case  # noqa: E402

# A queue whose jobs all run at once. Each job has a file with the number of its process group in $SLURM/jobs.
# scancel takes some real time, as SLURM's does.
PROGRAMS = {
    "sbatch": """
[ ! -e "$SLURM/refuses" ] || { echo "sbatch: error: invalid account" >&2; exit 1; }
for word in "$@"; do
  case $word in
    --array=*) task=${word#*=} ;;
    --output=*) log=${word#*=} ;;
    --chdir=*) cd "${word#*=}" || exit 1 ;;
    --*) ;;
    *) script=$word ;;
  esac
done
id=$(($(ls "$SLURM/all" | wc -l) + 100))
touch "$SLURM/all/$id" "$SLURM/jobs/$id"
SLURM_ARRAY_TASK_ID=$task SLURM_JOB_ID=$id setsid bash -c \\
  'echo $$ >"$SLURM/jobs/$SLURM_JOB_ID"; bash "$1"; rm "$SLURM/jobs/$SLURM_JOB_ID"' - "$script" >>"$log" 2>&1 </dev/null &
echo "$id;cluster"
""",
    "squeue": """[ ! -e "$SLURM/down" ] || exit 1
ls "$SLURM/jobs" """,
    "scancel": """touch "$SLURM/cancelled.$1"; kill -TERM -- "-$(cat "$SLURM/jobs/$1")"; sleep 0.3; rm -f "$SLURM/jobs/$1" """,
    "srun": """while [[ $1 == --* ]]; do shift; done
exec "$@" """,
    "scontrol": "exit 0",
}


class SweepSlurmTest(sweep_case.SweepCase):
    def setUp(self):
        super().setUp()
        for folder in ("bin", "jobs", "all"):
            os.makedirs(self.path("slurm/" + folder))
        for name, script in PROGRAMS.items():
            self.write("slurm/bin/" + name, "#!/bin/bash\n" + script)
            os.chmod(self.path("slurm/bin/" + name), 0o755)
        self.addCleanup(self.end_jobs)

    def end_jobs(self):
        for job in os.listdir(self.path("slurm/jobs")):
            group = self.read("slurm/jobs/" + job).strip()
            if group:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(int(group), signal.SIGKILL)

    def environment(self, **env):
        return super().environment(SLURM=self.path("slurm"),
                                   PATH=self.path("slurm/bin") + ":" + os.environ["PATH"], **env)

    def arguments(self, folder, *args):
        return ("sweep", "run", "--solver=solver.prototxt", "--sweep_dir=" + folder, "--json", *args)

    def queued(self, folder, *args, code=0):
        run = self.doppio(*self.arguments(folder, "--on=slurm", "--jobs=2", "--time=01:00:00", *args))
        self.assertEqual(code, run.returncode, run.stdout + run.stderr)
        return run

    def test_gives_the_table_of_a_sweep_here(self):
        self.fill()
        args = ["--param=base_lr=0.3,0.03,0.003", "--", "--batch=8"]
        here = self.doppio(*self.arguments("here", *args))
        self.assertEqual(0, here.returncode, here.stderr)
        there = self.queued("s", *args)
        self.assertEqual(self.table(json.loads(here.stdout)), self.table(json.loads(there.stdout)))
        self.assertIn("t000 is job 100", there.stderr)
        self.assertIn("t002 done at iteration 200, accuracy ", there.stderr)
        self.assertEqual(3, len(os.listdir(self.path("slurm/all"))))
        self.assertIn("#SBATCH --time=01:00:00\n", self.read("s/job.sh").decode())

    def test_halving_submits_each_rung(self):
        self.fill(max_iter=450, interval=50)
        args = ["--param=base_lr=log:1e-6..1e-1:6", "--method=halving", "--metric=min:loss"]
        here = self.doppio(*self.arguments("here", *args))
        self.assertEqual(self.table(json.loads(here.stdout)), self.table(json.loads(self.queued("s", *args).stdout)))

    def test_survives_its_own_death(self):
        self.fill(max_iter=1500, interval=500)
        process = self.start(*self.arguments("s", "--on=slurm", "--jobs=2", "--time=01:00:00", "--param=base_lr=0.3,0.03,0.003"),
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for(lambda: os.path.exists(self.path("s/t001.job")))
        process.kill()
        process.wait()
        again = self.doppio("sweep", "resume", "s", "--json")
        self.assertEqual(0, again.returncode, again.stderr)
        self.assertEqual(["done"] * 3, [row[1] for row in sorted(self.table(json.loads(again.stdout)))])
        # No trial ran twice, although the first process has seen no trial end.
        self.assertEqual(3, len(self.events("s", "begin")))
        self.assertEqual(3, len(os.listdir(self.path("slurm/all"))))

    def test_leaves_its_jobs_in_the_queue_when_it_is_stopped(self):
        self.fill(max_iter=1000000000, interval=1000000)
        process = self.start(*self.arguments("s", "--on=slurm", "--jobs=2", "--time=01:00:00", "--param=base_lr=0.3,0.03,0.003"),
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.wait_for(lambda: os.path.exists(self.path("s/t001.job")))
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=60)
        self.assertEqual(75, process.returncode, log)
        self.assertIn("2 jobs stay in the queue and continue", log)
        self.assertEqual(2, len(os.listdir(self.path("slurm/jobs"))))

    def test_pruning_cancels_the_job(self):
        # Trials take several seconds, so that none ends before it is pruned.
        self.fill(max_iter=200000, interval=500)
        run = self.doppio(*self.arguments("s", "--on=slurm", "--jobs=5", "--time=01:00:00", "--prune=median:after=500",
                                          "--param=base_lr=0.03,0.02,0.025,0.015,1e-9"))
        self.assertEqual(0, run.returncode, run.stderr)
        states = {values["base_lr"]: (state, iteration) for _, state, values, _, iteration, _ in self.table(json.loads(run.stdout))}
        self.assertEqual("pruned", states[1e-9][0])
        job = re.search(r"t004 is job (\d+)", run.stderr).group(1)
        self.assertTrue(os.path.exists(self.path("slurm/cancelled." + job)))

    def test_a_cancelled_job_waits_for_the_next_resume(self):
        self.fill(max_iter=1000000000, interval=1000000)
        process = self.start(*self.arguments("s", "--on=slurm", "--jobs=2", "--time=01:00:00", "--param=base_lr=0.3,0.03"),
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.wait_for(lambda: len(self.events("s", "begin")) == 2)
        for job in ("100", "101"):
            subprocess.run([self.path("slurm/bin/scancel"), job], env=self.environment(), check=True)
        _, log = process.communicate(timeout=60)
        self.assertEqual(75, process.returncode, log)
        self.assertIn("t000: job 100 left the queue before the trial had ended; see t000.log", log)
        self.assertIn("to continue: doppio sweep resume", log)

    def test_says_why_it_cannot_submit(self):
        self.fill()
        self.write("slurm/refuses", "")
        run = self.queued("s", "--param=base_lr=0.3,0.03", code=4)
        self.assertIn("sbatch refused the job (code 1): sbatch: error: invalid account", run.stderr)
        os.remove(self.path("slurm/refuses"))
        self.write("slurm/down", "")
        run = self.doppio("sweep", "resume", "s")
        self.assertEqual(4, run.returncode, run.stderr)
        self.assertIn("SLURM does not answer: squeue failed", run.stderr)
        for args, text in ((["--on=slurm"], "--time needs HH:MM:SS"), (["--on=pbs"], "--on needs here or slurm"),
                           (["--on=slurm", "--emit=slurm", "--time=1:00"], "give one of them"),
                           (["--on=slurm", "--gpus=0", "--time=1:00"], "use --gpus=all")):
            run = self.doppio(*self.arguments("t", "--param=base_lr=0.3,0.03", *args))
            self.assertEqual(2, run.returncode, run.stderr)
            self.assertIn(text, run.stderr)
            self.assertFalse(os.path.exists(self.path("t")))

    def wait_for(self, done):
        end = time.monotonic() + 60
        while not done():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)


if __name__ == "__main__":
    junit.main()
