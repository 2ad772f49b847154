"""Runs the unittest cases of the calling script and counts each case, not only the script.

Prints "N passed, N failed[, N skipped]" and writes $XML_OUTPUT_FILE, which tools/check reads.
"""
import os
import re
import sys
import unittest
from xml.sax.saxutils import escape, quoteattr


class _Result(unittest.TextTestResult):
    def __init__(self, *args):
        super().__init__(*args)
        self.started = []

    def startTest(self, test):
        super().startTest(test)
        self.started.append(test.id())


def _write_xml(path, result, bad, skipped):
    with open(path, "w", encoding="utf-8") as xml:
        xml.write("<testsuites><testsuite name=%s>\n" % quoteattr(os.path.basename(sys.argv[0])))
        for name in result.started + [n for n in bad if n not in result.started]:
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
