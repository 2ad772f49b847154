"""Starts a test script again in new namespaces, in which it is root: it needs root or user namespaces."""
import os
import subprocess
import sys

INSIDE = "DOPPIO_TEST_OWN_NAMESPACES"


def enter(kinds, trial):
    """Starts the calling script again in new namespaces. `kinds`: flags of unshare, such as --mount. `trial`: a command that must
    succeed in such namespaces. Returns "" inside them, or the reason why there are none."""
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
    """Why the namespaces that the script asked for are missing; "" inside them."""
    return os.environ.get(INSIDE, "")
