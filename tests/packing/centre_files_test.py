#!/usr/bin/env python3
"""Tests the files with which supercomputing centres install Doppio: the Spack recipe with a stand-in for spack.package, the module
file if Lua or Lmod is installed, and the Apptainer definition against its documented grammar."""
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
import junit  # noqa: E402

ROOT = os.getcwd()
FAKE_PROGRAM = """#!/bin/sh
case $1 in
  man) mkdir -p "${2#--man_dir=}" && echo page >"${2#--man_dir=}/doppio.1" ;;
  completion) echo "complete -F _doppio doppio" ;;
  --version) echo "doppio 0.1.0 (abc1234)" ;;
esac
"""


def path(*parts):
    return os.path.join(ROOT, *parts)


def text_of(*parts):
    with open(path(*parts), encoding="utf-8") as f:
        return f.read()


def version():
    return text_of("core/base/version.txt").strip()


class Prefix(str):
    """Spack's prefix: prefix.bin is PREFIX/bin."""

    def __getattr__(self, name):
        return Prefix(os.path.join(self, name))


class Executable:
    def __init__(self, program):
        self.program = program

    def __call__(self, *args, output=None):
        text = subprocess.run([self.program, *args], check=True, capture_output=True, text=True).stdout
        if output is str:
            return text
        if output is not None:
            with open(output, "w", encoding="utf-8") as f:
                f.write(text)
        return None


class Recorder:
    """A stand-in for a directive of a recipe. Records its calls."""

    def __init__(self):
        self.calls = []

    def __call__(self, *args, **named):
        self.calls.append((args, named))


def stand_in():
    """Returns the names from spack.package that the recipe uses."""
    module = types.ModuleType("spack.package")
    module.Package = type("Package", (), {})
    for directive in ("version", "license", "variant", "depends_on", "conflicts"):
        setattr(module, directive, Recorder())
    module.join_path = os.path.join
    module.mkdirp = lambda folder: os.makedirs(folder, exist_ok=True)
    module.symlink = os.symlink
    module.install_tree = lambda source, target: shutil.copytree(source, target, symlinks=True)
    module.Executable = Executable
    module.which = Executable
    return module


class Environment(dict):
    set = dict.__setitem__

    def prepend_path(self, name, value):
        self[name] = value


class Spec(dict):
    version = "0.1.0"

    def satisfies(self, variant):
        return variant in self["variants"]


class SpackTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.spack = stand_in()
        saved = dict(sys.modules)
        self.addCleanup(lambda: (sys.modules.clear(), sys.modules.update(saved)))
        sys.modules["spack"] = types.ModuleType("spack")
        sys.modules["spack.package"] = self.spack
        names = {}
        exec(compile(text_of("tools/spack/package.py"), "package.py", "exec"), names)   # as Spack loads it
        self.recipe = names["Doppio"]()

    def test_the_version_is_that_of_the_tree(self):
        self.assertEqual([(version(),)], [args for args, _ in self.spack.version.calls])
        self.assertIn("/doppio-%s-linux-x86_64.tar.gz" % version(), self.recipe.url)
        self.assertEqual(self.recipe.url, self.recipe.url_for_version(version()))

    def test_variants_and_what_they_need(self):
        variants = {args[0]: named["default"] for args, named in self.spack.variant.calls}
        self.assertEqual({"mpi": True, "cuda": False}, variants)
        for (spec,), named in self.spack.depends_on.calls:
            self.assertEqual("run", named["type"], spec)
            self.assertIn(named["when"].lstrip("+"), variants)

    def test_installs_a_bundle_that_runs(self):
        bundle, prefix = os.path.join(self.folder, "bundle"), Prefix(os.path.join(self.folder, "prefix"))
        os.makedirs(bundle + "/lib")
        with open(bundle + "/doppio", "w", encoding="utf-8") as f:
            f.write(FAKE_PROGRAM)
        os.chmod(bundle + "/doppio", stat.S_IRWXU)
        before = os.getcwd()
        os.chdir(bundle)   # Spack installs from the unpacked archive
        try:
            self.recipe.install(None, prefix)
        finally:
            os.chdir(before)
        for name in [*self.recipe.sanity_check_is_file, "share/man/man1/doppio.1", "share/bash-completion/completions/doppio"]:
            self.assertTrue(os.path.isfile(os.path.join(prefix, name)), name)
        self.recipe.prefix, self.recipe.spec = prefix, Spec()
        self.recipe.test_version()

    def test_the_environment_names_the_libraries(self):
        self.recipe.prefix = Prefix("/p")
        parts = {name: types.SimpleNamespace(prefix=Prefix("/" + name)) for name in ("openmpi", "cuda", "cudnn", "nccl")}
        self.recipe.spec = Spec(variants="+mpi+cuda", **parts)
        environment = Environment()
        self.recipe.setup_run_environment(environment)
        self.assertEqual({"DOPPIO_HOME": "/p/libexec/doppio", "LD_LIBRARY_PATH": "/openmpi/lib",
                          "DOPPIO_CUDA_LIBRARIES": "/cuda/lib64:/cudnn/lib:/nccl/lib"}, environment)


