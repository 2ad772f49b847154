#!/usr/bin/env python3
"""Tests what check and train say about nets of two phases, about messages without effect and about assumed shapes."""
import os
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402

SOURCE = """layer { name: "d" type: "DummyData" top: "data" top: "t" %s
  dummy_data_param { shape { dim: 2 dim: 3 } } }
"""
NET = SOURCE + """layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 3 %s } %s }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "t" top: "loss" }
"""
SOLVER = """net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 2 test_iter: 1 test_interval: 1
snapshot_after_train: false %s
"""
LACKS = "layer 'ip': bottom 'data' is not produced by any layer above; layer 'd' (line 1) produces it, but it is "


class CheckCommandTest(tool_case.ToolCase):
    def write_net(self, rules="", ip="", layer="", solver=""):
        self.write("net.prototxt", NET % (rules, ip, layer))
        self.write("solver.prototxt", SOLVER % solver)

    def check(self, code, *args):
        r = self.run_tool("check", *args)
        self.assertEqual(code, r.returncode, r.stdout)
        return r.stdout

    def train(self, *args):
        return self.run_tool("train", "--solver=solver.prototxt", *args)

    def test_a_layer_of_the_other_phase_is_named(self):
        self.write_net("include { phase: TRAIN }")
        said = "error: in the TEST net: " + LACKS + "included only in TRAIN; add one for TEST\n"
        self.assertIn(said, self.check(3, "solver.prototxt"))
        self.assertIn(said, self.train().stderr)
        self.assertIn(said, self.check(3, "--phase=TEST", "net.prototxt"))
        self.assertIn("no errors", self.check(0, "net.prototxt"))
        self.assertIn("no errors", self.check(0, "--phase=TRAIN", "solver.prototxt"))

    def test_a_missing_stage_is_named_and_train_does_not_give_it_to_test_nets(self):
        self.write_net('include { stage: "one" }')
        in_train = "error: in the TRAIN net: " + LACKS + "included only with stage 'one', and this net has no stage; "
        r = self.train()
        self.assertEqual(3, r.returncode)
        self.assertIn(in_train + "--stage and --level, or the solver's train_state, set them\n", r.stderr)
        r = self.train("--stage=one")
        self.assertEqual(3, r.returncode)
        self.assertIn(in_train.replace("TRAIN", "TEST") + "the solver's test_state sets them; ", r.stderr)
        self.write_net('include { stage: "one" }', solver='test_state { stage: "one" }')
        self.assertEqual(0, self.train("--stage=one").returncode)

    def test_a_mistake_in_both_phases_names_none(self):
        self.write_net("", "axis: 7", 'include { phase: TRAIN } include { phase: TEST }')
        out = self.check(3, "net.prototxt")
        self.assertEqual(1, out.count("error: "), out)
        self.assertRegex(out, r"error: layer 'ip': ")
        self.assertRegex(self.train().stderr, r"error: in the TRAIN net: layer 'ip': ")

    def test_a_metric_of_the_other_phase_is_named(self):
        self.write("net.prototxt", NET % ("", "", "") + 'layer { name: "copy" type: "Power" bottom: "ip" top: "copy" '
                   'include { phase: TRAIN } }\n')
        self.write("solver.prototxt", SOLVER % "")
        r = self.train("--monitor=min:copy", "--keep_best")
        self.assertIn("no test net has an output 'copy', which the monitor needs; layer 'copy' (line 6) produces it, "
                      "but it is included only in TRAIN; add one for TEST", r.stderr)

    def test_a_message_of_another_layer_type_is_named_once(self):
        self.write_net("", "", "dropout_param { dropout_ratio: 0.9 }")
        said = ("dropout_param has no effect in a layer of type InnerProduct, which reads inner_product_param; "
                "dropout_param is for Dropout")
        for out in (self.check(0, "net.prototxt"), self.check(0, "solver.prototxt"), self.train().stderr):
            self.assertEqual(1, out.count(said), out)

    def test_warnings_of_layers_are_given_once(self):
        self.write("net.prototxt", """layer { name: "d" type: "DummyData" top: "data" top: "t"
  dummy_data_param { shape { dim: 1 dim: 2 dim: 3 dim: 3 } shape { dim: 1 dim: 2 dim: 6 dim: 6 } } }
layer { name: "up" type: "Deconvolution" bottom: "data" top: "up"
  convolution_param { num_output: 2 kernel_size: 2 stride: 2 weight_filler { type: "bilinear" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "up" bottom: "t" top: "loss" }
""")
        self.write("solver.prototxt", SOLVER % "")
        said = "with group: 1, bilinear weights add up channels of the bottom; "
        for out in (self.check(0, "net.prototxt"), self.check(0, "solver.prototxt"), self.train().stderr):
            self.assertEqual(1, out.count(said), out)

    def test_an_accuracy_of_one_score_is_refused(self):
        self.write("net.prototxt", """layer { name: "d" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 4 dim: 3 } shape { dim: 4 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 1 } }
layer { name: "acc" type: "Accuracy" bottom: "ip" bottom: "label" top: "acc" }
""")
        self.assertIn("error: layer 'acc': Accuracy needs a score for each class, but 'ip' has only one; ",
                      self.check(3, "net.prototxt"))
        # The remedy that the message advises.
        net = self.read("net.prototxt").decode().replace('bottom: "ip" bottom: "l', 'bottom: "both" bottom: "l')
        zeros = """layer { name: "zero" type: "Power" bottom: "ip" top: "zero" power_param { scale: 0 } }
layer { name: "both" type: "Concat" bottom: "zero" bottom: "ip" top: "both" }
"""
        self.write("net.prototxt", net.replace('layer { name: "acc"', zeros + 'layer { name: "acc"'))
        self.check(0, "net.prototxt")

    def test_shapes_behind_an_assumed_one_are_warnings_that_name_it(self):
        net = """layer { name: "input" type: "RoiData" top: "data" top: "im_info" top: "gt_boxes"
  transform_param { scale: 1 } }
layer { name: "s" type: "Silence" bottom: "im_info" bottom: "gt_boxes" }
layer { name: "half" type: "Pooling" bottom: "data" top: "half" pooling_param { kernel_size: %d stride: %d } }
layer { name: "up" type: "Upsample" bottom: "half" top: "up" upsample_param { scale: %d } }
layer { name: "sum" type: "Eltwise" bottom: "up" bottom: "data" top: "sum" }
"""
        self.write("net.prototxt", net % (32, 32, 32))
        out = self.check(0, "--nodata", "net.prototxt")
        self.assertIn("its images are assumed to be 1x3x608x1024", out)
        self.write("net.prototxt", net % (7, 7, 7))
        out = self.check(0, "--nodata", "net.prototxt")
        self.assertRegex(out, r"net.prototxt:6:\d+: warning: layer 'sum': .*; the shapes here depend on that of 'data' "
                              r"\(line 1\), which is assumed to be 1x3x608x1024, because its data is missing")

    def test_the_phase_must_be_one(self):
        self.assertIn("TRAIN or TEST", self.fail_with(2, "check", "--phase=TRIAN", "net.prototxt"))


if __name__ == "__main__":
    tool_case.main()
