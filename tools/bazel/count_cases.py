#!/usr/bin/env python3
"""Counts the test cases of one `bazel test` run and names those that failed.

usage: count_cases.py EVENTS     (the file given to --build_event_json_file)
       count_cases.py --sources  (standard input: the labels of tests that were not built)

The last line is `N passed, N failed, N skipped`. With --sources, all cases that the files define count as skipped; cases that
a program makes from parameters are not known, so there may be more. A program's cases come from its
test.xml; one that crashed, timed out or did not build counts as one failure, and so does
a run that ended early. Reading the run's events, not bazel-testlogs, leaves out results
of tests that are gone. Exits 1 when anything failed.
"""

import collections
import json
import os
import re
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree

# How many cases the start of a line defines.
DEFINITIONS = ((re.compile(r"(TYPED_)?TEST(_F|_P|_ON_GPU)?\("), 1), (re.compile(r"TEST_ON_DEVICES\("), 2),
               (re.compile(r"    def test_"), 1))

Count = collections.namedtuple("Count", "passed failed skipped")


class Run:
    """The results of one `bazel test` run."""

    def __init__(self, path):
        self.reports = {}  # label: path of its test.xml
        self.statuses = {}  # label: PASSED, FAILED, TIMEOUT, ...
        self.unbuilt = set()
        self.end = "NEVER_RAN"
        try:
            with open(path, encoding="utf-8") as events:
                for line in events:
                    self._read(json.loads(line))
        except (OSError, ValueError):
            self.end = "DIED"
        self.unbuilt -= self.statuses.keys()

    def _read(self, event):
        name = event["id"]
        if "testResult" in name:
            label = name["testResult"]["label"]
            self.statuses[label] = event["testResult"]["status"]
            for output in event["testResult"].get("testActionOutput", []):
                if output["name"] == "test.xml":
                    uri = urllib.parse.urlparse(output["uri"])
                    self.reports[label] = urllib.parse.unquote(uri.path)
        elif "targetCompleted" in name:
            if event.get("aborted", {}).get("reason") == "SKIPPED":
                return  # not for this configuration
            if not event.get("completed", {}).get("success"):
                self.unbuilt.add(name["targetCompleted"]["label"])
        elif "buildFinished" in name:
            self.end = event["finished"]["exitCode"]["name"]


def count_report(label, path, failures):
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).iter("testcase"):
        if case.get("status") == "notrun":
            continue  # DISABLED_ in GoogleTest
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            names = [case.get("classname"), case.get("name")]
            failures.append("%s %s" % (label, ".".join(n for n in names if n)))
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return Count(passed, failed, skipped)


def count_run(path):
    """Returns the Count of a run and the names of the failed cases."""
    run = Run(path)
    failures = ["%s did not build" % label for label in sorted(run.unbuilt)]
    total = Count(0, len(failures), 0)
    for label, status in sorted(run.statuses.items()):
        count = Count(0, 0, 0)
        if label in run.reports:
            try:
                count = count_report(label, run.reports[label], failures)
            except (ElementTree.ParseError, OSError):
                pass  # a crash can leave half a report
        if status not in ("PASSED", "FLAKY") and count.failed == 0:
            failures.append("%s %s" % (label, status))
            count = count._replace(failed=1)
        total = Count(*map(sum, zip(total, count)))
    if run.end != "SUCCESS" and not failures:
        failures.append("bazel %s" % run.end)
        total = total._replace(failed=1)
    return total, failures


def count_sources(labels):
    """Returns the number of cases that the files of these labels define; 1 for a file without any, such as a script."""
    total = 0
    for label in sorted(set(labels)):
        path = label.lstrip("/").replace(":", "/").lstrip("/")
        if os.path.isfile(path) and path.endswith(("_test.cc", "_test.py", "_test.sh")):
            with open(path, encoding="utf-8") as file:
                cases = sum(n for line in file for pattern, n in DEFINITIONS if pattern.match(line))
            total += max(cases, 1)
    return total


def main():
    if sys.argv[1:] == ["--sources"]:
        total, failures = Count(0, 0, count_sources(sys.stdin.read().split())), []
    else:
        total, failures = count_run(sys.argv[1])
    for failure in failures:
        print("FAILED " + failure)
    print("%d passed, %d failed, %d skipped" % total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
