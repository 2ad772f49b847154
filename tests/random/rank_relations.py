"""Relations between replicas in processes, replicas in threads and one process."""
import glob
import os
import re
import shutil
import signal
import subprocess
import time

import program
from process_case import BY_LENGTH, NOT_FINITE, largest_difference

TOLERANCE = 1e-4  # relative to the largest value of a blob, after a few iterations that noise changes less
AMPLIFIED = 30  # how many times the effect of other last bits counts as rounding
WORLD = re.compile(r"world \d+: (\d+) ranks?(?:, continuing after iteration (\d+))?")
STOPPED, UNREADABLE = 75, 4


def mpirun(ranks):
    if shutil.which("mpirun") is None:
        raise program.LeftOut("there is no mpirun")
    return ["mpirun", "-n", str(ranks), "--oversubscribe", "--allow-run-as-root"]


def in_processes(case, ranks, launcher, iterations, *flags):
    """Trains with a replica in each of `ranks` processes, which mpirun or doppio launch starts. Returns the Files."""
    case.program.threads = 1
    codes = (0, NOT_FINITE, UNREADABLE, *program.REFUSED)
    if launcher == "mpi":
        run = case.train(iterations, *flags, codes=codes, launcher=mpirun(ranks))
    else:
        run = case.program.run("launch", "--ranks=%d" % ranks, "--", "train", *case.solver_flags(iterations, *flags), "--json", codes=codes)
    if "LevelDB allows one process only" in run.stderr:
        raise program.LeftOut("LevelDB allows one process only")
    if run.returncode == UNREADABLE:
        case.program.judge(run, (0,))
    return case.files_of(run, iterations)


def noise_of(case, iterations, *flags):
    """Returns how much other last bits of the first weights change the weights after some iterations."""
    case.trained(0, *flags)
    start = case.path("run_iter_0.caffemodel")
    case.perturb(start, case.path("noisy.caffemodel"))
    plain = case.blobs(case.trained(iterations, "--weights=" + start, *flags).model)
    noisy = case.blobs(case.trained(iterations, "--weights=noisy.caffemodel", *flags).model)
    return largest_difference(plain, noisy)[0]


def agree(case, what, ours, theirs, iterations, *flags):
    """Raises a Finding if the weights differ by more than rounding makes of the case."""
    worst, where = largest_difference(case.blobs(ours), case.blobs(theirs))
    if worst <= TOLERANCE:
        return
    noise = noise_of(case.sub("noise"), iterations, *flags)
    if worst <= AMPLIFIED * noise:
        return
    raise program.Finding("%s: %s differs by %.2g of its largest value; noise in the last bits makes %.2g of the case" %
                          (what, where, worst, noise))


def replicas(case):
    """Replicas in processes train like replicas in threads of one process: two with the same bits, whatever joins them."""
    draw = case.draw
    ranks, launcher, iterations = draw.choice((2, 2, 3)), draw.choice(("mpi", "tcp")), draw.randint(1, 4)
    flags = ["--set=snapshot_format=BINARYPROTO", "--bucket_mb=%d" % draw.choice((0, 1, 16))]
    flags += draw.choice(([], ["--sync_bn"], ["--scale_lr=linear"], ["--check_replicas=1"]))
    threads = case.sub("threads")
    threads.program.threads = ranks
    expected = threads.trained(iterations, "--cpu_replicas=%d" % ranks, *flags)
    ours = in_processes(case.sub("processes"), ranks, launcher, iterations, *flags)
    what = "%d replicas in processes (%s) and in threads" % (ranks, launcher)
    if ranks == 2:
        case.same(what, expected.model, ours.model)
    else:
        agree(case, what, expected.model, ours.model, iterations, *flags[:1])


def one_batch(case):
    """Replicas in processes that share a batch train like one process with the whole batch."""
    if case.traits() & {"kWholeBatch", "kState", "kOutside"}:
        raise program.LeftOut("a sample's results depend on the other samples")
    draw = case.draw
    ranks, launcher, iterations = draw.choice((2, 3)), draw.choice(("mpi", "tcp")), draw.randint(1, 3)
    flags = ["--set=snapshot_format=BINARYPROTO", "--batch=%d" % (ranks * draw.choice((1, 2, 3, 5)))]
    whole = case.sub("whole").trained(iterations, *flags)
    ours = in_processes(case.sub("processes"), ranks, launcher, iterations, "--batch_mode=total", *flags)
    agree(case, "%d replicas (%s) and one process with the whole batch" % (ranks, launcher), whole.model, ours.model, iterations, *flags)


def shard_update(case):
    """A sharded update writes the same weights and the same state, with the same bits where docs/parallel.md promises them."""
    if case.solver.type == "Muon":
        raise program.LeftOut("Muon does not work with --shard_update")
    draw = case.draw
    ranks, launcher, iterations = draw.choice((2, 3)), draw.choice(("threads", "tcp")), draw.randint(1, 4)
    flags = ["--set=snapshot_format=BINARYPROTO", "--set=snapshot_diff=false", "--bucket_mb=%d" % draw.choice((0, 1, 16))]

    def train(name, *more):
        part = case.sub(name)
        if launcher == "tcp":
            return in_processes(part, ranks, launcher, iterations, *flags, *more)
        return part.trained(iterations, "--cpu_replicas=%d" % ranks, *flags, *more)
    whole, shards = train("whole"), train("shards", "--shard_update")
    solver = case.solver
    norms = solver.clip_gradients >= 0 or solver.larc or solver.local_lr_auto or solver.type == "LAMB"
    what = "%d ranks (%s) with and without --shard_update" % (ranks, launcher)
    if launcher == "threads" or ranks == 2 or not norms:
        case.same(what, whole.model, shards.model)
        case.same(what, whole.state, shards.state)
    else:
        agree(case, what, whole.model, shards.model, iterations, *flags)