LUA_STAND_IN = """
function pathJoin(a, b) return a .. "/" .. b end
function myModuleVersion() return "7.8" end
function help(text) assert(#text > 0) end
function whatis(text) print("whatis " .. text) end
function conflict(name) print("conflict " .. name) end
function prepend_path(name, value) print("prepend " .. name .. " " .. value) end
function setenv(name, value) print("set " .. name .. " " .. value) end
"""
LUA = next((p for p in ("lua5.4", "lua5.3", "lua5.1", "lua", "luajit") if shutil.which(p)), None)


class ModuleFileTest(unittest.TestCase):
    @unittest.skipUnless(LUA, "no Lua is installed")
    def test_sets_path_and_home_for_the_version_in_its_name(self):
        for root, expected in (("", "/opt/apps/doppio/7.8"), ("/home/me/doppio", "/home/me/doppio")):
            environment = {k: v for k, v in os.environ.items() if k != "DOPPIO_ROOT"}
            if root:
                environment["DOPPIO_ROOT"] = root
            with tempfile.NamedTemporaryFile("w", suffix=".lua") as f:
                f.write(LUA_STAND_IN)
                f.flush()
                r = subprocess.run([LUA, "-e", "dofile('%s') dofile('%s')" % (f.name, path("tools/modulefiles/doppio.lua"))],
                                   capture_output=True, text=True, check=False, env=environment)
            self.assertEqual((0, ""), (r.returncode, r.stderr))
            for line in ("whatis Version: 7.8", "conflict doppio", "prepend PATH " + expected,
                         "set DOPPIO_HOME " + expected):
                self.assertIn(line + "\n", r.stdout)


# The sections of a definition file: https://apptainer.org/docs/user/latest/definition_files.html
SECTIONS = {"setup", "files", "app", "post", "test", "environment", "startscript", "runscript", "labels", "help", "arguments"}


class ApptainerTest(unittest.TestCase):
    def setUp(self):
        self.text = text_of("tools/docker/doppio.def")
        self.sections = {}
        name = "header"
        for line in self.text.splitlines():
            if line.startswith("%"):
                name = line[1:].strip()
            elif line.strip() and not line.startswith("#"):
                self.sections.setdefault(name, []).append(line.strip())

    def test_has_a_header_and_known_sections_only(self):
        header = dict(line.split(": ", 1) for line in self.sections.pop("header"))
        self.assertEqual({"Bootstrap", "From"}, set(header))
        self.assertEqual("docker", header["Bootstrap"])
        self.assertLessEqual(set(self.sections), SECTIONS)
        self.assertLessEqual({"files", "post", "runscript", "test", "help"}, set(self.sections))

    def test_copies_what_the_tree_has(self):
        for line in self.sections["files"]:
            source, target = line.split()
            self.assertTrue(target.startswith("/"), line)
            if source != "doppio-portable.tar.gz":   # tools/bundle makes it
                self.assertTrue(os.path.exists(path(source)), source)

    def test_its_scripts_are_shell(self):
        for name in ("post", "environment", "runscript", "test"):
            r = subprocess.run(["sh", "-n"], input="\n".join(self.sections[name]), capture_output=True, text=True, check=False)
            self.assertEqual((0, ""), (r.returncode, r.stderr), name)

    def test_runs_the_program_in_the_callers_place(self):
        # The script uses exec, so that a batch system's signal reaches the training.
        self.assertTrue(re.match(r'exec \S+/doppio "\$@"$', self.sections["runscript"][-1]))


if __name__ == "__main__":
    junit.main()
