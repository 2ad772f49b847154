#!/usr/bin/env python3
"""Tests count_cases.py on events and reports in the formats of Bazel and GoogleTest."""

import json
import os
import sys
import tempfile
import unittest

HERE = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tools/bazel")
sys.path.insert(0, HERE)
import count_cases  # noqa: E402

TWO_PASS_ONE_SKIPS = """<testsuites><testsuite name="S">
<testcase name="A" status="run" result="completed" classname="S"/>
<testcase name="B" status="run" result="completed" classname="S"/>
<testcase name="C" status="run" result="skipped" classname="S">
<skipped message="no GPU"/></testcase>
<testcase name="DISABLED_D" status="notrun" result="suppressed" classname="S"/>
</testsuite></testsuites>"""
ONE_FAILS = """<testsuites><testsuite name="S">
<testcase name="A" status="run" result="completed" classname="S"/>
<testcase name="B" status="run" result="completed" classname="S"><failure message="x"/></testcase>
</testsuite></testsuites>"""


class CountCasesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.events = []

    def tearDown(self):
        self.folder.cleanup()

    def result(self, label, status, report):
        path = os.path.join(self.folder.name, "a b%d.xml" % len(self.events))
        with open(path, "w", encoding="utf-8") as xml:
            xml.write(report)
        output = {"name": "test.xml", "uri": "file://" + path.replace(" ", "%20")}
        self.events.append({
            "id": {"testResult": {"label": label, "run": 1}},
            "testResult": {"status": status, "testActionOutput": [output]},
        })

    def finished(self, name):
        self.events.append({"id": {"buildFinished": {}}, "finished": {"exitCode": {"name": name}}})

    def count(self):
        path = os.path.join(self.folder.name, "events")
        with open(path, "w", encoding="utf-8") as events:
            events.write("".join(json.dumps(event) + "\n" for event in self.events))
        return count_cases.count_run(path)

    def test_counts_cases_not_programs(self):
        self.result("//a:t", "PASSED", TWO_PASS_ONE_SKIPS)
        self.result("//b:t", "FAILED", ONE_FAILS)
        self.finished("TESTS_FAILED")
        self.assertEqual(self.count(), ((3, 1, 1), ["//b:t S.B"]))

    def test_crash_without_a_report_is_one_failure(self):
        self.result("//a:t", "FAILED", "<testsuites><tests")
        self.finished("TESTS_FAILED")
        self.assertEqual(self.count(), ((0, 1, 0), ["//a:t FAILED"]))

    def test_timeout_after_passing_cases_is_a_failure(self):
        self.result("//a:t", "TIMEOUT", TWO_PASS_ONE_SKIPS)
        self.finished("TESTS_FAILED")
        self.assertEqual(self.count(), ((2, 1, 1), ["//a:t TIMEOUT"]))

    def test_target_that_did_not_build_counts_once(self):
        unbuilt = {"id": {"targetCompleted": {"label": "//a:t"}}, "completed": {}}
        self.events += [unbuilt, unbuilt]
        self.finished("BUILD_FAILURE")
        self.assertEqual(self.count(), ((0, 1, 0), ["//a:t did not build"]))

    def test_built_target_is_no_failure(self):
        self.events.append(
            {"id": {"targetCompleted": {"label": "//a:t"}}, "completed": {"success": True}})
        self.finished("SUCCESS")
        self.assertEqual(self.count(), ((0, 0, 0), []))

    def test_target_for_another_configuration_is_no_failure(self):
        self.events.append({"id": {"targetCompleted": {"label": "//a:gpu"}}, "aborted": {"reason": "SKIPPED"}})
        self.result("//a:t", "PASSED", TWO_PASS_ONE_SKIPS)
        self.finished("SUCCESS")
        self.assertEqual(self.count(), ((2, 0, 1), []))

    def test_run_that_ended_early_is_a_failure(self):
        self.finished("PARSING_FAILURE")
        self.assertEqual(self.count(), ((0, 1, 0), ["bazel PARSING_FAILURE"]))

    def test_run_that_never_started_is_a_failure(self):
        self.assertEqual(count_cases.count_run("/no/such/file"), ((0, 1, 0), ["bazel DIED"]))

    def test_counts_the_cases_that_sources_define(self):
        os.chdir(self.folder.name)
        for name, text in (("a_test.cc", "TEST(A, B) {\n}\nTEST_ON_DEVICES(A, C) {\n  TEST(no)\n}\nTEST_P(A, D) {}\n"),
                           ("b_test.py", "class B:\n    def test_it(self):\n        pass\n"), ("c_test.sh", "true\n"),
                           ("d.cc", "TEST(A, B)\n")):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        self.assertEqual(6, count_cases.count_sources(["//:a_test.cc", "//:b_test.py", "//:c_test.sh", "//:d.cc", "//:a_test.cc",
                                                       "//gone:e_test.cc", "@sys//:x"]))


if __name__ == "__main__":
    unittest.main()
