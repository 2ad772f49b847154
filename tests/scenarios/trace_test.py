#!/usr/bin/env python3
"""Tests timelines of trainings as users open them: complete files with every layer, every exchange of gradients and
every wait for one, at consistent times."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

NORM = 'layer { name: "norm" type: "BatchNorm" bottom: "pool" top: "pool" }\n'
# Layouts have blocks of up to 64 outputs or, with AVX2 from oneDNN 3 on, of 24 or 48, and of up to 16 inputs: none pads these
# weights.
INPUTS, OUTPUTS = 16, 192
NET = 'name: "tiny"\n' + scenario.TINY_NET.replace('layer { name: "drop"', NORM + 'layer { name: "drop"').replace(
    "num_output: 10", "num_output: %d" % OUTPUTS)
SOLVER = """net: "net.prototxt"
type: "SGD" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed"
random_seed: 5
max_iter: 30
snapshot_prefix: "run"
"""
LAYERS = {"data", "pool", "norm", "drop", "ip", "loss"}
US = 0.002  # two units of the file's clock
HAS_MPI = shutil.which("mpirun") is not None


def covered(spans):
    """Returns the intervals that `spans` cover together."""
    joined = []
    for begin, end in sorted((s["ts"], s["ts"] + s["dur"]) for s in spans):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def overlap(a, b):
    return sum(max(0, min(x[1], y[1]) - max(x[0], y[0])) for x in covered(a) for y in covered(b))


class TraceTest(scenario.Scenario):
    def setUp(self):
        super().setUp()
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER)

    def load(self, name="t.json"):
        """Returns the spans by rank. Checks first what every file must fulfil."""
        trace = json.loads(self.read(name))
        self.assertEqual("ms", trace["displayTimeUnit"])
        self.assertEqual([], [f for f in os.listdir(self.folder) if ".tmp." in f], "nothing is left aside")
        ranks, named = {}, set()
        for event in trace["traceEvents"]:
            if event["ph"] == "M":
                if event["name"] == "process_name":
                    self.assertRegex(event["args"]["name"], r"^rank %d on \S+, " % event["pid"])
                elif event["name"] == "thread_name":
                    named.add((event["pid"], event["tid"]))
                continue
            self.assertEqual("X", event["ph"])
            self.assertGreaterEqual(event["dur"], 0)
            ranks.setdefault(event["pid"], []).append(event)
        for rank, spans in ranks.items():
            self.assertLessEqual({(rank, s["tid"]) for s in spans}, named, "every track has a name")
            for tid in {s["tid"] for s in spans}:
                self.check_nesting([s for s in spans if s["tid"] == tid])
        return ranks

    def check_nesting(self, spans):
        ends = []
        for span in sorted(spans, key=lambda s: (s["ts"], -s["dur"])):
            while ends and ends[-1] <= span["ts"] + US:
                ends.pop()
            end = span["ts"] + span["dur"]
            if ends:
                self.assertLessEqual(end, ends[-1] + US, "%s reaches over its parent" % span)
            ends.append(end)

    def named(self, spans, name, cat=None):
        return [s for s in spans if s["name"] == name and cat in (None, s["cat"])]

    def check_iterations(self, spans, first, last):
        """Checks that every iteration has every layer in forward, and all but the first few in
        backward."""
        iterations = [s for s in spans if s["cat"] == "iteration"]
        self.assertEqual(["iteration %d" % i for i in range(first, last + 1)], [s["name"] for s in iterations])
        for phase in ("forward", "backward", "update"):
            self.assertEqual(len(iterations), len([s for s in spans if s["name"] == phase and s["tid"] == 0]), phase)
        times = {}
        for span in spans:
            if span["cat"] in ("forward", "backward") and not span["name"].endswith(")"):
                for layer in span["name"].split("+"):
                    times[layer, span["cat"]] = times.get((layer, span["cat"]), 0) + 1
        for layer in LAYERS:
            self.assertEqual(len(iterations), times.get((layer, "forward")), layer)
        for layer in ("ip", "loss"):
            self.assertEqual(len(iterations), times.get((layer, "backward")), layer)

    def check_exchange(self, ranks, said, iterations):
        """Checks that the reported times of the exchange agree with the file."""
        exchange = exposed = 0
        for spans in ranks.values():
            reduced = [s for s in spans if s["cat"] == "exchange"]
            waits = [s for s in spans if s["cat"] == "exposed"]
            buckets = [s for s in reduced if s["name"].startswith("bucket")]
            self.assertEqual({"bucket 0: ip"}, {s["name"] for s in buckets})
            self.assertEqual(iterations, len(buckets))
            for bucket in buckets:
                self.assertEqual(0, bucket["args"]["bucket"])
                self.assertEqual(4 * (INPUTS * OUTPUTS + OUTPUTS), bucket["args"]["bytes"])
            self.assertEqual(iterations, len(self.named(reduced, "statistics")))
            self.assertEqual({"wait for bucket 0", "wait for statistics", "wait for loss"}, {s["name"] for s in waits})
            exchange += sum(end - begin for begin, end in covered(reduced))
            exposed += overlap(reduced, waits)
            for bucket, wait in zip(buckets, self.named(waits, "wait for bucket 0")):
                self.assertLessEqual(bucket["ts"] + bucket["dur"], wait["ts"] + wait["dur"] + US, "waits to the end")
        scale = 1e-3 / iterations / len(ranks)
        self.assertAlmostEqual(exchange * scale, said["exchange_ms"], delta=1e-3 + 1e-2 * said["exchange_ms"])
        self.assertAlmostEqual(exposed * scale, said["exposed_ms"], delta=1e-3 + 1e-2 * said["exchange_ms"])
        self.assertAlmostEqual(said["exchange_ms"], said["exposed_ms"] + said["hidden_ms"], places=9)
        self.assertGreater(said["exchange_ms"], 0)
        self.assertGreaterEqual(said["hidden_ms"], 0)


class AloneTest(TraceTest):
    def test_one_process_shows_its_iterations(self):
        r = self.train("--trace=t.json", "--json")
        self.assertIn("timeline: t.json (11 iterations)", r.stderr)
        self.assertEqual({"file": "t.json", "iterations": 11, "first": 10, "spans_left_out": 0}, json.loads(r.stdout)["timeline"])
        ranks = self.load()
        self.assertEqual([0], list(ranks))
        self.check_iterations(ranks[0], 10, 20)
        self.assertEqual([], [s for s in ranks[0] if s["cat"] in ("exchange", "exposed")])
        self.assertEqual(11, len(self.named(ranks[0], "update of ip 0")), "updated while backward goes on")

    def test_the_numbers_are_those_without(self):
        self.train("--trace=t.json", "--trace_iterations=0-29")
        traced = self.read("run_iter_30.caffemodel")
        self.train()
        self.assertEqual(self.read("run_iter_30.caffemodel"), traced)

    def test_shows_tests_and_snapshots(self):
        self.write("solver.prototxt", SOLVER + "test_iter: 2 test_interval: 4 snapshot: 4\n")
        self.train("--trace=t.json", "--trace_iterations=3-4")
        spans = self.load()[0]
        self.check_iterations(spans, 3, 4)
        self.assertEqual(1, len(self.named(spans, "tests", "test")))
        self.assertEqual(1, len(self.named(spans, "copy for snapshot", "snapshot")))

    def test_every_pass_of_an_iteration_is_shown(self):
        self.train("--trace=t.json", "--trace_iterations=2-2", "--set=iter_size=3")
        spans = self.load()[0]
        self.assertEqual(3, len(self.named([s for s in spans if s["tid"] == 0], "backward", "backward")))
        self.assertEqual(1, len(self.named(spans, "update")))

    def test_a_short_training_shows_what_there_is(self):
        for max_iter, first in (1, 0), (5, 0), (15, 4):
            self.train("--trace=t.json", "--set=max_iter=%d" % max_iter)
            self.check_iterations(self.load()[0], first, max_iter - 1)

    def test_counts_from_where_a_run_goes_on(self):
        self.train("--set=max_iter=8")
        self.train("--trace=t.json", "--resume=run_iter_8.solverstate")
        self.check_iterations(self.load()[0], 18, 28)

    def test_names_are_escaped(self):
        self.write("net.prototxt", NET.replace('name: "ip"', r'name: "i\"p\\\n\377é"'))
        self.train("--trace=t.json", "--set=max_iter=2")
        names = {s["name"] for s in self.load()[0] if s["cat"] == "forward"}
        self.assertIn('i"p\\\n\ufffdé', names)

    def test_iterations_that_never_come(self):
        self.write("t.json", "an older one")
        r = self.train("--trace=t.json", "--trace_iterations=40-50", "--json")
        self.assertIn("--trace_iterations=40-50: the training runs only iterations 0 to 29; nothing will be traced", r.stderr)
        self.assertIn("timeline: nothing was traced", r.stderr)
        self.assertEqual({"file": "t.json", "iterations": 0}, json.loads(r.stdout)["timeline"])
        self.assertEqual(b"an older one", self.read("t.json"))

    def test_explains_mistakes(self):
        for value in ("x", "5", "5-", "-5", "5-x", "1-2-3", "1 - 2", "99999999999999999999-3"):
            r = self.train("--trace=t.json", "--trace_iterations=" + value, code=2)
            self.assertIn("--trace_iterations needs FIRST-LAST, such as 100-110; got '%s'" % value, r.stderr)
        r = self.train("--trace=t.json", "--trace_iterations=7-3", code=2)
        self.assertIn("--trace_iterations=7-3: the first iteration comes after the last", r.stderr)
        r = self.train("--trace_iterations=3-7", code=2)
        self.assertIn("--trace_iterations needs --trace=FILE", r.stderr)

    def test_a_file_that_cannot_be_written_is_found_at_the_start(self):
        os.mkdir(self.path("folder"))
        for file, why in [("missing/t.json", "there is no folder 'missing/'"), ("folder", "it is a folder"),
                          ("folder/", "it is a folder"), ("net.prototxt/t.json", "there is no folder 'net.prototxt/'")]:
            r = self.train("--trace=" + file, code=4)
            self.assertIn("cannot write the timeline '%s': %s" % (file, why), r.stderr)
            self.assertNotIn("Iteration", r.stderr)

    def test_a_folder_that_is_lost_meanwhile_costs_only_the_timeline(self):
        os.mkdir(self.path("lost"))
        # Another process removes the folder between the start and the end of the window.
        process = self.start("train", "--solver=solver.prototxt", "--trace=lost/t.json", "--trace_iterations=20-4999",
                             "--set=max_iter=5000", "--set=display=10", stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        for line in process.stderr:
            if "Iteration 10" in line:
                os.rmdir(self.path("lost"))
                break
        _, log = process.communicate(timeout=120)
        self.assertEqual(0, process.returncode, log)
        self.assertIn("timeline: cannot write 'lost/t.json", log)


class RanksTraceTest(TraceTest):
    def check_two(self, r, name="t.json"):
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertRegex(r.stderr, r"timeline: \S*t\.json \(11 iterations; exchange [\d.]+ ms per iteration, exposed [\d.]+ ms, hidden \d+ %\)")
        said = json.loads(r.stdout)["timeline"]
        self.assertEqual((11, 10, 0), (said["iterations"], said["first"], said["spans_left_out"]))
        ranks = self.load(name)
        self.assertEqual([0, 1], sorted(ranks))
        for spans in ranks.values():
            self.check_iterations(spans, 10, 20)
        self.check_exchange(ranks, said, 11)
        return said, ranks

    def check_one_clock(self, ranks, error):
        """Checks that an exchange ends on neither rank before it has begun on the other: a sum
        needs the data of both, and both ranks use one clock."""
        for a, b in (0, 1), (1, 0):
            for name in ("wait for loss", "bucket 0: ip"):
                for x, y in zip(self.named(ranks[a], name), self.named(ranks[b], name)):
                    self.assertLessEqual(x["ts"], y["ts"] + y["dur"] + error + US)

    def test_shows_replicas_in_threads(self):
        said, ranks = self.check_two(self.train("--cpu_replicas=2", "--trace=t.json", "--json"))
        self.check_one_clock(ranks, said["clock_error_us"])

    def test_parameters_are_updated_between_waits(self):
        self.train("--cpu_replicas=2", "--trace=t.json", "--bucket_mb=0")
        for spans in self.load().values():
            self.assertEqual({"bucket 0: ip", "bucket 1: ip"}, {s["name"] for s in spans if s["name"].startswith("bucket")})
            for index in range(2):
                self.assertEqual(11, len(self.named(spans, "update of ip %d" % index)))

    def test_on_gpus_the_stream_has_a_track(self):
        r = self.doppio("train", "--solver=solver.prototxt", "--gpu=0,1", "--trace=t.json", "--json")
        if r.returncode == 5:
            self.skipTest(r.stderr)
        # Does not compare clocks, because the reported times do not include the error of a GPU's
        # clock.
        for spans in self.check_two(r)[1].values():
            stream = [s for s in spans if s["tid"] == 1]
            self.assertEqual({"forward", "backward", "update"}, {s["cat"] for s in stream})
            self.assertEqual(11, len(self.named(stream, "ip", "forward")))
            self.assertEqual([], self.named([s for s in spans if s["tid"] == 0], "ip", "forward"))

    def test_a_stop_within_the_window_leaves_a_whole_file(self):
        process = self.start("train", "--solver=solver.prototxt", "--cpu_replicas=2", "--trace=t.json", "--set=display=100",
                             "--trace_iterations=5-99999999", "--set=max_iter=100000000", stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        for line in process.stderr:
            if "Iteration 100" in line:
                process.terminate()
                break
        _, log = process.communicate(timeout=60)
        self.assertEqual(75, process.returncode, log)
        count = int(re.search(r"timeline: t\.json \((\d+) iterations", log).group(1))
        self.assertGreater(count, 90)
        for spans in self.load().values():
            self.check_iterations(spans, 5, 5 + count - 1)

    @unittest.skipUnless(HAS_MPI, "there is no mpirun")
    def test_shows_processes_of_mpirun(self):
        command = ["mpirun", "-np", "2", "--oversubscribe", "--allow-run-as-root", scenario.DOPPIO, "train", "--solver=solver.prototxt"]

        def run(*args):
            return subprocess.run(command + list(args), cwd=self.folder, capture_output=True, text=True, timeout=120,
                                  env=self.environment(**scenario.ONE_THREAD))
        said, ranks = self.check_two(run("--trace=t.json", "--json"))
        self.check_one_clock(ranks, said["clock_error_us"])
        r = run("--trace=missing/t.json")
        self.assertEqual(4, r.returncode, r.stderr)
        self.assertEqual(1, r.stderr.count("cannot write the timeline 'missing/t.json'"), r.stderr)


if __name__ == "__main__":
    junit.main()
