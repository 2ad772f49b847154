#!/usr/bin/env python3
"""Tests the command as pip installs it, inside a Python interpreter: `python -m doppio` and the script `doppio`."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import doppio.models  # noqa: E402
import _doppio_start  # noqa: E402

ONES = '''import doppio
import numpy as np

class Ones(doppio.Layer):
    def setup(self, bottom, top):
        print("setup of a layer")
    def reshape(self, bottom, top):
        top[0].reshape(2, 3)
    def forward(self, bottom, top):
        top[0].data[...] = 1
    def backward(self, top, propagate_down, bottom):
        pass
'''
NET = '''layer { name: "ones" type: "Python" top: "ones" python_param { module: "ones" layer: "Ones" } }
layer { name: "ip" type: "InnerProduct" bottom: "ones" top: "ip"
        inner_product_param { num_output: 1 weight_filler { type: "constant" value: 1 } } }
layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1 }
'''
SOLVER = 'net: "net.prototxt" base_lr: 0.5 lr_policy: "fixed" max_iter: %d display: 1 snapshot_prefix: "out"\n'
# The script that pip writes for an entry point.
SCRIPT = "#!%s\nimport sys\nsys.path[:0] = %r\nfrom _doppio_start import main\nsys.exit(main())\n"


class CommandTest(case.Case):
    def setUp(self):
        super().setUp()
        self.folders = [os.path.dirname(os.path.dirname(os.path.abspath(doppio.__file__))),
                        os.path.dirname(os.path.abspath(sys.modules["_doppio"].__file__))]
        self.script = self.write("doppio", SCRIPT % (sys.executable, self.folders))
        os.chmod(self.script, 0o755)

    def start(self, *words, **env):
        return subprocess.Popen(words, cwd=self.folder, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=dict(os.environ, GLOG_minloglevel="0", **env))

    def run_words(self, *words, code=0, **env):
        process = self.start(*words, **env)
        out, log = process.communicate(timeout=100)
        self.assertEqual(code, process.returncode, log)
        return out, log

    def module(self, *words, **more):
        return self.run_words(sys.executable, "-m", "doppio", *words, PYTHONPATH=":".join(self.folders), **more)

    def write_net(self, iterations):
        self.write("ones.py", ONES)
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER % iterations)

    def test_it_is_the_same_program(self):
        version, _ = self.module("version")
        self.assertRegex(version, r"^doppio \d+\.\d+\.\d+")
        self.assertEqual(version, self.run_words(self.script, "version")[0])
        self.assertIn("usage: doppio train", self.module("help", "train")[0])

    def test_mistakes_have_their_exit_codes(self):
        self.assertIn("trian", self.module("trian", code=2)[1])
        self.assertIn("missing.prototxt", self.module("train", "--solver=missing.prototxt", code=4)[1])

    def test_arguments_may_be_any_bytes(self):
        _, log = self.run_words(self.script, "train", b"--solver=\xff.prototxt".decode(errors="surrogateescape"), code=4)
        self.assertIn(".prototxt", log)

    def test_layers_in_the_working_directory_train(self):
        self.write_net(2)
        for words in ((self.script,), (sys.executable, "-m", "doppio")):
            out, log = self.run_words(*words, "train", "--solver=solver.prototxt", "--log_format=caffe",
                                      PYTHONPATH=":".join(self.folders))
            self.assertEqual(1, out.count("setup of a layer"), out)
            # Two rows of three ones: each iteration takes 1 from each of three weights and from the bias.
            self.assertEqual(["6", "-2", "-10"], re.findall(r"Iteration .* loss = (\S+)", log), log)

    def test_an_interrupt_stops_after_a_snapshot(self):
        self.write_net(10 ** 9)
        process = self.start(self.script, "train", "--solver=solver.prototxt", "--log_format=caffe")
        for line in process.stderr:
            if "Iteration 3" in line:
                break
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        self.assertEqual(75, process.returncode, log)
        self.assertTrue([name for name in os.listdir(self.folder) if name.endswith(".solverstate")])
        # The message names the script as the command to continue with.
        self.assertIn(self.script + " train", log)

    def test_a_closed_pipe_ends_it_in_silence(self):
        process = self.start(self.script, "reference")
        process.stdout.close()
        log = process.stderr.read()
        self.assertEqual(-signal.SIGPIPE, process.wait(timeout=60))
        self.assertEqual("", log)

    def test_commands_that_start_others_start_the_script(self):
        job, _ = self.run_words(self.script, "submit", "--time=1:00:00", "slurm", "--", "train", "--solver=solver.prototxt")
        self.assertIn(self.script + " train", job)

    def test_export_uses_this_interpreter(self):
        code = ("import os, sys; sys.path[:0] = %r; sys.argv = ['x/doppio', 'version']\n"
                "import _doppio_start\n"
                "_doppio_start.main()\n"
                "print(os.environ['DOPPIO_PYTHON'] == sys.executable)" % self.folders)
        self.assertIn("True", self.run_words(sys.executable, "-c", code)[0])


class CudaTest(case.Case):
    def test_folders_of_pips_packages_come_behind_those_that_the_user_names(self):
        place = os.path.join(self.folder, "site")
        for name in ("cu13", "cudnn"):
            os.makedirs(os.path.join(place, "nvidia", name, "lib"))
        code = ("import os, sys; sys.path[:0] = %r\n"
                "import _doppio_start\n"
                "_doppio_start.find_cuda(); _doppio_start.find_cuda()\n"
                "print(os.environ['DOPPIO_CUDA_LIBRARIES'])"
                % [place, os.path.dirname(os.path.abspath(_doppio_start.__file__))])
        out = subprocess.run([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE, check=True,
                             env=dict(os.environ, DOPPIO_CUDA_LIBRARIES="/mine:/yours")).stdout.strip().split(":")
        self.assertEqual(["/mine", "/yours", place + "/nvidia/cu13/lib", place + "/nvidia/cudnn/lib"], out[:4])
        self.assertEqual(len(set(out)), len(out))


class ModelsTest(case.Case):
    def copy(self, *words):
        folder = os.path.dirname(os.path.dirname(os.path.abspath(doppio.__file__)))
        return subprocess.run([sys.executable, "-m", "doppio.models", *words], cwd=self.folder, text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, PYTHONPATH=folder + ":" + os.path.dirname(sys.modules["_doppio"].__file__)))

    def test_copies_them_once(self):
        if not os.path.isdir(doppio.models.folder()):
            self.skipTest("no models beside the package")
        done = self.copy()
        self.assertEqual((0, "./models\n"), (done.returncode, done.stdout), done.stderr)
        self.assertTrue(os.path.exists(self.path("models/lenet/demo_solver.prototxt")))
        done = self.copy()
        self.assertEqual(4, done.returncode)
        self.assertIn("already exists", done.stderr)


if __name__ == "__main__":
    junit.main()
