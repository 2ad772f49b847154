"""The base class of scenarios: the program, a scratch folder, and tiny nets that need no files."""
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

ROOT = os.getcwd()
DOPPIO = next((p for p in (os.path.join(ROOT, "tools/doppio"), os.path.join(ROOT, "bazel-bin/tools/doppio"))
               if os.path.isfile(p)), None)

# For several ranks, trials or simulated GPUs, which share two cores. Elsewhere, programs run with two threads (.bazelrc).
ONE_THREAD = {"OMP_NUM_THREADS": "1"}

# A net that learns a little in a very short time, with every kind of layer that draws random
# numbers.
TINY_NET = """layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.01 }
  data_param { backend: DIGITS size: 40 batch_size: 4 shuffle: true } }
layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: AVE kernel_size: 7 stride: 7 } }
layer { name: "drop" type: "Dropout" bottom: "pool" top: "pool" dropout_param { dropout_ratio: 0.2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
# The net's solver, which trains until it is told to stop.
ENDLESS_SOLVER = """net: "net.prototxt"
type: "SGD" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed"
random_seed: 5
display: 200
max_iter: 1000000000
snapshot_prefix: "run"
"""


class Scenario(unittest.TestCase):
    """A test case with a scratch folder, which is removed at the end."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def block_readers(self, name):
        """Makes programs that open the file wait until the returned one is closed, but at most for lease-break-time (45 s)."""
        signal.signal(signal.SIGIO, signal.SIG_IGN)  # the kernel sends it when a program waits
        file = open(self.path(name), "rb+")
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        return file

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)
        return name

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def environment(self, **env):
        # The caller's settings must not affect a test.
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DOPPIO_", "GLOG_", "FLAGS_"))}
        # On a busy machine, threads that spin for long before they sleep are a hundred times
        # slower.
        return {"GOMP_SPINCOUNT": "1000", **kept, **env}

    def start(self, *args, **kwargs):
        return subprocess.Popen([DOPPIO, *args], cwd=self.folder, stdin=subprocess.DEVNULL, text=True,
                                errors="replace", env=self.environment(), **kwargs)

    def doppio(self, *args, timeout=120, **env):
        return subprocess.run([DOPPIO, *args], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=timeout, env=self.environment(**env))

    def run_in_removed_folder(self, code, *args):
        """Runs the program in a working folder that has been removed. Returns its standard error."""
        enter = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"'
        run = subprocess.run(["sh", "-c", enter, DOPPIO, *args], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=120, env=self.environment())
        self.assertEqual(code, run.returncode, run.stderr)
        return run.stderr

    def await_work(self, process, seconds):
        """Waits until the process, which must not end, has computed for so many more seconds of CPU time."""
        def worked():
            with open("/proc/%d/stat" % process.pid, encoding="ascii", errors="replace") as f:
                user, system = f.read().rsplit(")", 1)[1].split()[11:13]
            return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        enough = worked() + seconds
        end = time.monotonic() + 60
        while worked() < enough:
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def train(self, *args, code=0):
        run = self.doppio("train", "--solver=solver.prototxt", *args)
        self.assertEqual(code, run.returncode, run.stderr)
        return run


def png(rows):
    """Returns a PNG file from rows of pixels: numbers for gray, (red, green, blue) for colour."""
    def chunk(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))
    gray = isinstance(rows[0][0], int)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0 if gray else 2, 0, 0, 0)
    pixels = b"".join(b"\0" + bytes(v for pixel in row for v in ([pixel] if gray else pixel)) for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b""))


def idx(extents, values):
    """Returns an IDX file (MNIST's format) of bytes."""
    return bytes([0, 0, 8, len(extents)]) + b"".join(struct.pack(">I", n) for n in extents) + bytes(values)
