"""The steps of the notebook on LeNet. It begins in the folder examples."""
import os

caffe_root = "../"
import sys  # noqa: E402
sys.path.insert(0, caffe_root + "python")
import caffe  # noqa: E402
from caffe import layers as L, params as P  # noqa: E402

os.chdir(caffe_root)
# The databases were made by examples/mnist/create_mnist.sh.
os.chdir("examples")


def lenet(lmdb, batch_size):
    n = caffe.NetSpec()
    n.data, n.label = L.Data(batch_size=batch_size, backend=P.Data.LMDB, source=lmdb,
                             transform_param=dict(scale=1. / 255), ntop=2)
    n.conv1 = L.Convolution(n.data, kernel_size=5, num_output=20, weight_filler=dict(type="xavier"))
    n.pool1 = L.Pooling(n.conv1, kernel_size=2, stride=2, pool=P.Pooling.MAX)
    n.conv2 = L.Convolution(n.pool1, kernel_size=5, num_output=50, weight_filler=dict(type="xavier"))
    n.pool2 = L.Pooling(n.conv2, kernel_size=2, stride=2, pool=P.Pooling.MAX)
    n.fc1 = L.InnerProduct(n.pool2, num_output=500, weight_filler=dict(type="xavier"))
    n.relu1 = L.ReLU(n.fc1, in_place=True)
    n.score = L.InnerProduct(n.relu1, num_output=10, weight_filler=dict(type="xavier"))
    n.loss = L.SoftmaxWithLoss(n.score, n.label)
    return n.to_proto()


with open("mnist/lenet_auto_train.prototxt", "w") as f:
    f.write(str(lenet("mnist/mnist_train_lmdb", 64)))
with open("mnist/lenet_auto_test.prototxt", "w") as f:
    f.write(str(lenet("mnist/mnist_test_lmdb", 100)))

caffe.set_mode_cpu()
solver = caffe.SGDSolver("mnist/lenet_auto_solver.prototxt")
print([(k, v.data.shape) for k, v in solver.net.blobs.items()])
print([(k, v[0].data.shape) for k, v in solver.net.params.items()])
solver.net.forward()
solver.test_nets[0].forward()
solver.step(1)
niter, test_interval = 60, 20
for it in range(niter):
    solver.step(1)
    train_loss = float(solver.net.blobs["loss"].data)
    solver.test_nets[0].forward(start="conv1")
    if it % test_interval == 0:
        correct = 0
        for _ in range(5):
            solver.test_nets[0].forward()
            correct += sum(solver.test_nets[0].blobs["score"].data.argmax(1) == solver.test_nets[0].blobs["label"].data)
        print("Iteration", it, "testing...", correct / 500)
print("loss", train_loss)
