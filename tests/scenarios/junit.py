"""Runs the unittest cases of the calling script and counts each case, not only the script. A case that passes without
having called an assertion fails, since it would also pass if the code that it is about were gone.

Prints "N passed, N failed[, N skipped]" and writes $XML_OUTPUT_FILE, which tools/check reads.
"""
import functools
import importlib
import os
import re
import sys
import unittest
from xml.sax.saxutils import escape, quoteattr


_asserted = 0  # calls of assertions


def _counted(assertion):
    @functools.wraps(assertion)
    def count(*args, **kwargs):
        global _asserted
        _asserted += 1
        return assertion(*args, **kwargs)
    return count


def _count_assertions(owner):
    for name in [name for name in dir(owner) if name.startswith("assert")]:
        setattr(owner, name, _counted(getattr(owner, name)))


class _Result(unittest.TextTestResult):
    def __init__(self, *args):
        super().__init__(*args)
        self.started = []
        self.asserted_before = 0

    def startTest(self, test):
        super().startTest(test)
        self.started.append(test.id())
        self.asserted_before = _asserted

    def addSuccess(self, test):
        if _asserted > self.asserted_before:
            super().addSuccess(test)
        else:
            self.addFailure(test, (AssertionError, AssertionError("this case checks nothing"), None))


def _write_xml(path, result, bad, skipped):
    with open(path, "w", encoding="utf-8") as xml:
        xml.write("<testsuites><testsuite name=%s>\n" % quoteattr(os.path.basename(sys.argv[0])))
        # Subtests that fail or are skipped count beside their cases.
        for name in result.started + [n for n in [*bad, *skipped] if n not in result.started]:
            inner = ""
            if name in bad:
                text = re.sub(r"[^\t\n -\ufffd]", "?", bad[name])  # XML does not allow control characters
                inner = "<failure>%s</failure>" % escape(text)
            elif name in skipped:
                inner = "<skipped/>"
            xml.write("<testcase name=%s>%s</testcase>\n" % (quoteattr(name), inner))
        xml.write("</testsuite></testsuites>\n")


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    module = sys.modules["__main__"]
    _count_assertions(unittest.TestCase)
    if "numpy" in sys.modules:
        _count_assertions(importlib.import_module("numpy.testing"))
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(resultclass=_Result, verbosity=2 if "-v" in sys.argv else 1).run(suite)
    # Includes failures before the first case (setUpClass).
    bad = {test.id(): text for test, text in result.failures + result.errors}
    skipped = {test.id() for test, _ in result.skipped}
    for test, reason in result.skipped:
        print("skipped %s: %s" % (test.id(), reason))
    path = os.environ.get("XML_OUTPUT_FILE")
    if path:
        _write_xml(path, result, bad, skipped)
    passed = len(set(result.started) - bad.keys() - skipped)
    print("%d passed, %d failed%s" % (passed, len(bad), ", %d skipped" % len(skipped) if skipped else ""))
    sys.exit(0 if not bad and (passed or skipped) else 1)
