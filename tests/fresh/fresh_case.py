"""Lets the scripts of tests/fresh run without network and root.

Programs of the system are replaced by small scripts, so that nothing is downloaded and no command runs inside the systems.
"""
import os
import shutil
import subprocess
import tempfile
import unittest

SCRIPTS = os.path.join(os.getcwd(), "tests/fresh")

# The stand-in for debootstrap makes the folders of a system without programs.
DEBOOTSTRAP = 'echo "$@" >>"$SEEN/debootstrap"; mkdir -p "$3/etc/apt" "$3/root"; echo "I: Base system installed successfully."'
# The stand-in for unshare, called with "-- COMMAND...", runs debootstrap but no command inside the system. A tools/check that
# has the text FAIL in its command line or environment fails, and prints SAID.
UNSHARE = r'''while [ "$1" != -- ]; do shift; done
shift
[ "$1" = debootstrap ] && exec "$@"
system=$5
cp -r "$system/srv/doppio" "$system/etc" "$SEEN/"
shift 7
echo "$@" >>"$SEEN/inside"
case "$*" in
  *tools/demo*) echo "Trained to a test accuracy of 0.99; log and snapshots are in demo/." ;;
  *"${FAIL:-nothing}"*tools/check*) printf "%s\n5 passed, 1 failed\n" "$SAID"; exit 1 ;;
  *tools/check*) echo "6 passed, 0 failed" ;;
esac'''


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class FreshCase(unittest.TestCase):
    """A tree in which a script of tests/fresh is committed, and stand-ins for what makes a system."""

    script = None  # its name

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.bin, self.seen, self.places = [self.make_folder(n) for n in ("bin", "seen", "places")]
        self.tree = self.make_folder("tree/tests/fresh")
        for name in (self.script, "system.sh"):
            shutil.copy(os.path.join(SCRIPTS, name), self.tree)
        self.tree = os.path.join(self.folder, "tree")
        self.program("id", "echo 0")
        self.program("debootstrap", DEBOOTSTRAP)
        self.program("unshare", UNSHARE)
        self.program("apt-get", 'case "$*" in *Debian-Security*) echo http://s.example/ ;; *) echo http://m.example/debian/ ;; esac')
        self.program("apt-config", "echo 'Acquire::http::Proxy \"http://proxy.example\";'; echo 'Acquire::Languages \"none\";'")
        self.git("init", "-q")
        self.write("committed", "1")
        self.git("add", "-A")
        self.git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "first")

    def make_folder(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        return path

    def program(self, name, script):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + script + "\n")
        os.chmod(path, 0o755)

    def write(self, name, text):
        with open(os.path.join(self.tree, name), "w", encoding="utf-8") as f:
            f.write(text)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.tree, *arguments], check=True, env=dict(os.environ, HOME=self.folder))

    def read(self, *names):
        with open(os.path.join(self.seen, *names), encoding="utf-8") as f:
            return f.read()

    def run_script(self, *arguments, status=0, path=None, **environment):
        done = subprocess.run(
            [os.path.join(self.tree, "tests/fresh", self.script), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            universal_newlines=True, check=False, cwd="/",
            env=dict(os.environ, PATH=path or self.bin + ":" + os.environ["PATH"], SEEN=self.seen,
                     TMPDIR=self.places, HOME=self.folder, **environment))
        self.assertEqual(status, done.returncode, done.stdout)
        return done.stdout
