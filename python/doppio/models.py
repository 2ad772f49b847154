"""`python -m doppio.models [FOLDER]`: copies the nets and solvers that come with Doppio into FOLDER/models, here by default.

Solvers name their nets from the folder that the command runs in: `doppio train --solver=models/lenet/demo_solver.prototxt`.
"""
import os
import shutil
import sys


def folder():
    """Returns the folder of the models: in the package, or next to it in a checkout."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.join(here, "share", "models"), os.path.join(here, "..", "..", "models")]
    return os.path.normpath(next(filter(os.path.isdir, places), places[0]))


def main(arguments):
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    to = os.path.join(arguments[0] if arguments else ".", "models")
    try:
        shutil.copytree(folder(), to)
    except FileExistsError:
        print("%s already exists and was not changed" % to, file=sys.stderr)
        return 4
    print(to)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
