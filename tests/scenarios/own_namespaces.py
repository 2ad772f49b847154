"""Starts a test script again in new namespaces, in which it is root. Needs root or user
namespaces."""
import os
import subprocess
import sys

INSIDE = "DOPPIO_TEST_OWN_NAMESPACES"


def enter(kinds, trial):
    """Starts the calling script again in new namespaces. `kinds` are flags of unshare, such as --mount. `trial` is a
    command that must succeed in such namespaces. Returns "" inside them, or the reason why they are not available."""
    if INSIDE in os.environ:
        return os.environ[INSIDE]
    reason = ""
    # Root needs no user namespace, which some kernels and containers forbid.
    for user in ([], ["--map-root-user"]):
        unshare = ["unshare", *user, *kinds]
        try:
            done = subprocess.run([*unshare, *trial], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            reason = "there is no program unshare"
            break
        if done.returncode == 0:
            os.environ[INSIDE] = ""
            os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])
        reason = done.stderr.strip()
    os.environ[INSIDE] = reason
    return reason


def missing():
    """Returns why the requested namespaces are missing; "" inside them."""
    return os.environ.get(INSIDE, "")
