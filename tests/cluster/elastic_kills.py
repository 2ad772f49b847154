#!/usr/bin/env python3
"""Measures how soon an elastic training goes on after kill -9 of a random rank, and how many iterations it loses.

    python3 tests/cluster/elastic_kills.py [--kills=20] [--ranks=4] [--seed=1]

Trains LeNet on ranks of this machine, kills one at a random moment, waits until launch has started it again and the
training goes on with all ranks, and so on. Ends with the comparison with a training that was stopped and resumed with
another number of ranks at the same iterations: the weights must have the same bits. tools/doppio must be built."""
import argparse
import datetime
import os
import random
import re
import signal
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
import elastic_case  # noqa: E402

CONV = """layer { name: "%s" type: "Convolution" bottom: "%s" top: "%s"
  convolution_param { num_output: %d kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "%s_pool" type: "Pooling" bottom: "%s" top: "%s_pool" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
"""
IP = """layer { name: "%s" type: "InnerProduct" bottom: "%s" top: "%s"
  inner_product_param { num_output: %d weight_filler { type: "xavier" } } }
"""
LENET = """layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.004 }
  data_param { backend: DIGITS size: 1000 batch_size: 16 shuffle: true } }
""" + CONV % ("c1", "data", "c1", 20, "c1", "c1", "c1") + CONV % ("c2", "c1_pool", "c2", 50, "c2", "c2", "c2") + \
    IP % ("ip1", "c2_pool", "ip1", 500) + 'layer { name: "relu" type: "ReLU" bottom: "ip1" top: "ip1" }\n' + \
    IP % ("ip2", "ip1", "ip2", 10) + 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }\n'
LINE = re.compile(r"I(\d{4} [\d:.]+) .*?\] (?:Iteration (\d+) \(|world (\d+): (\d+) ranks?, continuing after iteration (\d+))")


def lines_of(log):
    """Returns (time, iteration, world, ranks, first iteration) of each line about an iteration or a world."""
    found = []
    for match in LINE.finditer(log):
        at = datetime.datetime.strptime("%d%s" % (datetime.date.today().year, match.group(1)), "%Y%m%d %H:%M:%S.%f").timestamp()
        found.append((at, *[None if g is None else int(g) for g in match.groups()[1:]]))
    return found


class Kills(elastic_case.ElasticCase):
    def runTest(self):
        options = Kills.options
        self.write("net.prototxt", LENET)
        process = self.begin(options.ranks, "--elastic=1:%d" % options.ranks, "--set", "display=1", launch=("--restarts=1000",))
        moments, seconds, lost = random.Random(options.seed), [], []
        for kill in range(options.kills):
            time.sleep(moments.uniform(0.3, 1.5))  # real time: any moment of the training
            victim = moments.choice(sorted(self.ranks()))
            known = len(self.worlds())
            os.kill(self.ranks()[victim], signal.SIGKILL)
            killed = time.time()
            self.wait_for(lambda: len(self.worlds()) > known, "the others do not go on")
            self.wait_for(lambda: self.worlds()[-1][0] == options.ranks, "the rank does not come back")
            time.sleep(0.5)  # real time, for some more iterations
            lines = lines_of(self.logged())
            first = next(i for i, line in enumerate(lines) if line[2] == known + 1)
            goes_on = next(line for line in lines[first:] if line[1] is not None)
            reached = max(line[1] for line in lines[:first] if line[1] is not None)
            seconds.append(goes_on[0] - killed)
            lost.append(max(0, reached - lines[first][4]))
            print("kill %d: rank %d; the next iteration after %.2f s; complete iterations lost: %d" %
                  (kill + 1, victim, seconds[-1], lost[-1]), flush=True)
        end, weights = self.stop(process)
        print("%d kills, %d iterations: training goes on after %.2f s (median), %.2f s (worst); complete iterations lost: %d" %
              (options.kills, end, statistics.median(seconds), max(seconds), sum(lost)))
        self.assertTrue(self.reference(self.worlds(), end) == weights, "other weights than a training that is stopped and resumed")
        print("the weights equal those of a training that is stopped and resumed at the same iterations, bit for bit")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    Kills.options = parser.parse_args()
    result = elastic_case.scenario.unittest.TextTestRunner().run(Kills())
    sys.exit(0 if result.wasSuccessful() else 1)
