#!/usr/bin/env python3
"""Tests that the predictions and the picture in docs/parallel.md are those that `doppio scale` makes."""
import json
import os
import re
import subprocess
import sys
import unittest

ROOT = os.getcwd()
sys.path.insert(0, os.path.join(ROOT, "tests/scenarios"))
import junit  # noqa: E402
import scenario  # noqa: E402

COLUMNS = 8
ALL_AFTER_BACKWARD = "--bucket_mb=100000"


def page():
    with open(os.path.join(ROOT, "docs/parallel.md"), encoding="utf-8") as f:
        return f.read()


def rows():
    """Yields the cells of each row of the table of published results."""
    table = page().split("### Against what others have published")[1].split("\n### ")[0]
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == COLUMNS and cells[7].startswith("`"):
            yield cells


def percent(text):
    """Reads "+4.6 %" with an ASCII or a typographic minus."""
    return float(text.replace("\u2212", "-").removesuffix(" %"))


class ScalingTest(scenario.Scenario):
    def scale(self, flags):
        r = subprocess.run([scenario.DOPPIO, "scale", *flags], cwd=ROOT, capture_output=True, text=True, timeout=120,
                           env=self.environment())
        self.assertEqual(0, r.returncode, r.stderr)
        return r.stdout

    def efficiency(self, gpus, flags):
        """Returns the predicted efficiency in percent. `gpus` is "8", or "256 over 4" for the efficiency relative to 4."""
        points = json.loads(self.scale([*flags, "--json"]))["points"]
        of = {point["ranks"]: point["efficiency"] for point in points}
        many, _, few = gpus.partition(" over ")
        return 100 * of[int(many)] / of[int(few or 1)]

    def test_the_table_is_what_scale_predicts(self):
        found = list(rows())
        self.assertGreater(len(found), 12)
        for name, gpus, published, overlap, error, after, error_after, how in found:
            net, *flags = how.strip("`").split()
            flags.append("--model=models/%s/train_val.prototxt" % net)
            whole = [flag for flag in flags if not flag.startswith("--bucket_mb")] + [ALL_AFTER_BACKWARD]
            for shown, its_error, use in [(overlap, error, flags), (after, error_after, whole)]:
                with self.subTest(name=name, gpus=gpus, flags=use):
                    predicted = self.efficiency(gpus, use)
                    self.assertEqual("%.1f %%" % predicted, shown)
                    self.assertEqual("%+.1f" % (100 * (predicted / percent(published) - 1)), "%+.1f" % percent(its_error))

    def test_the_summary_of_the_errors_is_that_of_the_table(self):
        found = list(rows())
        between = sum(percent(after) <= percent(published) <= percent(overlap) for _, _, published, overlap, _, after, _, _ in found)
        self.assertIn("%d of %d rows" % (between, len(found)), page().replace("\n", " "))
        means = [sum(abs(percent(cells[column])) for cells in found) / len(found) for column in (4, 6)]
        self.assertIn("The mean error is %.1f %% with overlap and %.1f %% without" % tuple(means), page().replace("\n", " ").replace("  ", " "))

    def test_the_picture_is_what_its_command_draws(self):
        command, = re.findall(r"(?m)^    doppio scale (.* --plot=)scaling\.svg$", page())
        *flags, plot = command.split()
        self.scale([*flags, plot + self.path("scaling.svg")])
        with open(os.path.join(ROOT, "docs/images/scaling.svg"), "rb") as f:
            self.assertEqual(f.read(), self.read("scaling.svg"))


if __name__ == "__main__":
    junit.main()
