#!/usr/bin/env python3
"""Tests `doppio get`: published data sets."""
import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402


class GetTest(tool_case.ToolCase):
    """Tests `get` without a published file, which would be 10 MB."""

    def test_refuses_files_that_are_not_the_published_ones(self):
        self.write("here/train-images-idx3-ubyte.gz", b"abc")
        error = self.fail_with(4, "get", "mnist", "--from=here")
        self.assertIn("'here/train-images-idx3-ubyte.gz' is not the published file: its MD5 is "
                      "900150983cd24fb0d6963f7d28e17f72, not f68b3c2dcbeaaa9fbdd348bbdeb94873", error)
        self.assertEqual([], os.listdir(self.path("mnist")))
        error = self.fail_with(4, "get", "cifar10", "--from=here")
        self.assertIn("'here/cifar-10-binary.tar.gz' does not exist; without a network, put these files into a folder", error)
        self.assertIn("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", error)

    def curl(self, script):
        """Returns a folder of programs that has only this curl."""
        self.write("bin/curl", "#!/bin/sh\n" + script)
        os.chmod(self.path("bin/curl"), 0o755)
        return self.path("bin")

    def test_says_what_to_do_without_a_network(self):
        error = self.fail_with(4, "get", "fashion_mnist", "data", PATH=self.curl("exit 6\n"))
        self.assertIn("cannot download https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/"
                      "fashion/train-images-idx3-ubyte.gz (curl ended with code 6); without a network, put these files "
                      "into a folder and run: doppio get fashion_mnist --from=FOLDER", error)
        self.assertIn("t10k-labels-idx1-ubyte.gz", error)
        error = self.fail_with(4, "get", "mnist", PATH=self.path("nowhere"))
        self.assertIn("cannot download files because curl is not installed (apt-get install curl)", error)
        # The answer is not the file but, for example, the login page of a hotel's network.
        error = self.fail_with(4, "get", "mnist", "data", PATH=self.curl(
            'while [ "$1" != --output ]; do shift; done; echo "<html>" >"$2"\n'))
        self.assertIn("is not the published file", error)
        self.assertIn("it came from https://storage.googleapis.com/cvdf-datasets/mnist/train-images", error)
        self.assertEqual([], os.listdir(self.path("data")))

    def test_knows_how_curl_ended_under_a_parent_that_ignores_children(self):
        r = subprocess.run([tool_case.DOPPIO, "get", "mnist"], cwd=self.folder, capture_output=True, text=True, timeout=120,
                           env={**os.environ, "PATH": self.curl("exit 6\n")},
                           preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertIn("curl ended with code 6", r.stderr)

    def test_refuses_wrong_names(self):
        self.assertIn("not 'mnits'; did you mean 'mnist'?", self.fail_with(2, "get", "mnits"))
        self.assertIn("'get' needs mnist|fashion_mnist|cifar10 [FOLDER]", self.fail_with(2, "get"))

    @unittest.skipUnless(os.path.isdir(os.environ.get("DOPPIO_SHARED", "") + "/data/mnist"),
                         "DOPPIO_SHARED has no data/mnist")
    def test_takes_mnist_however_it_is_packed(self):
        out = json.loads(self.succeed("get", "mnist", "--from=" + os.environ["DOPPIO_SHARED"] + "/data/mnist", "--json"))
        self.assertEqual([60000, 10000], [part["images"] for part in out])
        self.assertEqual(4, len(os.listdir(self.path("mnist"))))
        self.succeed("get", "mnist", PATH=self.path("nowhere"))  # all files are present


if __name__ == "__main__":
    tool_case.main()
