#!/usr/bin/env python3
"""Tests that `doppio train` states the memory that a training needs, and refuses what does not fit."""
import os
import re
import resource
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tiny_case import TINY_NET, TINY_SOLVER, TinyCase  # noqa: E402

THREAD_SANITIZER = "TSAN_OPTIONS" in os.environ


class MemoryTest(TinyCase):
    # 10^12 rows need more memory than any machine has, but less than the address space.
    HUGE_NET = TINY_NET.replace("dim: 4", "dim: 1000000000000")
    REFUSAL = (r"train net tiny does not fit in the memory of CPU .*: it needs [\d.]+ GiB \(weights .*activations [\d.]+ GiB.*\), "
               r"[\d.]+ GiB more than the [\d.]+ [GM]iB that are free; the largest batch that fits is about \d+, "
               r"and this one is 1000000000000\. Possible remedies: --batch=\d+.*--recompute")

    def test_what_does_not_fit_is_refused(self):
        self.write("net.prototxt", self.HUGE_NET)
        self.write("solver.prototxt", TINY_SOLVER)
        r = self.run_tool("train", "--solver=solver.prototxt")
        self.assertEqual((6, ""), (r.returncode, r.stdout), r.stderr)
        self.assertRegex(r.stderr, r"(?m)^error: " + self.REFUSAL)

    @unittest.skipIf(THREAD_SANITIZER, "ThreadSanitizer leaves too few addresses to reserve the memory")
    def test_a_dry_run_shows_where_the_memory_would_go_first(self):
        self.write("net.prototxt", self.HUGE_NET)
        self.write("solver.prototxt", TINY_SOLVER)
        # glibc fills new memory with other bytes than 0, so that a value that nobody has set shows.
        r = self.run_tool("train", "--solver=solver.prototxt", "--dry_run", MALLOC_PERTURB_="165")
        self.assertEqual(6, r.returncode, r.stderr)
        self.assertRegex(r.stderr, r"(?m)^error: " + self.REFUSAL)
        self.assertRegex(r.stdout, r"(?m)^ +activations +\d+\.\d GiB  and their gradients; \d+\.\d GiB if none shared memory$")
        self.assertRegex(r.stdout, r"(?m)^ +total +\d+\.\d GiB  of .* that were free$")
        self.assertEqual([], [f for f in os.listdir(self.folder) if not f.endswith(".prototxt")])

    def test_a_batch_that_does_not_fit_costs_no_memory(self):
        self.write("net.prototxt", """name: "tiny"
            layer { name: "in" type: "Data" top: "x" top: "y" data_param { backend: DIGITS batch_size: 4 } }
            layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 2 } }
            layer { name: "right" type: "Accuracy" bottom: "ip" bottom: "y" top: "right" }
            layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "y" top: "loss" }""")
        self.write("solver.prototxt", TINY_SOLVER)
        r = self.run_tool("train", "--solver=solver.prototxt", "--batch=2000000000")
        self.assertEqual(6, r.returncode, r.stderr)
        self.assertRegex(r.stderr, r"the largest batch that fits is about \d+, and this one is 2000000000\.")
        kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(kib, 1 << 20, "4 bytes for each row are 8 GB")

    @unittest.skipIf(THREAD_SANITIZER, "ThreadSanitizer leaves too few addresses to reserve the memory")
    def test_a_plan_computes_no_weights(self):
        self.write("net.prototxt", """name: "wide"
            layer { name: "in" type: "Data" top: "x" top: "y" data_param { backend: DIGITS batch_size: 4 } }
            layer { name: "wide" type: "InnerProduct" bottom: "x" top: "wide"
              inner_product_param { num_output: 65536 weight_filler { type: "xavier" } } }
            layer { name: "narrow" type: "InnerProduct" bottom: "wide" top: "narrow"
              inner_product_param { num_output: 8192 weight_filler { type: "gaussian" std: 0.01 } } }
            layer { name: "loss" type: "SoftmaxWithLoss" bottom: "narrow" bottom: "y" top: "loss" }""")
        self.write("solver.prototxt", TINY_SOLVER)
        r = self.run_tool("summary", "--model=net.prototxt")
        self.assertRegex(r.stdout, r"\b2\.\d GiB parameters", r.stderr)
        r = self.run_tool("train", "--solver=solver.prototxt", "--dry_run")
        self.assertRegex(r.stdout, r"(?m)^ +weights +2\.\d GiB", r.stderr)
        kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(kib, 1 << 20, "4 bytes for each of 588 million parameters are 2.4 GB")

    def test_the_table_adds_up(self):
        # Computed by hand: weights 2x3 and a bias of 2 are 8 floats. Each is aligned to 64 floats, and a CPU with wide
        # vectors may pad the weights further.
        self.write_tiny()
        r = self.run_tool("train", "--solver=solver.prototxt", "--dry_run")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertRegex(r.stdout, r"(?m)^ +memory +on CPU ")
        rows = dict(re.findall(r"(?m)^ +(weights|gradients|history|activations|scratch|total) +([\d.]+ K?i?B)\b", r.stdout))
        sizes = {row: float(size.split()[0]) * (1024 if "KiB" in size else 1) for row, size in rows.items()}
        self.assertEqual(6, len(sizes), r.stdout)
        self.assertGreaterEqual(sizes["weights"], 2 * 64 * 4)
        self.assertEqual((rows["weights"], rows["weights"]), (rows["gradients"], rows["history"]))
        self.assertRegex(r.stdout, r"(?m)^ +weights +%s  32 B of values; the rest is padding$" % re.escape(rows["weights"]))
        self.assertRegex(r.stdout, r"(?m)^ +history +%s  of SGD$" % re.escape(rows["weights"]))
        averaged = self.run_tool("train", "--solver=solver.prototxt", "--dry_run", "--set=ema_decay=0.9").stdout
        self.assertRegex(averaged, r"(?m)^ +history +[\d.]+ K?i?B +of SGD, and averaged weights$")
        total = sizes.pop("total")
        self.assertAlmostEqual(total, sum(sizes.values()), delta=len(rows) * 0.05 * 1024, msg="rounded to 0.1 KiB")
        log = self.run_tool("train", "--solver=solver.prototxt").stderr
        self.assertRegex(log, r"(?m)\] +weights +%s  32 B of values" % re.escape(rows["weights"]))


if __name__ == "__main__":
    tool_case.main()
