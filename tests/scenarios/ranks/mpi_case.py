"""The base class of scenarios with several ranks: tiny nets, and trainings that mpirun starts."""
import errno
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import scenario  # noqa: E402

NET = 'name: "tiny"\n' + scenario.TINY_NET
SOLVER = scenario.ENDLESS_SOLVER
HAS_MPI = shutil.which("mpirun") is not None
# LOST is Doppio's message about a lost rank. KILLED is mpirun's message about a killed one; mpirun wraps its lines.
LOST = r"error: rank \d on \S+ is gone"
KILLED = r"process rank \d [^\n]*\bexited\s+on\s+signal 9"
GONE = LOST + "|" + KILLED
# mpirun of Open MPI 4.1 logs UNREACHABLE when a rank dies while PMIx accepts its connection. It sometimes then locks a
# mutex of PMIx twice in its own end, and never ends, although all ranks have.
UNREACHABLE = "PMIX ERROR: UNREACHABLE"
MPIRUN_ENDS_WITHIN = 5  # seconds after the last rank's end
HANGS = 60  # seconds after which a process that does not end counts as hanging


def write_image_net(case):
    """Writes a net that reads the images of list.txt one by one: good.png, and bad.png, which is not an image."""
    case.write("good.png", scenario.png([[0] * 28] * 28))
    case.write("bad.png", "not an image")
    case.write("net.prototxt", NET.replace('type: "Data"', 'type: "ImageData"').replace(
        'data_param { backend: DIGITS size: 40 batch_size: 4 shuffle: true }',
        'image_data_param { source: "list.txt" batch_size: 1 is_color: false }'))


def stat_of(pid):
    """Returns state and session of a process; None if it has ended."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
            state, _, _, session = f.read().rsplit(")", 1)[1].split()[:4]
            return state, int(session)
    except OSError:
        return None


def ranks_of(process):
    """Returns the processes of Doppio in the session that `process` leads, including those that outlive it."""
    found = []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        stat = stat_of(pid)
        if stat is None or stat[1] != process.pid:
            continue
        try:
            if os.path.basename(os.readlink("/proc/%d/exe" % pid)).startswith("doppio"):
                found.append(pid)
        except OSError:
            pass  # the process has just ended
    return found


def rank_of(pid):
    """Returns the rank of one of mpirun's processes."""
    with open("/proc/%d/environ" % pid, "rb") as f:
        return int(dict(line.split(b"=", 1) for line in f.read().split(b"\0") if b"=" in line)[b"OMPI_COMM_WORLD_RANK"])


def runs(pid):
    stat = stat_of(pid)
    return stat is not None and stat[0] != "Z"


def reads(pid, path):
    """Returns true if the process has opened the file."""
    try:
        return path in [os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)]
    except OSError:
        return False  # the process has just ended, or closed a file


class RanksCase(scenario.Scenario):
    def setUp(self):
        super().setUp()
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER)

    def weights(self, *args, name="run_iter_20.caffemodel"):
        self.train("--set=max_iter=20", *args)
        return self.read(name)


class MpiCase(RanksCase):
    """Trainings that mpirun starts."""

    def mpirun(self, ranks, *args, **env):
        return self.start([scenario.DOPPIO, "train", "--solver=solver.prototxt", *args], ranks, **env)

    def start(self, command, ranks, **env):
        self.log = open(self.path("log"), "w+", encoding="utf-8")
        self.addCleanup(self.log.close)
        process = subprocess.Popen(
            ["mpirun", "-n", str(ranks), "--oversubscribe", "--allow-run-as-root", *command],
            cwd=self.folder, env=self.environment(**scenario.ONE_THREAD, **env), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            start_new_session=True)
        self.addCleanup(self.end_all, process)
        return process

    def mpirun_each(self, *commands, folders=()):
        """Runs mpirun with a separate program and flags for each rank, each in its own folder if `folders` is given.
        Does not use ":", which crashes Debian 13's mpirun."""
        lines = ["#!/bin/sh\ncase $OMPI_COMM_WORLD_RANK in\n"]
        for rank, command in enumerate(commands):
            enter = "cd %s && " % shlex.quote(self.path(folders[rank])) if folders else ""
            lines.append("%d) %sexec %s ;;\n" % (rank, enter, shlex.join([*command, "--solver=solver.prototxt"])))
        self.write("rank", "".join([*lines, "esac\n"]))
        return self.start(["sh", "rank"], len(commands))

    def end_all(self, process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass
        process.wait()

    def logged(self):
        return self.read("log").decode(errors="replace")

    def begin(self, ranks, *args, **env):
        """Starts a training. Returns mpirun and its processes once they have trained for a while."""
        process = self.mpirun(ranks, *args, **env)
        self.wait_for_iteration_200(process)
        pids = ranks_of(process)
        self.assertEqual(ranks, len(pids))
        return process, pids

    def wait_for_iteration_200(self, process):
        end = time.monotonic() + 90
        while "Iteration 200 " not in self.logged():
            self.assertIsNone(process.poll(), self.logged())
            self.assertLess(time.monotonic(), end, self.logged())
            time.sleep(0.05)

    def await_readers(self, name, process, ranks):
        """Waits until so many ranks read the named pipe. They wait for its content until the test ends."""
        end = time.monotonic() + 60
        writer = None
        while writer is None or sum(reads(pid, os.path.realpath(self.path(name))) for pid in ranks_of(process)) < ranks:
            self.assertIsNone(process.poll(), self.logged())
            self.assertLess(time.monotonic(), end, self.logged())
            try:
                if writer is None:
                    writer = os.open(self.path(name), os.O_WRONLY | os.O_NONBLOCK)
                    self.addCleanup(os.close, writer)
            except OSError as e:
                self.assertEqual(errno.ENXIO, e.errno)  # no rank has opened it
            time.sleep(0.02)

    def seconds_to_end(self, process, alive):
        """Waits until mpirun and its ranks have ended and alive() is false. Returns the seconds that the ranks and
        mpirun take. Kills mpirun if only mpirun is left and it hangs after UNREACHABLE."""
        begun = seen = time.monotonic()
        while True:
            now = time.monotonic()
            if alive():
                seen = now
            elif process.poll() is not None:
                return seen - begun, now - begun
            elif now - seen > MPIRUN_ENDS_WITHIN and UNREACHABLE in self.logged():
                process.kill()
            self.assertLess(now - begun, HANGS, self.logged())
            time.sleep(0.02)

    def check_ends(self, process, pids, message=None):
        self.seconds_to_end(process, lambda: any(map(runs, pids)))
        if message is not None:
            self.assertRegex(self.logged()[-3000:], message)
        self.assertFalse([f for f in os.listdir(self.folder) if ".tmp" in f])
