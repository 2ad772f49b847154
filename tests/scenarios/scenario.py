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
