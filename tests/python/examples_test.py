#!/usr/bin/env python3
"""Runs the scripts of docs/python_examples.md as its readers do: all in one folder, in the order of the page. Each
script asserts its own result."""
import importlib.util
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import doppio  # noqa: E402

with open(os.path.join(case.ROOT, "docs", "python_examples.md"), encoding="utf-8") as _file:
    PAGE = _file.read()


def scripts():
    """Returns (name, text) of each block of Python. The first line of a block is a comment with its name."""
    found = []
    for text in re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE):
        name = re.match(r"# (\w+\.py)\n", text)
        if name is None:
            raise ValueError("the first line of this block does not name its file:\n" + text)
        found.append((name.group(1), text))
    return found


class ExamplesTest(case.Case):
    def run_script(self, name):
        packages = [os.path.dirname(os.path.dirname(os.path.abspath(doppio.__file__))),
                    os.path.dirname(os.path.abspath(sys.modules["_doppio"].__file__))]
        # Threads that wait by spinning are slow beside other tests.
        env = dict(os.environ, PYTHONPATH=":".join(packages), GLOG_minloglevel="2", GOMP_SPINCOUNT="1000")
        return subprocess.run([sys.executable, name], cwd=self.folder, env=env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)

    def test_scripts_reach_what_they_assert(self):
        self.assertGreaterEqual(len(scripts()), 12)
        for name, text in scripts():
            self.write(name, text)
            with self.subTest(name):
                if "import h5py" in text and importlib.util.find_spec("h5py") is None:
                    raise unittest.SkipTest("h5py is not installed")
                run = self.run_script(name)
                self.assertEqual(0, run.returncode, "%s:\n%s" % (name, run.stdout))

    def test_scripts_that_compute_assert(self):
        """A script without an assertion is a module, which others import or name."""
        modules = {name[:-len(".py")] for name, text in scripts() if "assert " not in text}
        self.assertEqual({"pydata", "pyloss"}, modules)
        for module in modules:
            self.assertTrue(any('module="%s"' % module in text for _, text in scripts()), module)

    def test_the_table_lists_the_scripts(self):
        listed = [name for row in re.findall(r"(?m)^\| \[(.*?)\]\(#", PAGE) for name in row.split(", ")]
        self.assertEqual([name for name, _ in scripts()], listed)


if __name__ == "__main__":
    junit.main()
