"""Starts the `doppio` command of a pip installation, and finds the CUDA libraries for every Python process.

The command runs in the user's interpreter, so that layers of type Python can import the packages installed there. This
module is outside the package `doppio`, because the package imports NumPy, which most commands do not need.
"""
import glob
import os
import signal
import sys


def find_cuda():
    """Appends the library folders of pip's CUDA packages to DOPPIO_CUDA_LIBRARIES."""
    folders = [folder for folder in os.environ.get("DOPPIO_CUDA_LIBRARIES", "").split(":") if folder]
    for place in sys.path:
        folders += sorted(glob.glob(os.path.join(glob.escape(place or "."), "nvidia", "*", "lib")))
    if folders:
        os.environ["DOPPIO_CUDA_LIBRARIES"] = ":".join(dict.fromkeys(folders))


def program():
    """Returns the path of the command `doppio`: this process's script, or pip's script under `python -m doppio`."""
    if not sys.argv[0].endswith(".py"):
        return os.path.abspath(sys.argv[0])
    import importlib.metadata  # imported here because the import is slow and rarely needed
    try:
        files = importlib.metadata.files("doppio") or []
    except importlib.metadata.PackageNotFoundError:   # a checkout
        files = []
    return next((os.path.abspath(file.locate()) for file in files if file.parts[-2:] == ("bin", "doppio")), "doppio")


def main():
    """Runs the command line of this process and returns the exit code."""
    # The commands handle signals themselves. Python's handlers would run only after the command returns to the
    # interpreter.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Line buffering keeps the output of layers and of Doppio in order.
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)
    # Layers import modules from the working directory, as in the standalone program.
    sys.path.insert(0, "")
    find_cuda()
    # `export` verifies ONNX files with the packages of this interpreter.
    os.environ.setdefault("DOPPIO_PYTHON", sys.executable)
    import _doppio
    arguments = [os.fsencode(argument) for argument in [program(), *sys.argv[1:]]]
    return _doppio.main(arguments, arguments[0])
