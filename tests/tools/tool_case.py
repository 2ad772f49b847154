"""What tests of single commands share: the program in a folder of its own, and small files to give it."""
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
import junit  # noqa: E402

DOPPIO = os.path.join(os.getcwd(), "tools/doppio")
main = junit.main


def png(rows):
    """A PNG file of rows of pixels: numbers for gray, (red, green, blue) for colour."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    gray = isinstance(rows[0][0], int)
    pixels = b"".join(b"\0" + bytes(v for pixel in row for v in ([pixel] if gray else pixel)) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0 if gray else 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b""))


class ToolCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        return name

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def run_tool(self, *args, program=DOPPIO, **env):
        return subprocess.run([program, *args], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env={**os.environ, **env})

    def succeed(self, *args, **env):
        r = self.run_tool(*args, **env)
        self.assertEqual(0, r.returncode, r.stderr)
        return r.stdout

    def fail_with(self, code, *args, **env):
        """What the program says to standard error."""
        r = self.run_tool(*args, **env)
        self.assertEqual(code, r.returncode, r.stdout + r.stderr)
        return r.stderr
