"""What tests of single commands share: the program in a folder of its own."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
import junit  # noqa: E402
import scenario  # noqa: E402

DOPPIO = scenario.DOPPIO
main = junit.main
png = scenario.png


class ToolCase(scenario.Scenario):
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
