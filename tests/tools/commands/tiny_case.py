"""A net and a solver that are small enough for every test to train them."""
from tool_case import ToolCase

# A batch of four samples with three inputs and two targets; needs no files.
TINY_NET = """name: "tiny"
layer { name: "in" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 }
    data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
"""
DIGITS_NET = """name: "digits"
layer { name: "in" type: "Data" top: "x" top: "label" data_param { backend: DIGITS size: 10 batch_size: 4 }
  transform_param { scale: 0.00390625 } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
TINY_SOLVER = """net: "net.prototxt"
base_lr: 0.01
lr_policy: "fixed"
max_iter: 20
display: 10
snapshot_prefix: "tiny"
"""


class TinyCase(ToolCase):
    def write_tiny(self, solver=TINY_SOLVER):
        self.write("net.prototxt", TINY_NET)
        return self.write("solver.prototxt", solver)
