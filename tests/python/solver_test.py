#!/usr/bin/env python3
"""Tests training from Python: each step computes the same numbers as the command."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import doppio  # noqa: E402
import numpy as np  # noqa: E402

NET = """name: "Digits"
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  data_param { backend: DIGITS size: 200 batch_size: 8 } transform_param { scale: 0.004 } }
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST }
  data_param { backend: DIGITS size: 40 batch_size: 10 } transform_param { scale: 0.004 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "gaussian" std: 0.01 } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """net: "net.prototxt" type: "SGD" base_lr: 0.1 momentum: 0.9 weight_decay: 0.001 lr_policy: "fixed"
max_iter: 12 test_iter: 4 test_interval: 6 random_seed: 3 snapshot_prefix: "run" snapshot_after_train: false display: 1
"""


class SolverTest(case.Case):
    def setUp(self):
        super().setUp()
        self.write("net.prototxt", NET)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)

    def solver(self, make=doppio.get_solver, **changes):
        text = SOLVER
        for field, value in changes.items():
            text = re.sub(r"%s: \S+" % field, "%s: %s" % (field, value), text)
        return make(self.write("solver.prototxt", text))

    def test_trains_to_the_end_and_learns(self):
        solver = self.solver(max_iter=60)
        first = float(solver.net.forward()["loss"])
        solver.solve()
        self.assertEqual(60, solver.iter)
        self.assertLess(float(solver.net.blobs["loss"].data), first / 2)

    def test_steps_are_those_of_the_command(self):
        if not os.path.exists(case.program()):
            self.skipTest("no program beside the test; name one in DOPPIO")
        solver = self.solver()
        losses = []
        for _ in range(12):
            solver.step(1)
            losses.append(float(solver.net.blobs["loss"].data))
        log = subprocess.run([case.program(), "train", "--solver=solver.prototxt", "--log_format=caffe"], text=True,
                             stderr=subprocess.PIPE, check=True, env=dict(os.environ, GLOG_minloglevel="0")).stderr
        shown = [float(loss) for loss in re.findall(r"Train net output #0: loss = (\S+)", log)]
        self.assertEqual(12, len(shown))
        np.testing.assert_allclose(losses, shown, rtol=1e-4)

    def test_step_goes_past_max_iter(self):
        solver = self.solver(max_iter=2)
        solver.step(5)
        self.assertEqual(5, solver.iter)

    def test_weights_and_gradients_can_be_seen_and_changed(self):
        solver = self.solver()
        weight = solver.net.params["ip"][0]
        before = weight.data.copy()
        solver.step(1)
        change = weight.data - before
        # The first step of SGD has no history yet.
        np.testing.assert_allclose(change, -0.1 * (weight.diff + 0.001 * before), rtol=1e-3, atol=1e-6)
        weight.data[...] = 0
        solver.net.params["ip"][1].data[...] = 0
        test = solver.test_nets[0]
        np.testing.assert_array_equal(test.params["ip"][0].data, np.zeros(before.shape))
        np.testing.assert_allclose(float(test.forward()["loss"]), np.log(10), rtol=1e-5)

    def test_snapshots_are_restored_bit_for_bit(self):
        solver = self.solver()
        solver.step(5)
        state = solver.snapshot()
        self.assertEqual("run_iter_5.solverstate", os.path.basename(state))
        net = solver.net
        solver.step(4)
        expected = net.params["ip"][0].data.copy()
        solver.restore(state)
        self.assertIs(net, solver.net)
        self.assertEqual(5, solver.iter)
        solver.step(4)
        np.testing.assert_array_equal(expected, net.params["ip"][0].data)
        again = self.solver()
        again.solve(state)
        self.assertEqual(12, again.iter)

    def test_classes_name_the_type(self):
        self.assertEqual("Adam", self.solver(doppio.AdamSolver).type)
        solver = self.solver()
        self.assertEqual("SGD", solver.type)
        self.assertAlmostEqual(0.9, solver.param.momentum, 6)

    def test_a_loop_of_ones_own_is_a_step(self):
        stepped, own = self.solver(), self.solver()
        for _ in range(3):
            stepped.step(1)
            own.net.clear_param_diffs()
            own.net.forward()
            own.net.backward()
            own.apply_update()
        self.assertEqual(3, own.iter)
        np.testing.assert_allclose(own.net.params["ip"][0].data, stepped.net.params["ip"][0].data, rtol=1e-4, atol=1e-6)

    def test_callbacks_come_around_the_gradients(self):
        solver = self.solver()
        weight, bias = solver.net.params["ip"]
        told = []

        def begins():
            told.append(("begins", solver.iter))

        def gradients():
            told.append(("gradients", solver.iter))
            bias.diff[...] = 0
            bias.data[...] = 2
        solver.add_callback(begins, gradients)
        solver.step(2)
        self.assertEqual([("begins", 0), ("gradients", 0), ("begins", 1), ("gradients", 1)], told)
        np.testing.assert_allclose(bias.data, np.full(10, 2 - 0.1 * 0.001 * 2), atol=1e-3)

        def fails():
            raise ValueError("enough")
        solver.add_callback(fails)
        with self.assertRaisesRegex(ValueError, "enough"):
            solver.step(1)
        with self.assertRaisesRegex(TypeError, "functions without arguments"):
            solver.add_callback(3)

    def test_nets_share_the_solvers_parameters(self):
        solver = self.solver()
        solver.test_nets[0].share_with(solver.net)
        test = doppio.Net("net.prototxt", doppio.TEST)
        with self.assertRaisesRegex(doppio.UsageError, "belongs to a solver and keeps the solver's parameters"):
            solver.net.share_with(test)
        text = NET[:NET.index("layer { name: \"loss\"")]
        deployed = doppio.Net(self.write("deploy.prototxt", text), doppio.TEST)
        deployed.share_with(solver.net)
        solver.step(1)
        np.testing.assert_array_equal(deployed.params["ip"][0].data, solver.net.params["ip"][0].data)

    def test_share_weights_gives_a_net_the_solvers_parameters(self):
        solver = self.solver()
        net = doppio.Net(self.write("ip.prototxt", 'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 1 '
                                    'dim: 28 dim: 28 } } } layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" '
                                    'inner_product_param { num_output: 10 } }'), doppio.TEST)
        solver.share_weights(net)
        solver.step(1)
        np.testing.assert_array_equal(net.params["ip"][0].data, solver.net.params["ip"][0].data)

    def test_trains_on_arrays_of_the_script_and_goes_on_in_them(self):
        self.write("net.prototxt", """layer { name: "m" type: "MemoryData" top: "x" top: "y"
              memory_data_param { batch_size: 2 channels: 1 height: 1 width: 3 } }
            layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 2 } }
            layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "y" top: "loss" }""")
        solver = self.solver(test_iter=1, test_interval=100, test_initialization="false")
        labels = np.array([0, 1, 1, 0, 1, 1], np.float32)
        solver.net.set_input_arrays(np.ones((6, 1, 1, 3), np.float32), labels)
        solver.test_nets[0].set_input_arrays(np.ones((2, 1, 1, 3), np.float32), labels[:2])
        solver.step(2)
        np.testing.assert_array_equal([1, 0], solver.net.blobs["y"].data)
        state = solver.snapshot()
        solver.step(2)
        np.testing.assert_array_equal([0, 1], solver.net.blobs["y"].data)
        solver.restore(state)
        solver.step(1)
        np.testing.assert_array_equal([1, 1], solver.net.blobs["y"].data)

    def test_mistakes_are_exceptions(self):
        with self.assertRaisesRegex(doppio.ConfigError, "solver.prototxt:1:.*lr_policy"):
            self.solver(lr_policy='"fixd"')
        solver = self.solver()
        with self.assertRaises(doppio.FileError):
            solver.restore("absent.solverstate")
        with self.assertRaisesRegex(doppio.UsageError, "blob 'data' belongs to a solver's net, whose shapes are fixed"):
            solver.net.blobs["data"].reshape(1, 1, 28, 28)
        with self.assertRaisesRegex(doppio.UsageError, "a number of iterations from 0 on; got -1"):
            solver.step(-1)
        with self.assertRaises(TypeError):
            solver.step(1.5)
        solver.step(1)
        self.assertEqual(1, solver.iter)

    def test_interrupts_end_a_step(self):
        # The signal comes 0.3 s of real time later, during the step.
        code = ("import os, signal, sys, threading, time; sys.path[:0] = %r; import doppio\n"
                "solver = doppio.get_solver('solver.prototxt')\n"
                "def interrupt():\n"
                "    time.sleep(0.3)\n"
                "    os.kill(os.getpid(), signal.SIGINT)\n"
                "threading.Thread(target=interrupt).start()\n"
                "try:\n"
                "    solver.step(100000000)\n"
                "except KeyboardInterrupt:\n"
                "    solver.step(1)\n"
                "    print('interrupted')\n" % (sys.path,))
        self.write("solver.prototxt", SOLVER.replace("display: 1", "").replace("test_iter: 4 test_interval: 6", ""))
        done = subprocess.run([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE, timeout=100)
        self.assertEqual("interrupted\n", done.stdout)


if __name__ == "__main__":
    junit.main()
