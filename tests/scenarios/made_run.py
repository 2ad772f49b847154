"""Makes run folders by hand in the format of `train --run_dir`, with numbers that are known in
advance."""
import json
import os
import time


def loss_at(iteration, rate):
    return 2.0 / (1 + rate * iteration)


class MadeRun:
    """A folder with run.json and the resolved files; lines are added to its metrics.jsonl."""

    def __init__(self, folder, rate=0.01, status="finished", max_iter=1000, argv=()):
        self.folder, self.rate, self.max_iter = folder, rate, max_iter
        os.makedirs(folder)
        self.started = time.time() - 100
        self.argv = ["doppio", "train", "--solver=solver.prototxt", "--set", "base_lr=%g" % rate, *argv]
        self.tell(status)
        with open(os.path.join(folder, "solver.prototxt"), "w") as f:
            f.write('base_lr: %g\nmomentum: 0.9\nlr_policy: "fixed"\nmax_iter: %d\n' % (rate, max_iter))
        with open(os.path.join(folder, "net.prototxt"), "w") as f:
            f.write('name: "made"\n')

    def tell(self, status, iteration=0, **more):
        run = {"id": os.path.basename(self.folder), "argv": self.argv, "cwd": "/", "host": "elsewhere", "user": "u",
               "version": "1", "gpus": [], "seed": 1, "solver": "solver.prototxt", "net": "made", "started": self.started,
               "heartbeat": time.time(), "pid": 1, "status": status, "parent": None, "max_iter": self.max_iter,
               "iter": iteration, "job": {}, **more}
        path = os.path.join(self.folder, "run.json")
        with open(path + ".new", "w") as f:
            json.dump(run, f)
        os.rename(path + ".new", path)

    def add(self, **line):
        with open(os.path.join(self.folder, "metrics.jsonl"), "a") as f:
            f.write(json.dumps(line) + "\n")

    def train(self, first, last, step=10):
        for i in range(first, last + 1, step):
            self.add(t=self.started + i / 10, iter=i, epoch=i / 100, phase="train", loss=loss_at(i, self.rate), lr=self.rate,
                     images_per_s=5000.0, data_wait=0.25, gpu_mem=0, outputs={"loss": loss_at(i, self.rate)})
        return self

    def test(self, iteration, accuracy):
        self.add(t=self.started + iteration / 10, iter=iteration, phase="test", net=0, scores={"accuracy": accuracy})
        return self
