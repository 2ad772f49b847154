"""The rules that Doppio's BUILD files are written in, and who may use whom."""

load("@local_config_cuda//:defs.bzl", "HAVE_CUDA", "IS_DOUBLE")
load("//tools/bazel:cuda.bzl", "cuda_library")
load("//tools/bazel:unity.bzl", "together")

# Floor of each folder. A folder may use lower floors; folders on one floor may use each other only
# on floors 1 and 2.
_FLOORS = {
    "proto": 1,
    "core/base": 1,
    "core/device": 2,
    "core/math": 2,
    "core/tensor": 2,
    "core/net": 3,
    "data": 3,
    "layers": 4,
    "parallel": 4,
    "solvers": 4,
    "python": 5,
    "tools": 5,
    "tests": 6,
}

# Rooms (subfolders) of the folders above, in order: a file may include its own room and the rooms before it. "" is the
# folder itself. The folders that are missing here have no subfolders. tests/floors_test.py enforces the order.
_ROOMS = {
    "core/base": ["text", "", "content"],
    "core/net": ["contract", "spec", "graph", "store", "plan", "run"],
    "data": ["record", "decode", "augment", "pipeline", "annotation", "source"],
    "layers": [
        "common",
        "activation",
        "elementwise",
        "loss",
        "pooling",
        "inner_product",
        "convolution",
        "normalization",
        "recurrent",
        "shape",
        "detection",
        "source",
    ],
    "parallel": ["meeting", "sockets", "watch", "gpu", "reduce", "world", "tcp", "mpi", "elastic"],
    "solvers": ["update", "state", "scores", "trainer"],
    "tools": [
        "bazel",
        "packing",
        "cli",
        "gpus",
        "data",
        "nets",
        "help",
        "cluster",
        "launch",
        "timing",
        "train",
        "detect",
        "export",
        "runs",
        "classify",
        "sweep",
        "pages",
        "evaluation",
        "onnx",
        "onnx_import",
        "init",
        "verify",
        "commands/data",
        "commands",
        "",
    ],
}

# Folders whose code need not be fast. They are compiled with -O1, which takes half the time.
_COLD = ["python", "tests", "tools"]

def _temper(copts):
    """Returns `copts`, with -O1 in front in folders whose code need not be fast."""
    cold = native.package_name().split("/")[0] in _COLD
    return (["-O1"] if cold else []) + copts

def floor_visibility():
    """The folders that may depend on the calling one, as a `visibility` list."""
    package = native.package_name() + "/"
    rooms = [folder for folder in _FLOORS if package.startswith(folder + "/")]
    if not rooms:
        return ["//visibility:private"]
    here = rooms[0]
    floor = _FLOORS[here]
    return ["//%s:__subpackages__" % folder for folder in _FLOORS if (
        folder == here or _FLOORS[folder] > floor or (_FLOORS[folder] == floor and floor <= 2)
    )]

def doppio_sources():
    """`:sources`, the files that tests/floors_test.py reads and that tell two builds apart."""
    native.filegroup(
        name = "sources",
        srcs = native.glob(["**/*.h", "**/*.inc", "**/*.cc", "**/*.cu", "**/*.cuh"]),
        visibility = [
            "//tests:__subpackages__",
            "//tools:__pkg__",
        ],
    )

def doppio_library(
        name,
        srcs = [],
        hdrs = [],
        deps = [],
        cuda_srcs = [],
        copts = [],
        files_together = 12,
        visibility = None,
        **kwargs):
    """A cc_library, visible to the floors above, of sources that are compiled several at a time.

    Args:
      name: the folder's name for its main library, so that `//core/base` means it.
      srcs: .cc files, and headers nobody else includes.
      hdrs: headers.
      deps: libraries; `@sys//:...` for those of the system.
      cuda_srcs: .cu and *_cuda.cc files, left out when there is no CUDA.
      copts: more compiler options.
      files_together: the most sources to compile together; see unity.bzl.
      visibility: instead of the floors above.
      **kwargs: handed to cc_library.
    """
    visibility = visibility or floor_visibility()
    if native.package_name().split("/")[-1] == name:
        doppio_sources()
    if HAVE_CUDA and cuda_srcs:
        # nvcc gets all headers and dependencies of the library, but not the library itself.
        kernels = [f for f in cuda_srcs if f.endswith(".cu")]
        headers = hdrs + [f for f in srcs if f.endswith(".h")]
        native.cc_library(name = name + "_headers", hdrs = headers, deps = deps)
        if kernels:
            cuda_library(
                name = name + "_cu",
                srcs = kernels,
                deps = [name + "_headers"],
                alwayslink = kwargs.get("alwayslink", False),
            )
            deps = deps + [name + "_cu"]
        srcs = srcs + [f for f in cuda_srcs if not f.endswith(".cu")]
        deps = deps + ["@local_config_cuda//:cudart"]
    native.cc_library(
        name = name,
        srcs = together(name, srcs, files_together),
        hdrs = hdrs,
        copts = _temper(copts),
        deps = deps,
        visibility = visibility,
        **kwargs
    )

