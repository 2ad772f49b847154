#!/usr/bin/env python3
"""Tests `sweep run --method=tpe` with a stand-in for Optuna, and with Optuna itself where it is installed."""
import importlib.util
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import sweep_case  # noqa: E402

# Chooses values by the seed and by all results that it gets, and writes these numbers to $CALLS.
OPTUNA = '''import os, random
if os.environ.get("OPTUNA_IS") == "missing":
    raise ImportError("no optuna")
class _distributions:
    class CategoricalDistribution:
        def __init__(self, choices): self.draw = lambda r: r.choice(choices)
    class FloatDistribution:
        def __init__(self, low, high, log=False): self.draw = lambda r: low * (high / low) ** r.random() if log else low + (high - low) * r.random()
    class IntDistribution:
        def __init__(self, low, high, step=1): self.draw = lambda r: r.randrange(low, high + 1, step)
class logging:
    WARNING = 30
    set_verbosity = staticmethod(lambda level: None)
class trial:
    @staticmethod
    def create_trial(params, distributions, value): return params, value
class samplers:
    class TPESampler:
        def __init__(self, seed): self.seed = seed
class Study:
    def __init__(self, sampler, direction): self.sampler, self.direction, self.known = sampler, direction, []
    def add_trial(self, trial): self.known.append(trial)
    def ask(self, distributions):
        if os.environ.get("OPTUNA_IS") == "broken":
            raise ValueError("a range of nothing")
        with open(os.environ["CALLS"], "a") as calls:
            calls.write("%d %d %s\\n" % (self.sampler.seed, len(self.known), self.direction))
        self.params = {}
        r = random.Random(repr((self.sampler.seed, self.known)))
        for name, distribution in distributions.items():
            self.params[name] = distribution.draw(r)
        return self
def create_study(sampler, direction): return Study(sampler, direction)
# A module, for `from optuna.distributions import ...`.
import sys, types
distributions = types.ModuleType("optuna.distributions")
vars(distributions).update(vars(_distributions))
sys.modules["optuna.distributions"] = distributions
'''
PARAMS = ["--param=base_lr=log:1e-3..1e-1", "--param=momentum=0.5,0.9", "--param=net.layer[data].data_param.batch_size=int:2..8:2"]


