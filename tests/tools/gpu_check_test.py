#!/usr/bin/env python3
"""Tests gpu_check with stand-ins for doppio and its tests: the steps, their order and time limits,
repeated calls, and the report."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402

CHECK = os.path.join(os.getcwd(), "tools/gpu_check")
DOPPIO = """#!/usr/bin/env python3
import json, os, sys
word = sys.argv[1]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "calls"), "a") as f:
    f.write(" ".join(sys.argv[1:]) + "\\n")
if word == "device_query":
    usable = os.environ.get("PLAY_NO_GPU") is None
    print(json.dumps({"gpus": [{"index": i, "name": "A GPU", "description": "played", "usable": usable}
                               for i in range(int(os.environ.get("PLAY_GPUS", 1)))]}))
elif word == "version":
    print("doppio 1.2.3")
elif word == "time":
    print("a line\\n" + json.dumps({"images_per_second": 100.0 if "bf16" in " ".join(sys.argv) else 50.0,
                                    "peak_memory_bytes": 3 << 20, "gpu": {"utilization_percent": 97}, "data_wait": 0.1}))
elif word == "train":
    for i in range(60):
        print("Iteration %d (1 iter/s), loss = %g" % (i, 2 + float(os.environ.get("PLAY_DRIFT", 0)) * ("--gpu=0" in sys.argv)))
    print("accuracy = 0.995")
"""
TESTS = """#!/usr/bin/env python3
import os, time
time.sleep(float(os.environ.get("PLAY_SECONDS", 0)))
if os.environ.get("PLAY_FAILURE"):
    print("[  FAILED  ] Pooling.Agrees")
print("12 tests from 3 test suites ran. (5 ms total)")
raise SystemExit(1 if os.environ.get("PLAY_FAILURE") else 0)
"""
PEER = """#!/usr/bin/env python3
import sys
print("lenet 1024 %g" % (200.0 if "--compile" in sys.argv else 80.0))
"""


class GpuCheckTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        for name, text in (("doppio", DOPPIO), ("gpu_tests", TESTS), ("draw_photos", "#!/bin/sh\n"), ("peer", PEER)):
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(path, 0o755)
        self.out = os.path.join(self.folder, "out")

    def check(self, *args, code=0, **env):
        ended = subprocess.run([sys.executable, CHECK, "--programs", self.folder, "--out", self.out, "--runs=1", *args],
                               capture_output=True, text=True, env={**os.environ, **env}, timeout=120)
        self.assertEqual(code, ended.returncode, ended.stdout + ended.stderr)
        return ended.stdout + ended.stderr

    def report(self):
        with open(os.path.join(self.out, "gpu_check.json"), encoding="utf-8") as f:
            return json.load(f)

    def table(self):
        with open(os.path.join(self.out, "gpu_check.md"), encoding="utf-8") as f:
            return f.read()

    def calls(self):
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as f:
            return f.read()

    def test_the_most_valuable_steps_come_first(self):
        listed = self.check("--list", "--peer=x").split()
        order = [listed.index(name) for name in ("machine", "layers-1", "mnist", "replicas", "speed-lenet", "peer-lenet",
                                                 "speed-vgg16", "input", "memcheck")]
        self.assertEqual(sorted(order), order)

    def test_a_second_call_goes_on_with_what_is_missing(self):
        self.check("--only=layers")
        self.assertEqual({"layers-1", "layers-2", "layers-3"}, set(self.report()["steps"]))
        output = self.check("--only=layers,device")
        self.assertIn("step      device", output)
        self.assertNotIn("step      layers", output)
        self.assertIn("step      layers-1", self.check("--only=layers", "--again"))

    def test_no_step_begins_that_may_not_end_in_time(self):
        output = self.check("--only=device,links", "--minutes=0.5", "--step-seconds=100", code=2)
        self.assertIn("no time for device links", output)
        self.assertIn("| device | | | not run | |", self.table())

    def test_a_step_is_ended_at_its_limit(self):
        output = self.check("--only=device", "--step-seconds=1", code=1, PLAY_SECONDS="60")
        self.assertIn("ended after 1 s", self.table())
        self.assertIn("1 failed", output)

    def test_a_step_that_was_ended_is_repeated_after_the_missing_ones(self):
        self.check("--only=device", "--step-seconds=1", code=1, PLAY_SECONDS="60")
        output = self.check("--only=device,links")
        self.assertLess(output.index("step      links"), output.index("step      device"))
        self.assertNotIn("ended after", self.table())
        self.assertNotIn("step      ", self.check("--only=device,links"))

    def test_failed_tests_are_named(self):
        self.check("--only=device", code=1, PLAY_FAILURE="1")
        self.assertIn("failed: Pooling.Agrees", self.table())

    def test_a_machine_without_a_gpu_is_reported(self):
        self.assertIn("a GPU is there", self.check("--only=device", code=1, PLAY_NO_GPU="1"))

    def test_speeds_stand_beside_the_best_of_the_peer(self):
        self.check("--only=speed,peer", "--nets=lenet", "--peer", os.path.join(self.folder, "peer"), "--precisions=bf16,fp32")
        row = next(line for line in self.table().splitlines() if line.startswith("| lenet |"))
        self.assertEqual("| lenet | 1024 | 100.0 | 50.0 | 200.0 | 80.0 | 80.0 | 0.50 | 3 | 97 |", row)

    def test_losses_that_differ_fail(self):
        self.check("--only=moves")
        self.check("--only=moves", "--again", code=1, PLAY_DRIFT="0.5")

    def test_layers_on_two_gpus_are_compared_with_one(self):
        self.check("--only=placement", PLAY_GPUS="2")
        self.assertEqual(3, self.table().count("layers on two GPUs"))
        self.assertIn("--place=conv*=gpu:0+gpu:1,ip*=gpu:1 --microbatches=4", self.calls())
        self.check("--only=placement", "--again", code=1, PLAY_GPUS="2", PLAY_DRIFT="0.5")

    def test_layers_need_two_gpus_to_be_placed(self):
        self.check("--only=placement")
        self.assertIn("left out", self.table())
        self.assertNotIn("train", self.calls())

    def test_the_choices_of_cudnn_are_kept_beside_the_report(self):
        self.check("--only=device")
        self.assertEqual(os.path.join(self.out, "cache"), self.cache_of_a_run())

    def cache_of_a_run(self):
        with open(os.path.join(self.folder, "gpu_tests"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho $XDG_CACHE_HOME >%s/cache_seen\necho '1 tests from 1 test suites ran'\n" % self.folder)
        self.check("--only=device", "--again")
        with open(os.path.join(self.folder, "cache_seen"), encoding="utf-8") as f:
            return f.read().strip()

    def test_unknown_words_are_refused(self):
        for flags, said in ((["--only=speeds"], "--only needs some of machine"), (["--nets=vgg"], "--nets needs some of lenet"),
                            (["--precisions=int8"], "--precisions needs some of bf16")):
            self.assertIn(said, self.check(*flags, code=2))


if __name__ == "__main__":
    junit.main()
