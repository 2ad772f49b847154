#!/usr/bin/env python3
"""Tests tests/night/run with a stand-in table of jobs, in which a minute is short: what it runs, kills and records."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
sys.path.insert(0, os.path.join(os.getcwd(), "tests/night"))
import jobs  # noqa: E402
import junit  # noqa: E402
import ledger  # noqa: E402

MINUTE = 0.1  # seconds
GIT = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
ENDLESS = "trap '' TERM; echo $$ >>pids; sleep 1000 & echo $! >>pids; wait; wait"


def alive(pid):
    try:
        with open("/proc/%s/stat" % pid, encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class NightTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(scratch.cleanup)
        self.tree, self.ledger = os.path.join(scratch.name, "tree"), os.path.join(scratch.name, "state/night.tsv")
        self.write("tools/setup", '#!/bin/sh\necho "setup $*" >>calls\n! [ -e broken ]\n', 0o755)
        for name in ("run", "ledger.py"):
            shutil.copy("tests/night/" + name, os.path.join(self.tree, "tests/night", name))
        self.table('Job("a", "A", "echo a >>calls", 40), Job("b", "B", "echo b >>calls", 40), '
                   'Job("c", "C", "echo c >>calls", 40)')

    def write(self, path, text, mode=0o644):
        for folder in ("tools", "tests/night"):
            os.makedirs(os.path.join(self.tree, folder), exist_ok=True)
        path = os.path.join(self.tree, path)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)

    def table(self, rows):
        """Replaces the table of jobs."""
        with open("tests/night/jobs.py", encoding="utf-8") as f:
            text = f.read().split("\nJOBS = ")[0].replace("MINUTE = 60 ", "MINUTE = %g " % MINUTE)
        self.write("tests/night/jobs.py", text + "\nJOBS = [%s]\n" % rows)

    def start(self, *words, **env):
        return subprocess.Popen([os.path.join(self.tree, "tests/night/run"), "--ledger=" + self.ledger, *words],
                                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **env}, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def night(self, *words, code=0, **env):
        process = self.start(*words, **env)
        out, _ = process.communicate(timeout=30)
        self.assertEqual(code, process.returncode, out)
        return out

    def lines(self, name):
        path = os.path.join(self.tree, name)
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as f:
            return f.read().split("\n")[:-1]

    def calls(self):
        """Returns the calls since the last time."""
        made = self.lines("calls")
        self.write("calls", "")
        return made

    def entries(self):
        found = [ledger.parse(line) for line in self.lines(self.ledger)]
        self.assertNotIn(None, found)
        return found

    def remember(self, job, age=0, commit="unknown", minutes=1.0, status="ok", detail=""):
        """Adds a line to the ledger, of a run that ended `age` hours ago."""
        os.makedirs(os.path.dirname(self.ledger), exist_ok=True)
        at = time.strftime(ledger.TIME, time.gmtime(time.time() - 3600 * age))
        with open(self.ledger, "a", encoding="utf-8") as f:
            fields = at, commit, "CPU", job, "%g" % (minutes * MINUTE), "1", "0", "0", status, detail
            f.write("\t".join(fields) + "\n")

    def wait_for(self, condition):
        end = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_runs_what_never_ran_first_and_then_the_oldest(self):
        self.table(", ".join('Job("%s", "", "echo %s >>calls", 20)' % (name, name) for name in "abcd"))
        for job, age in ("a", 1), ("b", 5), ("a", 9), ("d", 3):
            self.remember(job, age)
        out = self.night()
        self.assertEqual(["c", "b", "d", "a"], self.calls())
        self.assertEqual("4 passed, 0 failed, 0 skipped", out.splitlines()[-1])
        for name in "abcd":
            self.assertIn("night: %s begins\n" % name, out)
            self.assertIn("night: %s: ok, 1 passed, 0 failed, 0 skipped, " % name, out)

    @unittest.skipUnless(shutil.which("git"), "there is no git")
    def test_counts_only_runs_at_this_commit_and_earlier_ones(self):
        def git(*words):
            return subprocess.check_output([*GIT, *words], cwd=self.tree, text=True).strip()
        git("init", "-q")
        git("add", ".")
        heads = []
        for branch in (["-b", "one"], ["-b", "other"], ["-b", "two", "one"]):
            git("checkout", "-q", *branch)
            git("commit", "-q", "--allow-empty", "-m", str(branch))
            heads.append(git("rev-parse", "HEAD")[:12])
        self.remember("a", 1, heads[1])
        self.remember("b", 8, heads[0] + "+")
        self.remember("c", 2, heads[1])
        self.night()
        self.assertEqual(["c", "a", "b"], self.calls())
        # The first job wrote the file of calls, by which the tree then differs from its commit.
        self.assertEqual([heads[2], heads[2] + "+", heads[2] + "+"], [entry.commit for entry in self.entries()[3:]])

    def test_fills_a_shard_by_measured_times_and_by_estimates(self):
        out = self.night("--minutes=90")
        self.assertEqual(["a", "b", "c"], self.calls())  # the stand-ins are quicker than estimated
        self.assertNotIn("next shard", out)
        os.remove(self.ledger)
        for job, minutes, age in ("a", 70, 3), ("b", 60, 2), ("c", 25, 1):
            self.remember(job, age, minutes=minutes)
        self.table("".join('Job("%s", "", "echo %s >>calls; sleep %g", 20), ' % (name, name, length * MINUTE)
                           for name, length in (("a", 13), ("b", 0), ("c", 0))))
        out = self.night("--minutes=72")
        self.assertEqual(["a", "c"], self.calls())
        self.assertIn("night: for the next shard: b (60 min)\n", out)

    def test_says_that_nothing_fits(self):
        out = self.night("--minutes=30")
        self.assertIn("night: for the next shard: a (40 min), b (40 min), c (40 min)\n", out)
        self.assertEqual("0 passed, 0 failed, 0 skipped", out.splitlines()[-1])

    def test_takes_no_time_of_a_failure_that_is_shorter_than_the_estimate(self):
        self.remember("a", 1, minutes=2, status="failed")
        self.remember("b", 1, minutes=90, status="failed")
        self.remember("c", 1, minutes=2)
        out = self.night("--list")
        self.assertRegex(out, r"\na +failed +1\.0 h +40 +A\nb +failed +1\.0 h +90 +B\nc +ok +1\.0 h +2 +C\n")

    def test_kills_a_job_with_all_its_processes(self):
        self.table('Job("endless", "", """%s""", 10), Job("a", "", "echo a >>calls", 20)' % ENDLESS)
        out = self.night(code=1)
        self.assertRegex(out, r"night: endless: killed after \d\d+\.\d min, 0 passed, 1 failed, 0 skipped")
        self.assertEqual("1 passed, 1 failed, 0 skipped", out.splitlines()[-1])
        pids = self.lines("pids")
        self.assertEqual(2, len(pids))
        self.wait_for(lambda: not any(alive(pid) for pid in pids))
        self.assertEqual(["a"], self.calls())
        self.assertRegex(self.entries()[0].status, r"killed after \d\d+\.\d min")

    def test_ends_a_job_in_time_for_the_end_of_the_shard(self):
        # A slow machine may take some of the 20 minutes to start the script.
        self.table('Job("a", "", "sleep 1000", 11), Job("b", "", "sleep 1000", 11)')
        begin = time.monotonic()
        out = self.night("--minutes=20", code=1)
        self.assertLess(time.monotonic() - begin, 21 * MINUTE + 10)
        self.assertRegex(out, r"night: a: killed after [12]\d\.\d min")
        self.assertIn("night: for the next shard: b (11 min)\n", out)

    def test_ends_the_job_when_it_is_told_to_end(self):
        self.table('Job("endless", "", """%s""", 50), Job("a", "", "echo a >>calls", 20)' % ENDLESS)
        process = self.start()
        self.wait_for(lambda: len(self.lines("pids")) == 2)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
        self.assertEqual(1, process.returncode)
        self.wait_for(lambda: not any(alive(pid) for pid in self.lines("pids")))
        self.assertEqual("0 passed, 1 failed, 0 skipped", out.splitlines()[-1])
        self.assertEqual(["endless"], [entry.job for entry in self.entries()])

    def test_continues_with_the_seeds_that_no_run_has_completed(self):
        self.table('Job("soak", "", "echo {seeds} from {first} >>calls; . ./outcome", 10, "", 40)')
        for outcome, code in (("echo 9 cases dealt: 40 passed, 0 failed, 0 skipped", 0),
                              ("echo no build; exit 2", 1),
                              ("echo 9 cases dealt: 39 passed, 1 failed, 0 skipped; exit 1", 1),
                              ("sleep 1000", 1),
                              ("echo 9 cases dealt: 40 passed, 0 failed, 0 skipped", 0)):
            self.write("outcome", outcome)
            self.night(code=code)
        self.assertEqual(["40 from %d" % n for n in (1, 41, 41, 81, 81)], self.calls())
        details = [entry.detail.split("; ")[0] for entry in self.entries()]
        self.assertEqual(["seeds 1-40", "seeds 41-80 not completed", "seeds 41-80", "seeds 81-120 not completed",
                          "seeds 81-120"], details)

    def test_leaves_whole_lines_after_a_kill(self):
        self.table('Job("a", "", "echo 3 passed, 0 failed", 20), Job("b", "", "echo $$ >>pids; exec sleep 30", 50)')
        process = self.start()
        self.wait_for(lambda: self.lines("pids"))
        process.kill()
        process.communicate()
        os.kill(int(self.lines("pids")[0]), signal.SIGKILL)
        self.assertEqual([("a", 3, "ok")], [(entry.job, entry.passed, entry.status) for entry in self.entries()])

    def test_skips_damaged_and_foreign_lines(self):
        self.remember("a", 1)
        whole = self.lines(self.ledger)[0]
        bad = ["", "text", whole + "\tmore", whole.replace("ok", "good"), whole.replace("\ta\t", "\t\t"),
               "\udcff" + whole, re.sub(r"-\d\dT", "-99T", whole), whole.replace("\t1\t", "\t%s\t" % ("9" * 5000)),
               whole[:-9]]
        with open(self.ledger, "a", encoding="utf-8", errors="surrogateescape") as f:
            f.write("\n".join(bad))
        note = "night: %s: skipped what is no line of a ledger: 2, 3, 4, 5, 6, 7, 8, 9, 10\n" % self.ledger
        self.assertIn(note, self.night("--list"))
        out = self.night("--minutes=45", "b")
        self.assertIn(note, out)
        self.assertEqual("b", ledger.parse(self.lines_of_bytes()[-1]).job)
        self.assertIn("skipped what is no line of a ledger: 2, 3, 4, 5, 6, 7, 8, 9, 10\n", self.night("--list"))

    def lines_of_bytes(self):
        with open(self.ledger, encoding="utf-8", errors="replace") as f:
            return f.read().splitlines()

    def test_leaves_out_what_cannot_run_here(self):
        needs = {"gpu": "nvcc", "data": "shared", "ssh": "/no/sshd", "tool": "x y"}
        self.table(", ".join('Job("%s", "%s", "echo %s >>calls", 20, "%s")' % (name, name.upper(), name, needs[name])
                             for name in needs))
        here = {"CUDA_HOME": "/nowhere", "DOPPIO_SHARED": "/no/data"}
        out = self.night(**here)
        self.assertEqual(["setup x y", "tool"], self.calls())
        self.assertEqual("1 passed, 0 failed, 3 skipped", out.splitlines()[-1])
        reasons = ["it needs nvcc, and there is none in /nowhere",
                   "it needs the tests' data folder, and there is none in /no/data", "there is no /no/sshd"]
        self.assertEqual(["left out: " + why for why in reasons], [entry.status for entry in self.entries()[:3]])
        self.assertIn("GPU (not here: %s)" % reasons[0], self.night("--list", **here))
        self.write("broken", "")
        out = self.night("tool", **here)
        self.assertEqual(["setup x y"], self.calls())
        self.assertIn("left out: tools/setup cannot install x y", out)
        self.assertEqual("0 passed, 0 failed, 1 skipped", out.splitlines()[-1])

    @unittest.skipIf(os.geteuid() == 0, "this is root")
    def test_leaves_out_what_needs_root(self):
        self.table('Job("a", "", "echo a >>calls", 20, "root")')
        self.assertIn("left out: it needs root", self.night())
        self.assertEqual([], self.calls())

    def test_counts_by_the_last_counts_or_the_exit_status(self):
        for command, code, counts in (
                ("echo 9 passed, 9 failed; echo 5 passed, 0 failed, 2 skipped; echo bye", 0, (5, 0, 2)),
                ("echo fresh: check 12 s  7 passed, 0 failed; echo passed", 0, (7, 0, 0)),
                ("echo 4 passed, 3 failed; exit 1", 1, (4, 3, 0)), ("echo 4 passed, 3 failed", 1, (4, 3, 0)),
                ("echo 4 passed, 0 failed; exit 1", 1, (4, 1, 0)), ("echo 0 passed, 0 failed", 1, (0, 1, 0)),
                ("echo 0 passed, 0 failed, 6 skipped", 0, (0, 0, 6)), ("true", 0, (1, 0, 0)), ("exit 3", 1, (0, 1, 0)),
                ("false | cat", 1, (0, 1, 0)), ("echo 1 passed, 2 failed tests", 0, (1, 0, 0))):
            self.table('Job("a", "", "%s", 20)' % command)
            out = self.night(code=code)
            self.assertEqual("%d passed, %d failed, %d skipped" % counts, out.splitlines()[-1], command)
            self.assertEqual((*counts, "failed" if code else "ok"), self.entries()[-1][5:9])

    def test_keeps_the_output_of_a_job(self):
        self.table('Job("a", "", "echo found; exit 1", 20)')
        out = self.night(code=1)
        path = self.entries()[0].detail
        self.assertIn(path, out)
        self.assertEqual(os.path.dirname(self.ledger), os.path.dirname(os.path.dirname(path)))
        self.assertEqual(["found"], self.lines(path))

    def test_runs_the_jobs_that_are_named_once_each(self):
        self.remember("c", minutes=30)
        self.assertIn("night: for the next shard: a (40 min)\n", self.night("--minutes=35", "c", "a"))
        self.assertEqual(["c"], self.calls())
        self.night("c", "a", "c")
        self.assertEqual(["c", "a"], self.calls())

    def test_lists_the_jobs(self):
        self.remember("b", 72, minutes=12, status="killed after 12.0 min")
        self.remember("c", 5, minutes=12.4)
        self.assertEqual("job  last                   age    minutes  finds\n"
                         "a    never                         40       A\n"
                         "b    killed after 12.0 min  3 d    40       B\n"
                         "c    ok                     5.0 h  12       C\n", self.night("--list"))
        self.assertEqual([], self.calls())

    def test_explains_mistakes_before_anything_runs(self):
        self.remember("a")
        self.table('Job("a", "", "echo a >>calls", 20), Job("soak", "", "echo soak >>calls", 20)')
        for words, message in (
                (["d"], "there is no job 'd'; --list shows all"),
                (["a", "soka"], "there is no job 'soka'; did you mean 'soak'?; --list shows all"),
                (["--minutes=0"], "--minutes is '0'; expected a number from 1 to 100"),
                (["--minutes=101"], "--minutes is '101'; expected a number from 1 to 100"),
                (["--minutes=soon"], "--minutes is 'soon'; expected a number from 1 to 100"),
                (["--minutes="], "--minutes is ''; expected a number from 1 to 100"),
                (["--minute=5"], "unknown option '--minute=5'; see --help"),
                (["--ledger="], "unknown option '--ledger='; see --help"),
                (["--ledger=/dev/null"], "cannot use the ledger /dev/null: it is no regular file"),
                (["--ledger=/"], "cannot use the ledger /: Is a directory"),
                (["--ledger=%s/a" % self.ledger], "cannot use the ledger {0}/a: {0} is no folder".format(self.ledger))):
            out = self.night(*words, code=2)
            self.assertEqual("night: %s\n" % message, out)
            self.assertEqual([], self.calls())

    def test_refuses_a_ledger_that_another_run_uses(self):
        self.table('Job("a", "", "touch begun; sleep 1000", 50)')
        process = self.start()
        self.wait_for(lambda: os.path.exists(os.path.join(self.tree, "begun")))
        self.assertEqual("night: cannot use the ledger %s: another run uses it\n" % self.ledger, self.night(code=2))
        process.terminate()
        self.assertIn("killed", process.communicate(timeout=30)[0])

    def test_explains_itself(self):
        self.assertIn("usage: tests/night/run [--list]", self.night("--help"))


class JobsTest(unittest.TestCase):
    def test_each_fits_into_a_shard_and_says_what_it_finds(self):
        self.assertEqual(len(jobs.JOBS), len({job.name for job in jobs.JOBS}))
        for job in jobs.JOBS:
            self.assertRegex(job.name, r"^[a-z][a-z0-9+-]+$")
            self.assertTrue(0 < job.minutes <= jobs.LONGEST and job.finds, job)
            self.assertEqual(job.seeds > 0, "{first}" in job.command, job)


if __name__ == "__main__":
    junit.main()
