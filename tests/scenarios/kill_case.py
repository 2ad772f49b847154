"""Tests that kill -9 at any moment costs at most the work since the last snapshot, and changes nothing.

A training that writes snapshots is killed at random moments and restarted with --resume=auto, many times. It must end
with the weights and the state of an undisturbed training. DOPPIO_TEST_KILLS sets how many times each case kills."""
import os
import random
import re
import time

import scenario

ENDLESS = "--set=max_iter=1000000000"


class KillCase(scenario.Scenario):
    """A derived class defines the training, whose snapshot prefix must be "run"."""

    LOSSES = None  # pattern of the messages of ranks that have lost the killed one

    def fill(self):
        """Writes net and solver into the folder."""
        raise NotImplementedError

    def launch(self, *flags):
        """Starts the training, which logs to the file log. Returns the process to wait for."""
        raise NotImplementedError

    def kill(self, process):
        """Kills a process of the training. Returns when all processes have ended."""
        raise NotImplementedError

    def logged(self):
        return self.read("log").decode(errors="replace")

    def newest(self):
        """Returns the iteration of the newest state in the folder, 0 if there is none."""
        found = [re.match(r"run_iter_(\d+)\.solverstate(\.h5)?$", name) for name in os.listdir(self.folder)]
        return max([int(m.group(1)) for m in found if m], default=0)

    def leftovers(self):
        return [name for name in os.listdir(self.folder) if ".tmp" in name]

    def time_to_first_snapshot(self, *flags):
        begin = time.monotonic()
        process = self.launch(ENDLESS, *flags)
        while self.newest() == 0:
            self.assertIsNone(process.poll(), self.logged())
            self.assertLess(time.monotonic(), begin + 60, self.logged())
            time.sleep(0.002)
        seconds = time.monotonic() - begin
        self.kill(process)
        return seconds

    def live_and_die(self, after, *flags):
        """Resumes the training and kills it `after` seconds later. Checks that it began at the newest state. Returns
        false if it was killed before it logged that."""
        before = self.newest()
        process = self.launch(ENDLESS, "--resume=auto", *flags)
        time.sleep(after)  # real time: any moment of the program
        self.assertIsNone(process.poll(), self.logged())
        self.kill(process)
        log = self.logged()
        started = re.search(r"resuming from run_iter_(\d+)\.solverstate", log)
        if started:
            self.assertEqual(before, int(started.group(1)), log)
        else:
            self.assertNotIn("starting a new training", log)
        self.assertNotIn("is skipped: ", log)
        self.assertNotIn("error: ", re.sub(self.LOSSES, "", log) if self.LOSSES else log)
        self.assertGreaterEqual(self.newest(), before)
        # The two files of a snapshot, and the trial file that a start writes before it removes old
        # temporary files.
        self.assertLessEqual(len(self.leftovers()), 3, self.leftovers())
        for name in os.listdir(self.folder):
            if "solverstate" in name and ".tmp" not in name:
                self.assertTrue(os.path.exists(self.path(name.replace("solverstate", "caffemodel"))), "a state without weights: " + name)
        return started is not None

    def train_to(self, end, *flags, suffix):
        """Trains to iteration `end`. Returns its weights and state."""
        process = self.launch("--set=max_iter=%d" % end, *flags)
        self.assertEqual(0, process.wait(), self.logged())
        return [self.read("run_iter_%d.%s%s" % (end, kind, suffix)) for kind in ("caffemodel", "solverstate")]

    def check_kills(self, kills, every, *flags, seed, suffix=""):
        """Kills and resumes a training, and compares it with an undisturbed one. `every` is the
        number of iterations between snapshots. The undisturbed training does not get `flags`."""
        kills = int(os.environ.get("DOPPIO_TEST_KILLS", kills))
        flags = ("--set=snapshot=%d" % every, *flags)
        self.fill()
        usual = self.time_to_first_snapshot(*flags)
        moments = random.Random(seed)
        resumed = 0
        for _ in range(kills):
            # The machine's load varies: waits longer after a kill that came too early.
            if self.live_and_die(usual * moments.uniform(0.2, 2.5), *flags):
                resumed += 1
                usual *= 0.95
            else:
                usual *= 1.2
        reached = self.newest()
        print("%s: %d kills, %d of them after the resume: %d iterations, %d unfinished files" %
              (self.id(), kills, resumed, reached, len(self.leftovers())))
        self.assertGreater(resumed, kills // 4, "the kills came too early to show anything")
        self.assertGreater(reached, kills // 4)

        end = reached + 3
        disturbed = self.train_to(end, "--resume=auto", suffix=suffix)
        self.assertEqual([], self.leftovers())
        self.folder = self.path("undisturbed")
        os.mkdir(self.folder)
        self.fill()
        self.assertTrue(self.train_to(end, suffix=suffix) == disturbed, "the training that was killed has other weights or another state")
