"""The command `doppio` where pip has installed it, and what every process of Python's needs before Doppio computes.

The command runs in the user's interpreter, so that layers of type Python find its packages. This is a module beside the
package `doppio`, because the package imports NumPy, which most commands do not need.
"""
import glob
import os
import signal
import sys


def find_cuda():
    """Lets Doppio find the libraries of pip's CUDA packages, behind what DOPPIO_CUDA_LIBRARIES names already."""
    folders = [folder for folder in os.environ.get("DOPPIO_CUDA_LIBRARIES", "").split(":") if folder]
    for place in sys.path:
        folders += sorted(glob.glob(os.path.join(glob.escape(place or "."), "nvidia", "*", "lib")))
    if folders:
        os.environ["DOPPIO_CUDA_LIBRARIES"] = ":".join(dict.fromkeys(folders))


def program():
    """The path of the command `doppio`: of this process, or, under `python -m doppio`, the one that pip has installed."""
    if not sys.argv[0].endswith(".py"):
        return os.path.abspath(sys.argv[0])
    import importlib.metadata   # takes longer than all else here
    try:
        files = importlib.metadata.files("doppio") or []
    except importlib.metadata.PackageNotFoundError:   # a checkout
        files = []
    return next((os.path.abspath(file.locate()) for file in files if file.parts[-2:] == ("bin", "doppio")), "doppio")


def main():
    """Runs the command line of this process; returns the exit code."""
    # The commands handle signals themselves. Python's own handlers wait for the interpreter, which computes nothing here.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # What layers print comes between the program's own lines in the order of time.
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)
    # Modules of layers lie in the working directory, as for the program that is no script.
    sys.path.insert(0, "")
    find_cuda()
    # `export` verifies ONNX files with packages of this Python.
    os.environ.setdefault("DOPPIO_PYTHON", sys.executable)
    import _doppio
    arguments = [os.fsencode(argument) for argument in [program(), *sys.argv[1:]]]
    return _doppio.main(arguments, arguments[0])
