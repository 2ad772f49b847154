"""What the scenarios share: the program, a scratch folder, and tiny nets that need no files."""
import os
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

ROOT = os.getcwd()
DOPPIO = next((p for p in (os.path.join(ROOT, "tools/doppio"), os.path.join(ROOT, "bazel-bin/tools/doppio"))
               if os.path.isfile(p)), None)


# A net that learns a little in no time, with everything that draws random numbers.
TINY_NET = """layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.01 }
  data_param { backend: DIGITS size: 40 batch_size: 4 shuffle: true } }
layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: AVE kernel_size: 7 stride: 7 } }
layer { name: "drop" type: "Dropout" bottom: "pool" top: "pool" dropout_param { dropout_ratio: 0.2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


class Scenario(unittest.TestCase):
    """A case in a folder of its own, which is removed."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def environment(self, **env):
        # The caller's own settings must not decide a test.
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DOPPIO_", "GLOG_", "FLAGS_"))}
        # Threads that wait for long without sleeping are a hundred times slower on a busy machine.
        return {"GOMP_SPINCOUNT": "1000", **kept, **env}

    def start(self, *args, **kwargs):
        return subprocess.Popen([DOPPIO, *args], cwd=self.folder, stdin=subprocess.DEVNULL, text=True,
                                errors="replace", env=self.environment(), **kwargs)

    def doppio(self, *args, timeout=120, **env):
        return subprocess.run([DOPPIO, *args], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=timeout, env=self.environment(**env))

    def train(self, *args, code=0):
        run = self.doppio("train", "--solver=solver.prototxt", *args)
        self.assertEqual(code, run.returncode, run.stderr)
        return run


def png_gray(rows):
    """A PNG file of rows of bytes."""
    def chunk(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def idx(extents, values):
    """An IDX file, MNIST's format, of bytes."""
    return bytes([0, 0, 8, len(extents)]) + b"".join(struct.pack(">I", n) for n in extents) + bytes(values)
