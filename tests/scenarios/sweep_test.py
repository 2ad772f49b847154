#!/usr/bin/env python3
"""Tests sweeps from outside: which trials run, what a kill costs, and which trial wins."""
import csv
import glob
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402
import sweep_case  # noqa: E402

PARAMS = ["--param=base_lr=0.3,0.03,0.003,0.0003", "--param=momentum=0.5,0.9,0.95"]


class SweepTest(sweep_case.SweepCase):
    def sweep(self, *args, code=0):
        run = self.doppio("sweep", *args)
        self.assertEqual(code, run.returncode, run.stdout + run.stderr)
        return run

    def run_sweep(self, folder, *args, code=0):
        run = self.sweep("run", "--solver=solver.prototxt", "--sweep_dir=" + folder, "--jobs=2", "--json", *args, code=code)
        return json.loads(run.stdout)

    def begin(self, folder, *args, until):
        """Starts a sweep. Returns its process once so many trials have ended and others are
        running."""
        process = self.start("sweep", "run", "--solver=solver.prototxt", "--sweep_dir=" + folder, "--jobs=2", *args,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        end = time.monotonic() + 60
        while len(self.events(folder, "end")) < until or not self.at_work(folder):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)
        return process

    def at_work(self, folder):
        """Returns true if a trial that has not ended has begun to train."""
        ended = [e["trial"] for e in self.events(folder, "end")]
        tests = self.path("%s/t%03d/metrics.jsonl")
        return any(os.path.exists(tests % (folder, e["trial"])) and os.path.getsize(tests % (folder, e["trial"])) > 0
                   for e in self.events(folder, "begin") if e["trial"] not in ended)

    def test_killed_and_resumed_it_comes_out_the_same(self):
        self.fill()
        whole = self.run_sweep("whole", *PARAMS)
        self.assertEqual(12, len(whole["trials"]))
        process = self.begin("killed", *PARAMS, until=5)
        process.kill()
        process.wait()
        self.assertLess(len(self.events("killed", "end")), 12)
        # Resumed from another folder: trials run where the sweep was started.
        os.mkdir(self.path("elsewhere"))
        again = subprocess.run([scenario.DOPPIO, "sweep", "resume", "../killed", "--json"], cwd=self.path("elsewhere"),
                               capture_output=True, text=True, timeout=120, env=self.environment())
        self.assertEqual(0, again.returncode, again.stderr)
        resumed = json.loads(again.stdout)
        self.assertEqual(self.table(whole), self.table(resumed))
        self.assertEqual(whole["best"], resumed["best"])
        # Trials that had ended have not run again.
        self.assertLess(len(self.events("killed", "begin")), 2 * 12)
        self.assertEqual(12, len(self.events("killed", "end")))

    def test_trials_of_a_killed_sweep_end(self):
        self.fill(max_iter=1000000000, interval=1000000)
        process = self.begin("killed", *PARAMS, until=0)
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="utf-8") as f:
            trials = f.read().split()
        self.assertTrue(trials)
        process.kill()
        process.wait()
        end = time.monotonic() + 30
        while any(map(self.runs, trials)) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual([], [pid for pid in trials if self.runs(pid)])

    def runs(self, pid):
        """Returns true if the process runs; a zombie does not count."""
        try:
            with open("/proc/%s/stat" % pid, encoding="utf-8") as f:
                return f.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def test_sigterm_stops_with_snapshots_and_says_how_to_go_on(self):
        self.fill(max_iter=1000000000, interval=1000000)
        process = self.begin("stopped", *PARAMS, until=0)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        self.assertEqual(75, process.returncode, log)
        self.assertIn("to continue: doppio sweep resume", log)
        # The other one of the two trials may not have begun yet.
        self.assertTrue(glob.glob(self.path("stopped/t00[01]/*.solverstate")), log)
        self.assertEqual([], self.events("stopped", "end"))

    def test_halving_finds_the_best_of_the_grid_in_less(self):
        self.fill(max_iter=450, interval=50)
        params = ["--param=base_lr=log:1e-6..1e-1:6", "--param=momentum=0,0.5", "--metric=min:loss"]
        grid = self.run_sweep("grid", *params)
        halving = self.run_sweep("halving", "--method=halving", *params)
        best = {r["sweep"].rsplit("/")[-1]: r["trials"][0]["score"] for r in (grid, halving)}
        self.assertLessEqual(best["halving"], 1.001 * best["grid"], (self.table(grid), self.table(halving)))
        iterations = sum(t["iter"] for t in halving["trials"])
        self.assertLessEqual(iterations, 0.4 * sum(t["iter"] for t in grid["trials"]))
        self.assertEqual(450, halving["trials"][0]["iter"])
        # A survivor, which was stopped twice, gets the score of a trial that was not stopped.
        same = [t for t in grid["trials"] if t["trial"] == halving["best"]][0]
        self.assertEqual(same["score"], halving["trials"][0]["score"])

    def test_random_trials_are_those_of_the_seed(self):
        self.fill(max_iter=10, interval=5)
        args = ["--param=base_lr=log:1e-4..1e-1", "--trials=3"]
        first = self.run_sweep("a", *args)
        self.assertEqual(self.table(first), self.table(self.run_sweep("b", *args)))
        other = self.run_sweep("c", "--seed=5", *args)
        self.assertNotEqual([t[2] for t in self.table(first)], [t[2] for t in self.table(other)])

    def test_a_failed_trial_is_a_row_and_the_rest_goes_on(self):
        self.fill(max_iter=10, interval=5)
        result = self.run_sweep("s", "--param=net.layer[ip].inner_product_param.num_output=10,5")
        states = {t["values"]["net.layer[ip].inner_product_param.num_output"]: t for t in result["trials"]}
        self.assertEqual("done", states[10]["state"])
        self.assertEqual("failed", states[5]["state"])
        self.assertIn("label", states[5]["error"])

    def test_when_all_fail_the_first_error_is_shown(self):
        self.fill(max_iter=10, interval=5)
        run = self.sweep("run", "--solver=solver.prototxt", "--sweep_dir=s", "--param=net.layer[ip].inner_product_param.num_output=4,5",
                         code=1)
        self.assertIn("error: all trials failed; the first one, t000: ", run.stderr)
        self.assertIn("label", run.stderr.split("t000: ")[-1])

    def test_pruning_ends_the_worst(self):
        # The trial with the rate 1e-9 learns nothing, and four other scores are known. It trains for seconds, so that a busy
        # machine looks at it before it ends.
        self.fill(max_iter=40000, interval=500)
        result = self.run_sweep("s", "--param=base_lr=0.03,0.02,0.025,0.015,1e-9", "--prune=median:after=500")
        states = {t["values"]["base_lr"]: t for t in result["trials"]}
        self.assertEqual("done", states[0.03]["state"])
        self.assertEqual(("pruned", 500), (states[1e-9]["state"], states[1e-9]["iter"]))
        self.assertLess(int(json.loads(self.read("s/t004/run.json"))["iter"]), 40000)

    def test_best_prints_a_command_that_trains(self):
        self.fill(max_iter=10, interval=5)
        result = self.run_sweep("s", "--param=base_lr=0.1,0.0001", "--", "--batch=8")
        command = shlex.split(self.sweep("best", "s").stdout)
        self.assertEqual(["doppio", "train", "--solver=solver.prototxt", "--batch=8"], command[:4])
        self.assertIn("--set=base_lr=%g" % result["trials"][0]["values"]["base_lr"], command)
        trained = self.doppio(*command[1:], "--json")
        self.assertEqual(0, trained.returncode, trained.stderr)
        scores = {o["name"]: o["value"] for o in json.loads(trained.stdout)["tests"][0]["outputs"]}
        self.assertAlmostEqual(result["trials"][0]["score"], scores["accuracy"], places=5)

    def test_ls_as_text_and_csv(self):
        self.fill(max_iter=10, interval=5)
        os.mkdir(self.path("runs"))
        self.run_sweep("runs/s", "--param=base_lr=0.1,0.0001")
        self.assertIn("2 trials: 2 done", self.sweep("ls").stdout)
        text = self.sweep("ls", "runs/s").stdout
        self.assertIn("★", text)
        self.assertRegex(text, r"(?m)^ +# +state +base_lr +last accuracy +iter +seconds +images/s +run$")
        rows = list(csv.DictReader(io.StringIO(self.sweep("ls", "runs/s", "--csv").stdout)))
        self.assertEqual({"0.1", "0.0001"}, {row["base_lr"] for row in rows})
        self.assertEqual({"done"}, {row["state"] for row in rows})
        self.assertTrue(all(float(row["images_per_s"]) > 0 for row in rows), rows)

    def test_runs_and_reports_have_the_trials(self):
        self.fill(max_iter=10, interval=5)
        os.mkdir(self.path("runs"))
        self.run_sweep("runs/s", "--param=base_lr=0.1,0.0001", "--", "--monitor=max:accuracy")
        self.train("--run_dir=runs/alone", "--set=snapshot_prefix=alone")
        names = ["alone", "s/t000", "s/t001"]
        listed = json.loads(self.doppio("runs", "ls", "--json").stdout)["runs"]
        self.assertEqual(names, [run["name"] for run in listed])
        table = self.doppio("runs", "ls").stdout
        self.assertRegex(table, r"(?m)^ s/t000 +finished +10/10 +accuracy ")
        self.assertEqual(names, re.findall(r"(?m)^ ((?:alone|s)\S*)  ", table))
        self.assertIn("finished", self.doppio("runs", "show", "s/t001").stdout)
        self.assertEqual(3, json.loads(self.doppio("report", "runs", "--json").stdout)["runs"])
        data = re.search(rb'id="data">(.*?)</script>', self.read("report.html"), re.S).group(1)
        runs = json.loads(data)["runs"]
        self.assertEqual(names, [run["name"] for run in runs])
        self.assertNotIn("monitor", runs[1]["settings"])

    def test_a_running_trial_shows_how_far_it_is(self):
        self.fill(max_iter=1000000000, interval=1000000)
        self.begin("s", "--param=base_lr=0.1,0.2", until=0)
        running = [t for t in json.loads(self.sweep("ls", "s", "--json").stdout)["trials"] if t["state"] == "running"]
        self.assertGreater(max(t["iter"] for t in running), 0)
        self.assertGreater(max(t["seconds"] for t in running), 0)
        self.assertGreater(max(t["images_per_s"] or 0 for t in running), 0)

    def test_ask_and_tell_run_a_sweep(self):
        self.fill(max_iter=10, interval=5)
        folder = self.sweep("new", "--method=ask", "--solver=solver.prototxt", "--sweep_dir=s").stdout.strip()
        asked = [json.loads(self.sweep("ask", folder, "--set=base_lr=0.0%d" % i).stdout) for i in (1, 2, 3)]
        self.assertEqual([0, 1, 2], [a["trial"] for a in asked])
        trained = subprocess.run(asked[0]["command"], cwd=self.folder, capture_output=True, text=True, timeout=60,
                                 env=self.environment())
        self.assertEqual(0, trained.returncode, trained.stderr)
        told = json.loads(self.sweep("tell", folder, "0").stdout)
        self.assertEqual("done", told["state"], told)
        self.assertGreater(json.loads(self.sweep("ls", folder, "--json").stdout)["trials"][0]["seconds"], 0)
        self.assertEqual("done", json.loads(self.sweep("tell", folder, "1", "2.5").stdout)["state"])
        self.assertEqual("failed", json.loads(self.sweep("tell", folder, "2", "failed").stdout)["state"])
        best = json.loads(self.sweep("best", folder, "--json").stdout)
        self.assertEqual((1, 2.5, {"base_lr": 0.02}), (best["trial"], best["score"], best["values"]))
        self.assertIn("has already ended", self.sweep("tell", folder, "0", "1", code=2).stderr)

    def test_a_stopped_trial_is_not_done(self):
        self.fill(max_iter=1000000000, interval=5)
        folder = self.sweep("new", "--method=ask", "--solver=solver.prototxt", "--sweep_dir=s").stdout.strip()
        asked = [json.loads(self.sweep("ask", folder, "--set=base_lr=0.0%d" % i).stdout) for i in (1, 2)]
        trial = subprocess.Popen(asked[0]["command"], cwd=self.folder, env=self.environment(),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        metrics = os.path.join(self.folder, asked[0]["run"], "metrics.jsonl")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (os.path.exists(metrics) and os.path.getsize(metrics)):
            time.sleep(0.05)
        trial.send_signal(signal.SIGTERM)
        self.assertEqual(75, trial.wait(60))
        told = json.loads(self.sweep("tell", folder, "0").stdout)
        self.assertEqual(("stopped", None), (told["state"], told["error"]))
        self.assertGreater(told["iter"], 0)
        self.assertEqual("done", json.loads(self.sweep("tell", folder, "1", "0.0001").stdout)["state"])
        listed = {t["trial"]: t for t in json.loads(self.sweep("ls", folder, "--json").stdout)["trials"]}
        self.assertEqual({0: "stopped", 1: "done"}, {number: t["state"] for number, t in listed.items()})
        self.assertGreater(listed[0]["seconds"], 0)
        self.assertIn("2 trials: 1 done, 1 stopped", self.sweep("ls", folder).stdout)
        # A better score of an unfinished training does not win.
        self.assertEqual(1, json.loads(self.sweep("best", folder, "--json").stdout)["trial"])
        # A trial may be told again after a stop, with its own result or as pruned.
        told = json.loads(self.sweep("tell", folder, "0", "pruned").stdout)
        self.assertEqual("pruned", told["state"])
        rows = {t["trial"]: t for t in json.loads(self.sweep("ls", folder, "--json").stdout)["trials"]}
        self.assertAlmostEqual(listed[0]["seconds"], rows[0]["seconds"], places=2)
        self.assertIn("has already ended", self.sweep("tell", folder, "0", code=2).stderr)

    def test_a_score_may_be_negative(self):
        self.fill(max_iter=10, interval=5)
        folder = self.sweep("new", "--method=ask", "--solver=solver.prototxt", "--sweep_dir=s", "--metric=min:loss").stdout.strip()
        for score in ("-2.5", "-.5"):
            trial = json.loads(self.sweep("ask", folder, "--set=base_lr=0.1").stdout)["trial"]
            self.assertEqual(float(score), json.loads(self.sweep("tell", folder, str(trial), score).stdout)["score"])
        self.assertEqual(-2.5, json.loads(self.sweep("best", folder, "--json").stdout)["score"])

    def test_a_trial_is_scored_once(self):
        self.fill(max_iter=10, interval=5)
        self.sweep("new", "--method=ask", "--solver=solver.prototxt", "--sweep_dir=s")
        self.sweep("ask", "s", "--set=base_lr=0.1")
        tellers = [self.start("sweep", "tell", "s", "0", str(score)) for score in range(4)]
        self.assertEqual([0, 2, 2, 2], sorted(teller.wait(timeout=60) for teller in tellers))
        self.assertEqual(1, len(self.events("s", "end")))

    def test_lists_all_sweeps_but_damaged_ones(self):
        self.fill(max_iter=10, interval=5)
        self.assertEqual("no sweeps in 'runs'\n", self.sweep("ls").stdout)
        self.assertEqual({"sweeps": []}, json.loads(self.sweep("ls", "--json").stdout))
        self.sweep("new", "--method=ask", "--solver=solver.prototxt", "--sweep_dir=good")
        os.mkdir(self.path("runs"))
        os.rename(self.path("good"), self.path("runs/good"))
        self.write("runs/bad/sweep.jsonl", "{}\n")
        run = self.sweep("ls", "--json", code=4)
        self.assertEqual(["good"], [os.path.basename(s["sweep"]) for s in json.loads(run.stdout)["sweeps"]])
        self.assertIn("bad/sweep.jsonl:1", run.stderr)
        self.assertIn("good", self.sweep("ls", code=4).stdout)

    def test_numbers_are_numbers(self):
        self.fill(max_iter=10, interval=5)
        result = self.run_sweep("s", "--param=base_lr=0.10,1e-4", "--param=type=SGD", "--param=iter_size=1")
        values = {t["trial"]: t["values"] for t in result["trials"]}
        self.assertEqual({0: {"base_lr": 0.1, "type": "SGD", "iter_size": 1}, 1: {"base_lr": 0.0001, "type": "SGD", "iter_size": 1}}, values)
        self.assertIsInstance(values[0]["iter_size"], int)
        self.assertEqual(values, {e["trial"]: e["values"] for e in self.events("s", "begin")})
        # A journal of an older version has no values.
        lines = [json.loads(line) for line in self.read("s/sweep.jsonl").splitlines()]
        self.write("s/sweep.jsonl", "".join(json.dumps({k: v for k, v in line.items() if k != "values"}) + "\n" for line in lines))
        old = json.loads(self.sweep("ls", "s", "--json").stdout)
        self.assertEqual(values, {t["trial"]: t["values"] for t in old["trials"]})

    def test_a_folder_of_init_is_a_solver(self):
        self.fill(max_iter=10, interval=5)
        os.mkdir(self.path("내 사진 1"))
        self.write("내 사진 1/solver.prototxt", self.read("solver.prototxt"))
        run = self.sweep("run", "내 사진 1", "--sweep_dir=s", "--param=base_lr=0.1", "--json", "--", "--batch=8")
        result = json.loads(run.stdout)
        self.assertEqual(["done"], [t["state"] for t in result["trials"]])
        command = shlex.split(self.sweep("best", "s").stdout)
        self.assertEqual(["doppio", "train", "--solver=내 사진 1/solver.prototxt", "--batch=8"], command[:4])
        self.check_refused_folder("both name a solver", "내 사진 1", "--solver=solver.prototxt", "--param=base_lr=1")
        self.check_refused_folder("is neither a folder of 'doppio init' nor a flag of train", "nothing", "--solver=solver.prototxt", "--param=base_lr=1")
        os.mkdir(self.path("empty"))
        self.check_refused_folder("has no solver.prototxt", "empty", "--param=base_lr=1", code=4)

    def check_refused_folder(self, message, *args, code=2):
        self.assertIn(message, self.sweep("run", "--sweep_dir=t", *args, code=code).stderr)
        self.assertFalse(os.path.exists(self.path("t")))

    def test_best_runs_where_the_sweep_ran(self):
        self.fill(max_iter=10, interval=5)
        self.write("solver.prototxt", self.read("solver.prototxt").replace(b'"unused"', b'"snap/l"'))
        self.run_sweep("s", "--param=base_lr=0.1")
        command = shlex.split(self.sweep("best", "s").stdout)
        os.mkdir(self.path("snap"))  # trials write to their own folders, this command to that of the solver
        trained = self.doppio(*command[1:])
        self.assertEqual(0, trained.returncode, trained.stderr)
        self.assertTrue(os.path.exists(self.path("snap/l_iter_10.caffemodel")))

    def test_an_array_job_runs_all_trials(self):
        self.fill(max_iter=10, interval=5)
        script = self.sweep("run", "--solver=solver.prototxt", "--sweep_dir=s", "--param=base_lr=0.1,0.01,0.001", "--emit=slurm",
                            "--time=01:00:00", "--job_name=rates").stdout
        self.assertIn("#SBATCH --array=0-2\n", script)
        command = [line for line in script.split("\n") if line.startswith("srun")][0]
        for task in ("2", "0", "1"):
            words = [task if w == "$SLURM_ARRAY_TASK_ID" else w for w in shlex.split(command)]
            run = subprocess.run(words[3:], cwd=self.folder, capture_output=True, text=True, timeout=60, env=self.environment())
            self.assertEqual(0, run.returncode, run.stderr)
        self.assertIn("3 trials: 3 done", self.sweep("ls", "s").stdout)

    def check_refused(self, message, *args, code=2):
        run = self.sweep("run", "--solver=solver.prototxt", "--sweep_dir=s", *args, code=code)
        self.assertIn(message, run.stderr)
        self.assertFalse(os.path.exists(self.path("s")))

    def test_mistakes_are_found_before_anything_runs(self):
        self.fill(max_iter=10, interval=5)
        self.check_refused("what to vary?")
        self.check_refused("unknown field", "--param=bse_lr=1,2", code=3)
        self.check_refused("--set base_lr=much", "--param=base_lr=0.1,much", code=3)
        self.check_refused("did you mean 'accuracy'?", "--param=base_lr=1,2", "--metric=max:acuracy", code=3)
        self.check_refused("this parameter is given twice", "--param=base_lr=1", "--param=base_lr=2", code=3)
        self.check_refused("tests nothing", "--param=base_lr=1,2", "--set=test_iter=[]", "--set=test_interval=0", code=3)
        self.check_refused("a trial would end before its first test: test_interval 20 is more than max_iter 10; set a smaller test_interval",
                           "--param=base_lr=1,2", "--set=test_interval=20", "--set=test_initialization=false", code=3)
        self.check_refused("test_interval 20 is more than max_iter 10", "--param=base_lr=1,2", "--set=test_interval=20",
                           "--set=test_last=false", code=3)
        self.check_refused("test_epoch 5 is more than max_epoch 2", "--param=base_lr=1,2", "--unset=test_interval", "--unset=max_iter",
                           "--set=max_epoch=2", "--set=test_epoch=5", "--set=test_last=false", code=3)
        self.check_refused("follows max_iter", "--param=base_lr=1,2", "--method=halving", "--set=lr_policy=poly",
                           "--set=power=1", code=3)
        self.check_refused("neither max_iter nor test_interval", "--param=max_iter=10,20", "--method=halving")
        self.check_refused("a grid needs a number of points", "--param=base_lr=log:1..2")
        self.check_refused("--gpus=99", "--param=base_lr=1,2", "--gpus=99", code=5)
        self.check_refused("needs --trials", "--param=base_lr=log:1..2", "--method=random")
        self.check_refused("leave out --trials", "--param=base_lr=1,2", "--method=grid", "--trials=3")
        self.check_refused("--prune needs median:after=N", "--param=base_lr=1,2", "--prune=mean")
        self.check_refused("num_output must be positive", "--param=net.layer[ip].inner_product_param.num_output=10,0", code=3)
        self.check_refused("unknown lr_policy 'stepp'; did you mean 'step'?", "--param=lr_policy=fixed,stepp", code=3)
        self.check_refused("add --monitor", "--param=base_lr=1,2", "--", "--keep_best")
        self.check_refused("--monitor max:acuracy: error: no test net makes 'acuracy'", "--param=base_lr=1,2", "--", "--monitor=max:acuracy",
                           code=3)
        self.check_refused("the sweep itself gives --resume", "--param=base_lr=1,2", "--", "--resume=auto")
        self.check_refused("the sweep itself gives --solver", "--param=base_lr=1,2", "--", "--solver=other.prototxt")
        self.check_refused("no test net makes 'score'; its outputs are accuracy, loss", "--param=base_lr=1,2", "--metric=max:score", code=3)
        self.check_refused("put flags of train after --", "--param=base_lr=1,2", "--batch=8")
        self.check_refused("do not wait for each other", "--param=base_lr=1,2", "--method=halving", "--emit=slurm", "--time=1:00")
        self.assertIn("cannot open", self.sweep("ls", "nothing", code=4).stderr)
        self.assertIn("'sweep' needs", self.sweep("walk", code=2).stderr)

    def test_one_process_at_a_time(self):
        self.fill(max_iter=1000000000, interval=1000000)
        self.begin("s", "--param=base_lr=0.1,0.2", until=0)
        self.assertIn("another process runs", self.sweep("resume", "s", code=4).stderr)


if __name__ == "__main__":
    junit.main()
