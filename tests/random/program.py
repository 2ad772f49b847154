"""Runs Doppio's program on random cases, and raises a Finding if it ends as no program should.

A command may refuse its input with a message and a code of docs/errors.md. It may not end with a signal or with code 1,
report an internal error, or run for more than a minute on a tiny case, which is longer on a busy machine."""
import os
import re
import shlex
import signal
import subprocess
import time

HANGS = float(os.environ.get("RANDOM_HANGS", 60))  # seconds after which a command counts as hanging
BUG = 1  # the code of internal errors
REFUSED = (2, 3)  # the codes of a wrong command line and of a wrong net or solver
SANITIZERS = re.compile(r"(ERROR: \w+Sanitizer|runtime error): .*")


class Finding(Exception):
    """What does not hold."""


class LeftOut(Exception):
    """Why a relation says nothing about a case."""


def last_lines(text, count=20):
    return "\n".join(text.rstrip("\n").split("\n")[-count:])


def cpu_seconds(session):
    """Returns the CPU time of all processes of a session so far."""
    ticks = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit():
                with open("/proc/%s/stat" % name, encoding="ascii", errors="replace") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12]) if int(fields[3]) == session else 0
        except OSError:
            pass  # the process has just ended
    return ticks / os.sysconf("SC_CLK_TCK")


def outputs(process):
    """Waits for a process. Returns its standard output and error, or None if it hangs: after HANGS seconds it has either
    computed for as long, or computed nothing in a quarter of them."""
    begun, before = time.monotonic(), 0
    while True:
        try:
            return process.communicate(timeout=HANGS / 4)
        except subprocess.TimeoutExpired:
            now = cpu_seconds(process.pid)
            late = time.monotonic() - begun >= HANGS
            if late and (now >= HANGS or now - before < HANGS / 400 or time.monotonic() - begun >= 10 * HANGS):
                return None
            before = now


def end_group(process):
    """Kills a process that leads its group, and all processes in the group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Program:
    """The program in a working folder. `commands` lists the commands that were run, as lines for a shell."""

    def __init__(self, path, folder, threads=2, commands=None):
        self.path = os.path.abspath(path)
        self.folder = folder
        self.threads = threads
        self.commands = [] if commands is None else commands

    def environment(self, **more):
        # The caller's settings must not change results. Threads that spin slow a busy machine down.
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DOPPIO_", "GLOG_", "FLAGS_", "OMP_"))}
        return {**kept, "GOMP_SPINCOUNT": "1000", "OMP_NUM_THREADS": str(self.threads), "OPENBLAS_NUM_THREADS": "1", **more}

    def start(self, *args, launcher=(), env=None, **options):
        """Starts a command in a group of processes of its own."""
        env = env or {}
        command = [*launcher, self.path, *args]
        settings = ["%s=%s" % item for item in sorted({"OMP_NUM_THREADS": str(self.threads), **env}.items())]
        self.commands.append("(cd %s && %s)" % (shlex.quote(self.folder), shlex.join(["env", *settings, *command])))
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen(command, cwd=self.folder, text=True, errors="replace", env=self.environment(**env),
                                start_new_session=True, **options)

    def run(self, *args, codes=(0,), launcher=(), env=None):
        """Runs a command. Returns its CompletedProcess. Raises a Finding for an end that is none of `codes`, if given."""
        process = self.start(*args, launcher=launcher, env=env)
        try:
            said = outputs(process)
        finally:
            end_group(process)
        if said is None:
            raise Finding("%s: still runs after %d s" % (shlex.join(args), HANGS))
        done = subprocess.CompletedProcess(args, process.returncode, *said)
        self.judge(done, codes)
        return done

    def judge(self, done, codes=None):
        """Raises a Finding if a command crashed, or ended with none of `codes`."""
        code, said = done.returncode, done.stdout + done.stderr
        command = shlex.join(done.args)
        if code < 0 or code > 128 and code not in (130, 143):
            number = -code if code < 0 else code - 128
            raise Finding("%s: ended by signal %d\n%s" % (command, number, last_lines(said)))
        report = SANITIZERS.search(said)
        if report:
            raise Finding("%s: %s\n%s" % (command, report.group(0), last_lines(said, 60)))
        if code == BUG or "internal error" in said:
            raise Finding("%s: ended with code %d\n%s" % (command, code, last_lines(said)))
        if codes is not None and code not in codes:
            raise Finding("%s: ended with code %d, expected %s\n%s" % (
                command, code, " or ".join(map(str, codes)), last_lines(said)))
