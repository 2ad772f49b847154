"""Counts what relations found, and writes the counts as JSON that can be added up over runs:
{"relations": {NAME: {"seeds": tried, "found": not held, "left_out": said nothing}}}."""
import json
import os

KEYS = ("seeds", "found", "left_out")


class Tally:
    def __init__(self):
        self.relations = {}

    def add(self, relation, outcome):
        """Counts one seed. `outcome` is "held", "found" or "left_out"."""
        counts = self.relations.setdefault(relation, dict.fromkeys(KEYS, 0))
        counts["seeds"] += 1
        if outcome in counts:
            counts[outcome] += 1

    @property
    def found(self):
        return sum(counts["found"] for counts in self.relations.values())

    def write(self, path):
        """Adds the counts to those in the file, if there is one."""
        total = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                total = json.load(f)
        relations = total.setdefault("relations", {})
        for name, counts in self.relations.items():
            sums = relations.setdefault(name, {})
            for key in KEYS:
                sums[key] = sums.get(key, 0) + counts[key]
        with open(path + ".tmp", "w", encoding="utf-8") as f:
            json.dump(total, f, indent=1, sort_keys=True)
            f.write("\n")
        os.replace(path + ".tmp", path)

    def text(self):
        lines = ["%-28s %6s %6s %9s" % ("relation", *KEYS)]
        for name, counts in sorted(self.relations.items()):
            lines.append("%-28s %6d %6d %9d" % (name, *(counts[key] for key in KEYS)))
        return "\n".join(lines)
