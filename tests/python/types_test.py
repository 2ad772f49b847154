#!/usr/bin/env python3
"""Tests the types of the package: with mypy, if it is installed, and against the package itself."""
import ast
import importlib.util
import inspect
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import doppio  # noqa: E402

PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(doppio.__file__)))
RIGHT = """import doppio
import numpy as np

net = doppio.Net("deploy.prototxt", doppio.TEST, weights="net.caffemodel")
old = doppio.Net("deploy.prototxt", "net.caffemodel", doppio.TEST)
net.blobs["data"].data[...] = np.zeros((1, 1, 28, 28))
net.blobs["data"].reshape(2, 1, 28, 28)
best = int(net.forward()["prob"][0].argmax())
solver: doppio.Solver = doppio.AdamSolver("solver.prototxt")
solver.step(10)
done = doppio.train("photos", set={"max_iter": 10}, keep_best=True)
if done.best_weights is not None:
    print(done.best_weights.upper())
print(doppio.evaluate("photos", weights=done).scores, doppio.__version__.upper())
for run in doppio.runs("runs"):
    print(run.name.upper(), run.metrics("train")[0]["loss"])
image = doppio.io.load_image("cat.jpg")
print(doppio.io.Transformer.of(net).preprocess("data", image).shape)


class Twice(doppio.Layer):
    def reshape(self, bottom: list[doppio.Blob], top: list[doppio.Blob]) -> None:
        top[0].reshape(*bottom[0].shape)
"""
WRONG = """import doppio
doppio.Net("deploy.prototxt")
doppio.get_solver("s.prototxt").net.blobs["data"].dat
doppio.SGDSolver("s.prototxt").stepp(1)
doppio.train("photos").scores.upper()
name: int = doppio.__version__
"""


class TypesTest(case.Case):
    def mypy(self, text):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("mypy is not installed")
        path = self.write("script.py", text)
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir=" + self.path("cache"), path], cwd=self.folder,
                              capture_output=True, text=True, check=False, env=dict(os.environ, MYPYPATH=PACKAGES))

    def test_a_right_script_passes_strictly(self):
        run = self.mypy(RIGHT)
        self.assertEqual(0, run.returncode, run.stdout + run.stderr)

    def test_each_mistake_is_found(self):
        run = self.mypy(WRONG)
        lines = [int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error: " in line]
        self.assertEqual([2, 3, 4, 5, 6], sorted(set(lines)), run.stdout + run.stderr)

    def stub(self, module, file):
        with open(os.path.join(PACKAGES, file), encoding="utf-8") as stub:
            return module, ast.parse(stub.read())

    def check(self, owner, body, place):
        """Expects that the names of a stub exist, and that functions have the same arguments."""
        for node in body:
            if isinstance(node, ast.ClassDef):
                if not node.name.startswith("_"):
                    self.check(getattr(owner, node.name), node.body, place + node.name + ".")
            elif isinstance(node, ast.AnnAssign) and inspect.ismodule(owner):
                self.assertTrue(hasattr(owner, node.target.id), place + node.target.id)
            elif isinstance(node, ast.FunctionDef):
                value = inspect.getattr_static(owner, node.name, None) or getattr(owner, node.name, None)
                self.assertIsNotNone(value, place + node.name)
                overloaded = any(getattr(d, "id", "") == "overload" for d in node.decorator_list)
                # The package replaces some functions of the compiled module.
                if inspect.isfunction(value) and not overloaded and not place.startswith("_doppio."):
                    told = [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
                    known = [p.name for p in inspect.signature(value).parameters.values()
                             if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
                    self.assertEqual(known, told, place + node.name)

    def test_stubs_have_the_names_and_arguments_of_the_package(self):
        modules = [self.stub(doppio, "doppio/__init__.pyi"), self.stub(sys.modules["_doppio"], "_doppio.pyi")]
        modules += [self.stub(getattr(doppio, name), "doppio/%s.pyi" % name) for name in ("io", "draw", "coord_map", "proto")]
        for module, tree in modules:
            self.check(module, tree.body, module.__name__ + ".")

    def test_everything_public_has_a_type(self):
        _, tree = self.stub(doppio, "doppio/__init__.pyi")
        told = {getattr(node, "name", None) or getattr(getattr(node, "target", None), "id", "") for node in tree.body}
        told |= {name.asname for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names}
        modules = {name for name in doppio.__all__ if inspect.ismodule(getattr(doppio, name))}
        self.assertEqual(set(), set(doppio.__all__) - modules - told)
        self.assertTrue(os.path.exists(os.path.join(PACKAGES, "doppio", "py.typed")))


if __name__ == "__main__":
    junit.main()
