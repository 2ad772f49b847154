#!/usr/bin/env python3
"""Times training iterations of the model zoo's nets in TensorFlow (pip install tensorflow), as a peer of compare.py.

usage: tensorflow_peer.py [--threads 2] [--runs 5] [--seconds 2] [--amp] [--jit] [NET ...]

A net is the same graph as the Caffe model of its name, in Keras' default layout (channels last), and runs as one
tf.function on random data: forward, backward, SGD with momentum and weight decay. Prints a line per net:
NAME BATCH IMAGES_PER_SECOND, the median of the runs. --amp computes in bfloat16 (Keras' mixed_bfloat16), --jit
compiles the iteration with XLA.
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before the import, which reads it

import tensorflow as tf  # noqa: E402
from tensorflow import keras  # noqa: E402
import peer_rate  # noqa: E402

L = keras.layers


class LocalResponse(L.Layer):
    """AlexNet's normalisation across 5 channels. TensorFlow has no bfloat16 kernel for it."""

    def call(self, x):
        y = tf.nn.local_response_normalization(tf.cast(x, tf.float32), 2, 1.0, 1e-4 / 5, 0.75)
        return tf.cast(y, x.dtype)


def conv(outputs, kernel, stride=1, pad="valid", groups=1, activation="relu"):
    return L.Conv2D(outputs, kernel, stride, pad, groups=groups, activation=activation)


def pool(kernel, stride, pad="valid"):
    return L.MaxPooling2D(kernel, stride, pad)


def chain(shape, *layers):
    x = image = keras.Input(shape)
    for layer in layers:
        x = layer(x)
    return keras.Model(image, x)


def lenet():
    return chain((28, 28, 1), conv(20, 5, activation=None), pool(2, 2), conv(50, 5, activation=None), pool(2, 2),
                 L.Flatten(), L.Dense(500, "relu"), L.Dense(10))


def cifar10_quick():
    def average():
        return L.AveragePooling2D(3, 2, "same")
    return chain((32, 32, 3), conv(32, 5, pad="same", activation=None), pool(3, 2, "same"), L.ReLU(),
                 conv(32, 5, pad="same"), average(), conv(64, 5, pad="same"), average(), L.Flatten(), L.Dense(64),
                 L.Dense(10))


def classifier():
    return [L.Flatten(), L.Dense(4096, "relu"), L.Dropout(0.5), L.Dense(4096, "relu"), L.Dropout(0.5), L.Dense(1000)]


def five_convolutions(between):
    """AlexNet and CaffeNet, which differ in the order of `between`: normalisation and pooling."""
    return chain((227, 227, 3), conv(96, 11, 4), *between(), conv(256, 5, pad="same", groups=2), *between(),
                 conv(384, 3, pad="same"), conv(384, 3, pad="same", groups=2), conv(256, 3, pad="same", groups=2),
                 pool(3, 2), *classifier())


def alexnet():
    return five_convolutions(lambda: [LocalResponse(), pool(3, 2)])


def caffenet():
    return five_convolutions(lambda: [pool(3, 2), LocalResponse()])


def vgg16():
    layers = []
    for outputs, count in (64, 2), (128, 2), (256, 3), (512, 3), (512, 3):
        layers += [conv(outputs, 3, pad="same") for _ in range(count)] + [pool(2, 2)]
    return chain((224, 224, 3), *layers, *classifier())


def resnet50():
    def norm(x, outputs, kernel, stride=1, relu=True):
        x = L.BatchNormalization()(L.Conv2D(outputs, kernel, stride, "same", use_bias=False)(x))
        return L.ReLU()(x) if relu else x

    image = keras.Input((224, 224, 3))
    x = pool(3, 2, "same")(norm(image, 64, 7, 2))
    for stage, (inner, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            shortcut = x if block else norm(x, 4 * inner, 1, stride, relu=False)
            y = norm(norm(norm(x, inner, 1, stride), inner, 3), 4 * inner, 1, relu=False)
            x = L.ReLU()(L.Add()([y, shortcut]))
    return keras.Model(image, L.Dense(1000)(L.GlobalAveragePooling2D()(x)))


def googlenet():
    """The main tower and both auxiliary classifiers."""
    def inception(x, c1, c3r, c3, c5r, c5, cp):
        return L.Concatenate()([conv(c1, 1)(x), conv(c3, 3, pad="same")(conv(c3r, 1)(x)),
                                conv(c5, 5, pad="same")(conv(c5r, 1)(x)), conv(cp, 1)(pool(3, 1, "same")(x))])

    def auxiliary(x):
        x = L.Dense(1024, "relu")(L.Flatten()(conv(128, 1)(L.AveragePooling2D(5, 3)(x))))
        return L.Dense(1000)(L.Dropout(0.7)(x))

    image = keras.Input((224, 224, 3))
    x = LocalResponse()(pool(3, 2, "same")(conv(64, 7, 2, "same")(image)))
    x = pool(3, 2, "same")(LocalResponse()(conv(192, 3, pad="same")(conv(64, 1)(x))))
    x = inception(inception(x, 64, 96, 128, 16, 32, 32), 128, 128, 192, 32, 96, 64)
    x = inception(pool(3, 2, "same")(x), 192, 96, 208, 16, 48, 64)
    first = auxiliary(x)
    for widths in (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64):
        x = inception(x, *widths)
    second = auxiliary(x)
    x = pool(3, 2, "same")(inception(x, 256, 160, 320, 32, 128, 128))
    x = inception(inception(x, 256, 160, 320, 32, 128, 128), 384, 192, 384, 48, 128, 128)
    return keras.Model(image, [L.Dense(1000)(L.Dropout(0.4)(L.GlobalAveragePooling2D()(x))), first, second])


NETS = {"lenet": (lenet, 64, 10), "cifar10_quick": (cifar10_quick, 100, 10), "alexnet": (alexnet, 16, 1000),
        "caffenet": (caffenet, 16, 1000), "googlenet": (googlenet, 8, 1000), "resnet50": (resnet50, 4, 1000),
        "vgg16": (vgg16, 2, 1000)}


def iteration(net, batch, classes, jit):
    update = keras.optimizers.SGD(1e-4, 0.9, weight_decay=5e-4)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    images = tf.random.normal((batch,) + net.input_shape[1:])
    labels = tf.random.uniform((batch,), 0, classes, tf.int32)

    @tf.function(jit_compile=jit)
    def step():
        with tf.GradientTape() as tape:
            outputs = net(images, training=True)
            outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
            loss = sum(weight * loss_of(labels, tf.cast(scores, tf.float32))
                       for weight, scores in zip((1, 0.3, 0.3), outputs))
        update.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss
    return step


def main():
    parser = peer_rate.flags(__doc__)
    parser.add_argument("nets", nargs="*", default=list(NETS))
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--jit", action="store_true")
    opt = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(opt.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if opt.amp:
        keras.mixed_precision.set_global_policy("mixed_bfloat16")
    for name in opt.nets:
        make, batch, classes = NETS[name]
        step = iteration(make(), batch, classes, opt.jit)
        peer_rate.print_rate(name, batch, lambda step=step: float(step()), opt)  # float() waits for the loss


if __name__ == "__main__":
    main()
