"""What classifiers of ImageNet have in common."""
from .files import solver, source

THIRDS = ("Divided by 10 every 150000 iterations, 30 epochs.",
          dict(base_lr=0.1, lr_policy="step", gamma=0.1, stepsize=150000))


def imagenet(size=224, mean=(104, 117, 123), batch=32, stem="examples/imagenet/ilsvrc12", **extra):
    def data(net):
        net.note("Input: 3x%dx%d, B G R." % (size, size))
        source(net, stem + "_train_lmdb", stem + "_val_lmdb", batch, 25,
               dict(crop_size=size, mean_value=list(mean), **extra), dict(mirror=True))
    return data


def imagenet_solver(folder, title, rates, iterations, iter_size=8, **more):
    update = dict(dict(momentum=0.9, weight_decay=0.0001), **more)
    return solver(
        folder, title,
        ("%d passes of 32 images make one batch of %d. On N devices divide iter_size by N." % (iter_size, 32 * iter_size),
         dict(iter_size=iter_size)),
        ("2000 batches of 25: all 50000 validation images.",
         dict(test_iter=2000, test_interval=5000, test_initialization=False)),
        rates,
        (None, update),
        (None, dict(max_iter=iterations, display=20, average_loss=20, snapshot=10000, snapshot_prefix=folder)))
