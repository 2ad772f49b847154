"""What the tests of sweeps share: a tiny net with an accuracy, and its solver."""
import json

import scenario

NET = 'name: "tiny"\n' + scenario.TINY_NET + """layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy"
  include { phase: TEST } }
"""
SOLVER = """net: "net.prototxt"
type: "SGD" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed"
max_iter: %d
test_iter: 10
test_interval: %d
snapshot_prefix: "unused"
"""


class SweepCase(scenario.Scenario):
    maxDiff = None

    def fill(self, max_iter=200, interval=50):
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER % (max_iter, interval))

    def environment(self, **env):
        return super().environment(**scenario.ONE_THREAD, **env)

    def table(self, result):
        """Returns the part of the results that depends neither on the time nor on the folder."""
        return [(t["trial"], t["state"], t["values"], t["score"], t["iter"], t["error"]) for t in result["trials"]]

    def events(self, folder, kind):
        try:
            lines = self.read(folder + "/sweep.jsonl").split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        return [e for e in map(json.loads, lines) if e["event"] == kind]
