"""The base class of tests of single commands: runs the program in a scratch folder."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scenarios"))
import junit  # noqa: E402
import scenario  # noqa: E402

DOPPIO = scenario.DOPPIO
main = junit.main
png = scenario.png
idx = scenario.idx


class ToolCase(scenario.Scenario):
    def run_tool(self, *args, program=DOPPIO, **env):
        return subprocess.run([program, *args], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env={**os.environ, **env})

    def succeed(self, *args, **env):
        r = self.run_tool(*args, **env)
        self.assertEqual(0, r.returncode, r.stderr)
        return r.stdout

    def fail_with(self, code, *args, **env):
        """Runs the program, which must exit with `code`, and returns its standard error."""
        r = self.run_tool(*args, **env)
        self.assertEqual(code, r.returncode, r.stdout + r.stderr)
        return r.stderr

    def end_once_there_is(self, path, sent, *args):
        """Starts the program, and sends it the signal as soon as a file with this path is in its
        folder."""
        process = subprocess.Popen(
            [DOPPIO, *args], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(sent, signal.SIG_DFL))  # the caller of the tests may ignore the signal
        end = time.monotonic() + 60
        while not os.path.exists(self.path(path % process.pid)):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        process.send_signal(sent)
        process.communicate(timeout=60)
        self.assertEqual(-sent, process.returncode)