class TpeTest(sweep_case.SweepCase):
    def setUp(self):
        super().setUp()
        self.more = {"PYTHONPATH": self.path("가짜 fake"), "CALLS": self.path("calls"), "DOPPIO_PYTHON": sys.executable}
        self.write("가짜 fake/optuna/__init__.py", OPTUNA.replace("class _distributions:", "class _distributions:") +
                   "import sys, types\n_module = types.ModuleType('optuna.distributions')\n"
                   "vars(_module).update(vars(_distributions))\nsys.modules['optuna.distributions'] = _module\n")
        self.fill(max_iter=20, interval=10)

    def environment(self, **env):
        return super().environment(**{**self.more, **env})

    def arguments(self, folder, *args):
        return ("sweep", "run", "--solver=solver.prototxt", "--method=tpe", "--sweep_dir=" + folder, "--json", *PARAMS, *args)

    def tpe(self, folder, *args, code=0):
        run = self.doppio(*self.arguments(folder, *args))
        self.assertEqual(code, run.returncode, run.stdout + run.stderr)
        return json.loads(run.stdout) if code == 0 else run

    def calls(self):
        calls = [line.split() for line in self.read("calls").decode().splitlines()]
        os.remove(self.path("calls"))
        return [(int(seed), int(known)) for seed, known, _ in calls]

    def values(self, result):
        return [trial["values"] for trial in sorted(result["trials"], key=lambda trial: trial["trial"])]

    def test_each_trial_knows_the_results_before_it(self):
        whole = self.tpe("whole", "--trials=5", "--seed=7")
        # The first call finds out that Optuna is there.
        self.assertEqual([(7, 0), (7, 0), (8, 1), (9, 2), (10, 3), (11, 4)], self.calls())
        self.assertEqual(["done"] * 5, [trial["state"] for trial in whole["trials"]])
        for values in self.values(whole):
            self.assertTrue(1e-3 <= values["base_lr"] <= 1e-1, values)
            self.assertIn(values["momentum"], (0.5, 0.9))
            self.assertIn(values["net.layer[data].data_param.batch_size"], (2, 4, 6, 8))
        self.assertEqual(self.table(whole), self.table(self.tpe("again", "--trials=5", "--seed=7")))
        self.assertNotEqual(self.values(whole), self.values(self.tpe("other", "--trials=5", "--seed=8")))

    def test_concurrent_trials_do_not_depend_on_their_speed(self):
        first = self.tpe("a", "--trials=6", "--jobs=2")
        self.assertEqual([(1, 0), (1, 0), (2, 0), (3, 1), (4, 2), (5, 3), (6, 4)], self.calls())
        self.assertEqual(self.table(first), self.table(self.tpe("b", "--trials=6", "--jobs=2")))

    def test_killed_and_resumed_it_comes_out_the_same(self):
        self.fill(max_iter=1500, interval=500)
        whole = self.tpe("whole", "--trials=5")
        process = self.start(*self.arguments("killed", "--trials=5"), stdout=-3, stderr=-3)
        end = time.monotonic() + 120
        while len(self.events("killed", "end")) < 2:
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.assertLess(len(self.events("killed", "end")), 5)
        again = self.doppio("sweep", "resume", "killed", "--json")
        self.assertEqual(0, again.returncode, again.stderr)
        self.assertEqual(self.table(whole), self.table(json.loads(again.stdout)))

    def test_failed_trials_are_no_results(self):
        result = self.tpe("s", "--trials=6", "--param=net.layer[ip].inner_product_param.num_output=choice:10,5", "--seed=4")
        failed = sum(trial["state"] == "failed" for trial in result["trials"])
        self.assertGreater(failed, 0, "another seed is needed")
        last = [trial for trial in result["trials"] if trial["trial"] == 5][0]
        before = failed - (last["state"] == "failed")
        self.assertEqual(5 - before, self.calls()[-1][1])

    def check_refused(self, message, *args, code=2, **more):
        self.more.update(more)
        run = self.tpe("s", *args, code=code)
        self.assertIn(message, run.stderr)
        self.assertFalse(os.path.exists(self.path("s")))

    def test_mistakes_are_found_before_anything_runs(self):
        self.check_refused("--method=tpe needs --trials")
        self.check_refused("a range begins with log:", "--trials=3", "--param=x=1..2", code=3)
        self.check_refused("do not wait for each other", "--trials=3", "--emit=slurm", "--time=1:00:00")
        self.check_refused("--prune goes with", "--trials=3", "--prune=median:after=10")
        self.check_refused("Optuna in %s chooses no values for trial 0 (code 1): ValueError: a range of nothing" % sys.executable,
                           "--trials=3", OPTUNA_IS="broken")
        self.check_refused("--method=tpe needs Optuna, which %s does not have: %s -m pip install optuna; --python or DOPPIO_PYTHON "
                           "names another interpreter" % (sys.executable, sys.executable), "--trials=3", OPTUNA_IS="missing")
        self.check_refused("there is no program /nothing/python", "--trials=3", "--python=/nothing/python")

    def test_ask_leaves_the_trials_to_the_sweep(self):
        self.tpe("s", "--trials=1")
        run = self.doppio("sweep", "ask", "s")
        self.assertEqual(2, run.returncode)
        self.assertIn("the method tpe runs all trials itself", run.stderr)

    def test_optuna_chooses_reproducibly(self):
        if importlib.util.find_spec("optuna") is None:
            self.skipTest("Optuna is not installed")
        self.more["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
        first = self.tpe("a", "--trials=14", "--metric=min:loss")
        self.assertEqual(self.table(first), self.table(self.tpe("b", "--trials=14", "--metric=min:loss")))
        self.assertEqual(14, len({json.dumps(values) for values in self.values(first)}))


if __name__ == "__main__":
    junit.main()
