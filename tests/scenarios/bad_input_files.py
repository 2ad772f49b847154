"""A folder that trains well, and helpers that put one mistake into it: texts, and files of every
kind."""
import math
import re

import scenario

NET = """name: "tiny"
layer {
  name: "in"
  type: "DummyData"
  top: "data"
  top: "label"
  dummy_data_param {
    shape { dim: 4 dim: 1 dim: 6 dim: 6 }
    shape { dim: 4 }
    data_filler { type: "gaussian" }
    data_filler { type: "constant" value: 1 }
  }
}
layer {
  name: "conv1"
  type: "Convolution"
  bottom: "data"
  top: "conv1"
  convolution_param { num_output: 2 kernel_size: 3 weight_filler { type: "xavier" } }
}
layer {
  name: "pool1"
  type: "Pooling"
  bottom: "conv1"
  top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 }
}
layer {
  name: "ip1"
  type: "InnerProduct"
  bottom: "pool1"
  top: "ip1"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } }
}
layer {
  name: "loss"
  type: "SoftmaxWithLoss"
  bottom: "ip1"
  bottom: "label"
  top: "loss"
}
"""
SOLVER = """net: "net.prototxt"
base_lr: 0.01
lr_policy: "fixed"
max_iter: 4
display: 2
snapshot: 2
snapshot_prefix: "tiny"
random_seed: 1
"""
# The same net with images from a file; the rows that use it supply data_param and transform_param.
FROM_FILE = re.sub(r'  type: "DummyData".*?\n}\n', '  type: "@TYPE@"\n  top: "data"\n  top: "label"\n@PARAM@}\n', NET,
                   count=1, flags=re.S)
TRAIN = ("train", "--solver=solver.prototxt")
USAGE, CONFIG, FILE, DEVICE = 2, 3, 4, 5


def changed(text, *pairs):
    """Returns `text` with the first string of each pair replaced, once, by the second one."""
    for old, new in zip(pairs[::2], pairs[1::2]):
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


def net(*pairs):
    return {"net.prototxt": changed(NET, *pairs)}


def more(layers):
    """Returns files with additional layers before the loss; their first line is line 36 of the
    file."""
    return {"net.prototxt": changed(NET, 'layer {\n  name: "loss"', layers + 'layer {\n  name: "loss"')}


def solver(*pairs):
    return {"solver.prototxt": changed(SOLVER, *pairs)}


def set_(*values):
    return TRAIN + tuple("--set=" + v for v in values)


def data(param, kind="Data", **files):
    text = FROM_FILE.replace("@TYPE@", kind).replace("@PARAM@", "".join("  %s\n" % p for p in param.split("\n")))
    return {"net.prototxt": text, **{k.replace("__", "."): v for k, v in files.items()}}


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def mean_file(channels, height, width):
    """Returns a serialized BlobProto of zeros."""
    dims = b"".join(varint(i << 3) + varint(n) for i, n in ((1, 1), (2, channels), (3, height), (4, width)))
    return dims + field(5, b"\0" * (4 * channels * height * width))


def weights_file(layer, *shapes):
    """Returns a serialized NetParameter with one layer whose blobs are zeros."""
    blobs = b""
    for dims in shapes:
        values = b"\0" * (4 * math.prod(dims))
        blobs += field(7, field(7, field(1, b"".join(map(varint, dims)))) + field(5, values))
    return field(1, b"tiny") + field(100, field(1, layer.encode()) + blobs)


CONV1_WEIGHTS = weights_file("conv1", [2, 1, 3, 3], [2])
IMAGE = scenario.png([[x * y for x in range(6)] for y in range(6)])
LARGE_IMAGE = scenario.png([[x * y for x in range(8)] for y in range(8)])
JPEG_START = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffdb0043")
IDX_PARAM = 'data_param { source: "a-images-idx3-ubyte" batch_size: 2 backend: IDX }'
IDX_IMAGES = scenario.idx([4, 6, 6], [i % 200 for i in range(144)])
LIST_PARAM = 'image_data_param { source: "list.txt" batch_size: 2 is_color: false }'
LMDB_PARAM = 'data_param { source: "db" batch_size: 2 backend: LMDB }'
LEVELDB_PARAM = 'data_param { source: "db" batch_size: 2 backend: LEVELDB }'
HDF5_PARAM = 'hdf5_data_param { source: "list.txt" batch_size: 2 }'


def images(labels):
    return {"a-images-idx3-ubyte": IDX_IMAGES, "a-labels-idx1-ubyte": scenario.idx([len(labels)], labels)}


def idx_data(files, param=IDX_PARAM):
    return {**data(param), **files}


def share(param="", num_output=3, own=""):
    """Returns files with two layers whose weights have the same name."""
    return net('  inner_product_param { num_output: 3',
               '  param { name: "w" %s }\n  inner_product_param { num_output: 3' % own,
               'layer {\n  name: "loss"',
               'layer {\n  name: "ip2"\n  type: "InnerProduct"\n  bottom: "pool1"\n  top: "ip2"\n'
               '  param { name: "w" %s }\n'
               '  inner_product_param { num_output: %s }\n}\n'
               'layer {\n  name: "quiet"\n  type: "Silence"\n  bottom: "ip2"\n}\nlayer {\n  name: "loss"'
               % (param, num_output))
