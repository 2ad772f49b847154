"""The steps of the notebook on logistic regression: data by h5py, nets by NetSpec, a solver, both ways to train. Its data are drawn
by scikit-learn's make_classification, here by NumPy, and it begins in the folder examples."""
import os

os.chdir("..")
import sys  # noqa: E402
sys.path.insert(0, "./python")
import caffe  # noqa: E402

import h5py  # noqa: E402
import numpy as np  # noqa: E402
from caffe import layers as L  # noqa: E402
from caffe.proto import caffe_pb2  # noqa: E402

generator = np.random.RandomState(0)
X = generator.randn(10000, 4)
y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * generator.randn(10000) > 0).astype(np.int64)
X, Xt, y, yt = X[:7500], X[7500:], y[:7500], y[7500:]

dirname = os.path.abspath("./examples/hdf5_classification/data")
if not os.path.exists(dirname):
    os.makedirs(dirname)
train_filename = os.path.join(dirname, "train.h5")
test_filename = os.path.join(dirname, "test.h5")
with h5py.File(train_filename, "w") as f:
    f["data"] = X
    f["label"] = y.astype(np.float32)
with open(os.path.join(dirname, "train.txt"), "w") as f:
    f.write(train_filename + "\n")
    f.write(train_filename + "\n")
comp_kwargs = {"compression": "gzip", "compression_opts": 1}
with h5py.File(test_filename, "w") as f:
    f.create_dataset("data", data=Xt, **comp_kwargs)
    f.create_dataset("label", data=yt.astype(np.float32), **comp_kwargs)
with open(os.path.join(dirname, "test.txt"), "w") as f:
    f.write(test_filename + "\n")


def logreg(hdf5, batch_size):
    n = caffe.NetSpec()
    n.data, n.label = L.HDF5Data(batch_size=batch_size, source=hdf5, ntop=2)
    n.ip1 = L.InnerProduct(n.data, num_output=2, weight_filler=dict(type="xavier"))
    n.accuracy = L.Accuracy(n.ip1, n.label)
    n.loss = L.SoftmaxWithLoss(n.ip1, n.label)
    return n.to_proto()


def nonlinear_net(hdf5, batch_size):
    n = caffe.NetSpec()
    n.data, n.label = L.HDF5Data(batch_size=batch_size, source=hdf5, ntop=2)
    n.ip1 = L.InnerProduct(n.data, num_output=40, weight_filler=dict(type="xavier"))
    n.relu1 = L.ReLU(n.ip1, in_place=True)
    n.ip2 = L.InnerProduct(n.ip1, num_output=2, weight_filler=dict(type="xavier"))
    n.accuracy = L.Accuracy(n.ip2, n.label)
    n.loss = L.SoftmaxWithLoss(n.ip2, n.label)
    return n.to_proto()


def solver(train_net_path, test_net_path):
    s = caffe_pb2.SolverParameter()
    s.train_net = train_net_path
    s.test_net.append(test_net_path)
    s.test_interval = 1000
    s.test_iter.append(250)
    s.max_iter = 10000
    s.base_lr = 0.01
    s.lr_policy = "step"
    s.gamma = 0.1
    s.stepsize = 5000
    s.momentum = 0.9
    s.weight_decay = 5e-4
    s.display = 1000
    s.snapshot = 10000
    s.snapshot_prefix = "examples/hdf5_classification/data/train"
    s.solver_mode = caffe_pb2.SolverParameter.CPU
    return s


for net, name in (logreg, "logreg"), (nonlinear_net, "nonlinear"):
    paths = ["examples/hdf5_classification/%s_auto_%s.prototxt" % (name, part) for part in ("train", "test")]
    for path, part in zip(paths, ("train", "test")):
        with open(path, "w") as f:
            f.write(str(net("examples/hdf5_classification/data/%s.txt" % part, 10)))
    solver_path = "examples/hdf5_classification/%s_solver.prototxt" % name
    with open(solver_path, "w") as f:
        f.write(str(solver(*paths)))
    caffe.set_mode_cpu()
    trained = caffe.get_solver(solver_path)
    trained.solve()
    accuracy = 0
    batch_size = trained.test_nets[0].blobs["data"].num
    test_iters = int(len(Xt) / batch_size)
    for i in range(test_iters):
        trained.test_nets[0].forward()
        accuracy += trained.test_nets[0].blobs["accuracy"].data
    print("%s accuracy: %.3f" % (name, accuracy / test_iters))
    if os.system("./build/tools/caffe train -solver " + solver_path):
        sys.exit("caffe train failed")