# Every file of a test counts its assertions.
_COUNTED = ["-include", "tests/testing/count_checks.h"]

def doppio_test_library(name, copts = [], deps = [], **kwargs):
    """A doppio_library of tests, with assertions."""
    doppio_library(
        name = name,
        testonly = True,
        copts = copts + _COUNTED,
        deps = deps + ["//tests/testing:checks"],
        **kwargs
    )

def doppio_test(
        name,
        srcs = None,
        deps = [],
        copts = [],
        files_together = 8,
        on_devices = False,
        more_threads = [],
        env = {},
        tags = [],
        **kwargs):
    """A GoogleTest program with its main(); `srcs` is name.cc when left out.

    Its sources are compiled several at a time, as in doppio_library. Its tests run with two threads (.bazelrc).

    Tests that can use the optional data folder find it in the environment variable
    DOPPIO_SHARED, and skip with a reason where it is not set (see tools/check).

    Args:
      name: of the program.
      srcs: its files.
      deps: libraries.
      copts: more compiler options.
      files_together: the most sources to compile together; see unity.bzl.
      on_devices: True if it has cases of TEST_ON_DEVICES or TEST_ON_GPU (tests/testing/test_gpu.h). With --config=double
        only these run, and of each pair only the case on a GPU.
      more_threads: further numbers of threads to run the program with, each as the test NAME_N_threads.
      env: environment variables.
      tags: see tests/README.md.
      **kwargs: handed to cc_test.
    """
    native.cc_test(
        name = name,
        srcs = together(name, srcs or [name + ".cc"], files_together),
        copts = _temper(copts) + _COUNTED,
        deps = deps + ["//tests/testing:checks", "//tests/testing:main"],
        env = dict(env, **({"GTEST_FILTER": "*OnGpu*"} if on_devices and IS_DOUBLE else {})),
        tags = tags + (["on_gpu"] if on_devices else []),
        visibility = ["//tests:__subpackages__"],
        **kwargs
    )
    for threads in more_threads if not IS_DOUBLE else []:
        native.sh_test(
            name = "%s_%d_threads" % (name, threads),
            size = "large",
            srcs = ["//tools/bazel:run.sh"],
            args = ["$(rootpath :%s)" % name],
            data = [name] + kwargs.get("data", []),
            env = dict(env, OMP_NUM_THREADS = str(threads), GTEST_FILTER = "-*OnGpu*"),
        )

def doppio_fuzz_test(name, src = None, deps = []):
    """NAME_fuzz: runs a fuzz target over its corpus, the folder corpus/NAME.

    With --config=fuzz the program is libFuzzer's, which also makes inputs of its own; see tests/fuzz/run.

    Args:
      name: of the target and its corpus.
      src: the file that defines LLVMFuzzerTestOneInput; NAME_fuzz.cc when left out.
      deps: libraries.
    """
    corpus = native.package_name() + "/corpus/" + name
    native.cc_test(
        name = name + "_fuzz",
        size = "small",
        srcs = [src or name + "_fuzz.cc"],
        args = select({
            "//tools/bazel:fuzzing": ["-runs=0", corpus],
            "//conditions:default": [corpus],
        }),
        copts = _temper([]),
        data = native.glob(["corpus/%s/*" % name]),
        tags = ["reads_files"],
        linkopts = select({
            "//tools/bazel:fuzzing": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        deps = deps + [":fuzz_input"] + select({
            "//tools/bazel:fuzzing": [],
            "//conditions:default": [":corpus_main"],
        }),
    )

def doppio_mpi_test(name, ranks, srcs = None, deps = [], data = [], launcher = "mpirun", tags = [], **kwargs):
    """A GoogleTest program that runs as several ranks; its own main() joins the ranks.

    Every rank runs all cases and the first one reports them; a failure on any rank fails
    the test. It is skipped if the launcher is not installed.

    Args:
      name: of the test.
      ranks: how many.
      srcs: name.cc when left out.
      deps: libraries.
      data: files.
      tags: see tests/README.md.
      launcher: mpirun, another MPI's launcher, such as mpirun.mpich, or env: none, RANK
        and WORLD_SIZE name the ranks.
      **kwargs: handed to sh_test.
    """
    program = (srcs or [name + ".cc"])[-1].replace(".cc", "_program")
    if not native.existing_rule(program):
        native.cc_binary(
            name = program,
            srcs = together(program, srcs or [name + ".cc"], files_together = 8),
            copts = _temper([]) + _COUNTED,
            deps = deps + ["//tests/testing:checks"],
            testonly = True,
        )
    native.sh_test(
        name = name,
        srcs = ["//tools/bazel:mpi_test.sh"],
        args = [launcher, str(ranks), "$(rootpath :%s)" % program],
        data = data + [program],
        # Ranks poll, so they and any test beside them would take twenty times as long.
        tags = tags + ["exclusive"],
        **kwargs
    )
