#!/usr/bin/env python3
"""Tests that the relations of processes.py hold on small cases, and that each finds a mistake in a stand-in for the program."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402
import scenario  # noqa: E402

PROCESSES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "processes.py")

NET = """name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN } transform_param { scale: 0.01 mirror: true }
  data_param { backend: DIGITS size: 40 batch_size: 4 shuffle: true } }
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST } transform_param { scale: 0.01 }
  data_param { backend: DIGITS size: 30 batch_size: 7 } }
layer { name: "/conv//a" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 5 kernel_size: 5 stride: 3 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
layer { name: "drop" type: "Dropout" bottom: "pool" top: "pool" dropout_param { dropout_ratio: 0.2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip" param { name: "w" }
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "ip2" type: "InnerProduct" bottom: "pool" top: "ip2" param { name: "w" }
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "sum" type: "Eltwise" bottom: "ip" bottom: "ip2" top: "sum" }
layer { name: "accuracy" type: "Accuracy" bottom: "sum" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "sum" bottom: "label" top: "loss" }
"""
SOLVER = """net: "net.prototxt"
type: "Adam" base_lr: 0.01 momentum: 0.9 momentum2: 0.99 delta: 1e-6 lr_policy: "multistep" gamma: 0.5 stepvalue: 2 stepvalue: 5
random_seed: 7 max_iter: 3 test_iter: 2 test_interval: 2 average_loss: 3
"""
# The program with a mistake in one command.
STAND_IN = """#!%s
import os, signal, subprocess, sys, time
program, args = %r, sys.argv[1:]
def run():
    done = subprocess.run([program, *args], stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout
def change(path, old, new):
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace(old, new))
%s
os.execv(program, [program, *args])
"""
# Relation, and the mistake as code of the stand-in.
MISTAKES = {
    "crash": ("agreement", 'if args[0] == "summary": os.kill(os.getpid(), signal.SIGSEGV)'),
    "internal error": ("agreement", 'if args[0] == "check": sys.exit("internal error: net.cc:12")'),
    "hang": ("upgrade", 'if args[0] == "upgrade": time.sleep(600)'),
    "refusal of dry runs only": ("agreement", 'if "--dry_run" in args: sys.exit(3)'),
    "other shapes of dry runs": ("agreement", """if "--dry_run" in args:
    print(run()[1].replace("4x5x", "4x6x"))
    sys.exit(0)"""),
    "other random numbers after a resume": ("resume", """if any(a.startswith(("--resume", "--snapshot=")) for a in args):
    args.append("--seed=99")"""),
    "a signal without effect": ("resume", 'if args[0] == "train": args.append("--sigint_effect=none")'),
    "another rate of replicas": ("replicas", """if any(a.startswith("--cpu_replicas") for a in args):
    args.append("--set=base_lr=0.02")"""),
    "other weights of replicas": ("one_batch", """if "--batch_mode=total" in args:
    args.append("--seed=99")"""),
    "another rate of sharded updates": ("shard_update", """if "--shard_update" in args:
    args.append("--set=base_lr=0.02")"""),
    "other arrays": ("weights", """if args[-1].endswith(".npz"):
    import numpy
    run()
    arrays = dict(numpy.load(args[-1]))
    arrays[sorted(arrays)[0]] += 1
    numpy.savez(args[-1], **arrays)
    sys.exit(0)"""),
    "a lost sample": ("test_batch", """if "--batch=3" in args:
    print(run()[1].replace('"samples":30', '"samples":29').replace('"samples": 30', '"samples": 29'))
    sys.exit(0)"""),
    "another score": ("test_batch", """if "--batch=3" in args:
    args.append("--set=net.layer[data,phase=TEST].transform_param.scale=0.02")"""),
    "another stride": ("upgrade", """if args[:2] == ["upgrade", "net.prototxt"]:
    run()
    change(args[2], "stride: 3", "stride: 2")
    sys.exit(0)"""),
    "another pooling of the imported net": ("onnx", """if args[0] == "import":
    run()
    change(args[-1] + ".prototxt", "AVE", "MAX")
    sys.exit(0)"""),
}


class ProcessesTest(scenario.Scenario):
    def setUp(self):
        super().setUp()
        for seed in range(1, 7):
            self.write("cases/%d/net.prototxt" % seed, NET)
            self.write("cases/%d/solver.prototxt" % seed, SOLVER)
            self.write("cases/%d/traits" % seed, "kKinks kRandom\n")

    def check(self, relations, seeds="1:1", program=scenario.DOPPIO, **env):
        return subprocess.run(
            [sys.executable, PROCESSES, "--cases=" + self.path("cases"), "--relations=" + relations, "--seeds=" + seeds,
             "--program=" + program, "--ledger=" + self.path("ledger"), "--keep=" + self.path("found")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600, env={**os.environ, **env})

    def test_relations_hold(self):
        for relations, seeds in (("resume", 6), ("agreement,test_batch,commands,weights,onnx,upgrade,shard_update,one_batch", 1),
                                 ("replicas", 2), ("elastic", 1)):
            run = self.check(relations, "1:%d" % seeds)
            self.assertEqual(0, run.returncode, run.stdout)
            self.assertNotIn("left out:", run.stdout)
        with open(self.path("ledger"), encoding="utf-8") as f:
            counts = json.load(f)["relations"]
        self.assertEqual({"seeds": 6, "found": 0, "left_out": 0}, counts["processes/resume"])
        self.assertEqual(11, len(counts))

    def check_mistake(self, relation, code):
        self.write("stand_in", STAND_IN % (sys.executable, os.path.abspath(scenario.DOPPIO), code))
        os.chmod(self.path("stand_in"), 0o755)
        run = self.check(relation, "1:6" if relation == "resume" else "1:1", self.path("stand_in"), RANDOM_HANGS="15")
        self.assertEqual(1, run.returncode, run.stdout)
        self.assertRegex(run.stdout, r"FOUND: seed \d, " + relation)
        self.assertNotIn("Traceback", run.stdout)
        kept = os.listdir(self.path("found"))
        self.assertTrue(os.path.isfile(self.path("found/%s/commands.sh" % kept[0])), kept)

    def test_an_unknown_relation_is_named(self):
        run = self.check("resumes")
        self.assertEqual(2, run.returncode)
        self.assertIn("unknown relation 'resumes'; there are: resume, ", run.stdout)


def case_of(relation, code):
    return lambda self: self.check_mistake(relation, code)


for name, (relation, code) in MISTAKES.items():
    setattr(ProcessesTest, "test_finds_" + name.replace(" ", "_"), case_of(relation, code))


if __name__ == "__main__":
    junit.main()
