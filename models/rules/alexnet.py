"""AlexNet on several nodes."""
from .files import solver


def all_files():
    return solver(
        "alexnet", "AlexNet on 4 nodes: 4 times the batch of one, so 4 times the rate and a quarter of the iterations:\n"
        "  mpirun -n 4 --map-by node doppio train --solver=models/alexnet/solver_4nodes.prototxt\n"
        "On one node Intel Caffe's values for AlexNet are rate 0.007, poly with power 0.6, 250000 iterations of 256.",
        ("1000 batches of 50, which the nodes share: all 50000 validation images.", dict(test_iter=1000, test_interval=2500)),
        (None, dict(base_lr=0.028, lr_policy="poly", power=0.6)),
        ("The rate climbs during the first 5 epochs.", dict(warmup_iter=6255, warmup_start_lr=0.007)),
        (None, dict(momentum=0.9, weight_decay=0.0005)),
        (None, dict(max_iter=62500, display=20, snapshot=10000, snapshot_prefix="alexnet_4nodes")), name="solver_4nodes")