class ElasticTraining:
    """A training with --elastic that runs until it is stopped. `lines` are those of its log that matter: a net may have
    thousands of outputs, which the log shows."""

    def __init__(self, case, ranks, flags):
        self.case, self.lines, self.rest = case, [], ""
        with open(case.path("log"), "w", encoding="utf-8") as log:
            self.process = case.program.start(
                "launch", "--ranks=%d" % ranks, "--", "train", *case.solver_flags(10**9, *flags), "--set=display=500",
                "--elastic=1:%d" % ranks, "--silence_timeout=200", stdout=log, stderr=log)
        self.log = open(case.path("log"), encoding="utf-8", errors="replace")

    def read(self):
        """Reads what is new in the log."""
        *lines, self.rest = (self.rest + self.log.read()).split("\n")
        self.lines += [line for line in lines if "net output #" not in line]

    def tail(self, count=20):
        return "\n".join(self.lines[-count:])

    def wait_for(self, condition, what):
        end = time.monotonic() + program.HANGS
        while True:
            self.read()
            if condition():
                return
            if self.process.poll() is not None:
                raise program.LeftOut("the training ended: " + self.tail(3))
            if time.monotonic() > end:
                raise program.Finding("%s within %d s\n%s" % (what, program.HANGS, self.tail()))
            time.sleep(0.01)

    def displayed(self):
        return sum("] Iteration " in line for line in self.lines)

    def worlds(self):
        """Returns (ranks, first iteration) of each world."""
        return [(int(m.group(1)), int(m.group(2) or 0)) for m in map(WORLD.search, self.lines) if m]

    def rank_processes(self):
        """Returns the process of each rank."""
        found = {}
        for path in glob.glob("/proc/[0-9]*/environ"):
            folder = os.path.dirname(path)
            try:
                if os.readlink(folder + "/cwd") != os.path.realpath(self.case.folder):
                    continue
                with open(path, "rb") as f:
                    variables = dict(line.split(b"=", 1) for line in f.read().split(b"\0") if b"=" in line)
                with open(folder + "/cmdline", "rb") as f:
                    if f.read().split(b"\0")[1:2] == [b"train"]:
                        found[int(variables[b"RANK"])] = int(folder.split("/")[2])
            except (OSError, KeyError):
                pass  # the process has just ended
        return found

    def stop(self):
        """Stops all ranks. Returns the last iteration."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(program.HANGS)
        except subprocess.TimeoutExpired:
            raise program.Finding("the training does not stop\n" + self.tail()) from None
        self.read()
        if code != STOPPED:
            raise program.Finding("a stopped training ended with code %d\n%s" % (code, self.tail()))
        return max(int(m) for m in re.findall(r"run_iter_(\d+)\.caffemodel", " ".join(os.listdir(self.case.folder))))

    def end(self):
        """Kills all processes. Ranks end when launch does."""
        program.end_group(self.process)
        end = time.monotonic() + program.HANGS
        while self.rank_processes() and time.monotonic() < end:
            time.sleep(0.01)
        self.log.close()


def elastic(case):
    """An elastic training that loses a rank has the weights of one that was stopped there and resumed with fewer ranks."""
    if case.types() & {"LSTM", "RNN"}:
        raise program.LeftOut("recurrent layers start anew in another world")
    fixed = ["--set=%s=fixed" % name for name, slow in BY_LENGTH.items() if getattr(case.solver, name) in slow]
    flags = ["--set=snapshot_format=BINARYPROTO", "--set=base_lr=1e-6", "--on_nan=go", *fixed]
    flags += ["--set=test_interval=1000"] if case.solver.HasField("test_interval") else []
    flags += ["--set=min_lr=0"] if case.solver.HasField("min_lr") else []
    part, ranks = case.sub("elastic"), case.draw.choice((2, 3))
    part.program.threads = 1
    training = ElasticTraining(part, ranks, flags)
    try:
        training.wait_for(lambda: training.displayed() > 1, "the training does not begin")
        errors = [line for line in training.lines if "error: " in line]
        if errors:
            raise (program.Finding if "internal error" in errors[0] else program.LeftOut)("a rank has failed: " + errors[0])
        time.sleep(case.draw.uniform(0, 0.3))  # real time: any moment of the training
        victim = case.draw.randrange(ranks)
        training.wait_for(lambda: victim in training.rank_processes(), "there is no rank %d" % victim)
        os.kill(training.rank_processes()[victim], signal.SIGKILL)
        training.wait_for(lambda: len(training.worlds()) > 1, "no world forms without rank %d" % victim)
        shown = training.displayed()
        training.wait_for(lambda: training.displayed() > shown, "the second world does not train")
        end = training.stop()
    finally:
        training.end()
    expected = elastic_reference(case.sub("reference"), training.worlds(), end, flags)
    case.same("worlds %s until iteration %d" % (training.worlds(), end), expected, part.path("run_iter_%d.caffemodel" % end))


def elastic_reference(case, worlds, end, flags):
    """Trains like the worlds, stopped and resumed between them. Returns the file of weights."""
    case.program.threads = 1
    resume = []
    for i, (ranks, first) in enumerate(worlds):
        last = worlds[i + 1][1] if i + 1 < len(worlds) else end
        if last == first:
            continue
        if ranks > 1:
            in_processes(case, ranks, "tcp", last, *flags, *resume)
        else:
            case.trained(last, *flags, *resume)
        resume = ["--resume=run_iter_%d.solverstate" % last]
    return case.path("run_iter_%d.caffemodel" % end)
