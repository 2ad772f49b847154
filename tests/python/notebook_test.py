#!/usr/bin/env python3
"""Runs a notebook, if nbconvert and a kernel are installed."""
import importlib.util
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import doppio  # noqa: E402

CELLS = ['''import doppio
n = doppio.NetSpec()
n.data, n.label = doppio.layers.Data(backend=doppio.params.Data.DIGITS, size=50, batch_size=10, ntop=2)
n.ip = doppio.layers.InnerProduct(n.data, num_output=10)
n.accuracy = doppio.layers.Accuracy(n.ip, n.label, include=dict(phase=doppio.TEST))
n.loss = doppio.layers.SoftmaxWithLoss(n.ip, n.label)
open("net.prototxt", "w").write(str(n.to_proto()))
open("solver.prototxt", "w").write('net: "net.prototxt" base_lr: 0.0001 lr_policy: "fixed" max_iter: 4 test_iter: 2 test_interval: 2')
doppio.Net("net.prototxt", doppio.TEST)''',
         'doppio.train("solver.prototxt")',
         'doppio.get_solver("solver.prototxt")']


class NotebookTest(case.Case):
    def test_cells_show_tables(self):
        for module in ("nbconvert", "nbformat", "ipykernel"):
            if importlib.util.find_spec(module) is None:
                self.skipTest(module + " is not installed")
        notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
            {"id": str(i), "cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": cell}
            for i, cell in enumerate(CELLS)]}
        self.write("book.ipynb", json.dumps(notebook))
        packages = [os.path.dirname(os.path.dirname(os.path.abspath(doppio.__file__))),
                    os.path.dirname(os.path.abspath(sys.modules["_doppio"].__file__))]
        run = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "done.ipynb", "book.ipynb"],
                             cwd=self.folder, env=dict(os.environ, PYTHONPATH=":".join(packages), HOME=self.folder), text=True,
                             capture_output=True, timeout=300, check=False)
        self.assertEqual(0, run.returncode, run.stderr)
        with open(self.path("done.ipynb"), encoding="utf-8") as file:
            done = json.load(file)
        shown = ["".join("".join(out["data"].get("text/html", "")) for out in cell["outputs"] if "data" in out) for cell in done["cells"]]
        for page, text in zip(shown, ("InnerProduct", "accuracy", "base_lr")):
            self.assertIn("<table>", page)
            self.assertIn(text, page)


if __name__ == "__main__":
    junit.main()
