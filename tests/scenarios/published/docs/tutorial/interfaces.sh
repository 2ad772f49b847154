#!/usr/bin/env sh
# The commands that the tutorial's page on the command line shows, those for a GPU left out.
set -e

PATH=$PWD/build/tools:$PATH

caffe train -solver examples/mnist/lenet_solver.prototxt -snapshot examples/mnist/lenet_iter_5000.solverstate
caffe test -model examples/mnist/lenet_train_test.prototxt -weights examples/mnist/lenet_iter_10000.caffemodel -iterations 100
caffe time -model examples/mnist/lenet_train_test.prototxt -iterations 10
caffe time -model examples/mnist/lenet_train_test.prototxt -weights examples/mnist/lenet_iter_10000.caffemodel -iterations 10
caffe device_query
