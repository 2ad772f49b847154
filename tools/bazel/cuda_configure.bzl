"""Finds the CUDA toolkit. Without one, @local_config_cuda has HAVE_CUDA = False.

Environment: CUDA_HOME, then CUDA_PATH, then /usr/local/cuda name the toolkit;
DOPPIO_CUDA=0 ignores it; DOPPIO_CUDA=double links the double of a machine with GPUs, tests/double,
in place of CUDA's runtime and needs of the toolkit only the headers; DOPPIO_CUDA_ARCHS=80,90 names the compute capabilities to compile for,
DOPPIO_CUDA_ARCHS=all the release's. Without it the build is for this machine's GPUs.
"""

# Compute capabilities of a release: Ampere, Hopper, Blackwell.
_RELEASE_ARCHS = ["80", "90", "100"]

def _archs_of_this_machine(ctx):
    """Returns the GPUs' compute capabilities; without a GPU the oldest one, whose PTX every later GPU can compile."""
    smi = ctx.which("nvidia-smi")
    if smi:
        said = ctx.execute([smi, "--query-gpu=compute_cap", "--format=csv,noheader"])
        lines = [line.strip().replace(".", "") for line in said.stdout.split("\n")]  # "8.0"
        archs = {int(line): line for line in lines if line.isdigit()}
        if said.return_code == 0 and archs:
            return [archs[arch] for arch in sorted(archs.keys())]
    return _RELEASE_ARCHS[:1]

def _toolkit(ctx):
    env = ctx.os.environ
    if env.get("DOPPIO_CUDA") == "0":
        return None
    for root in [env.get("CUDA_HOME"), env.get("CUDA_PATH"), "/usr/local/cuda"]:
        if root and ctx.path(root + "/bin/nvcc").exists:
            return root
    return None

def _archs(ctx, nvcc):
    known = ctx.execute([nvcc, "--list-gpu-arch"]).stdout.strip().split("\n")
    variable = ctx.os.environ.get("DOPPIO_CUDA_ARCHS", "")
    asked = [a for a in variable.split(",") if a]
    if variable == "all":
        asked = []
    for arch in asked:
        if "compute_" + arch not in known:
            fail("DOPPIO_CUDA_ARCHS: %s does not support %r, only %s" % (nvcc, arch, " ".join(known)))
    wanted = asked or (_RELEASE_ARCHS if variable == "all" else _archs_of_this_machine(ctx))
    archs = [a for a in wanted if "compute_" + a in known]
    if not archs:
        fail("%s compiles for none of %s; set DOPPIO_CUDA_ARCHS or DOPPIO_CUDA=0" % (nvcc, wanted))
    return archs

def _shared_runtime(ctx, lib):
    """Returns the name of the shared library by its soname, libcudart.so.13: NVIDIA's packages on PyPI have no other."""
    names = [path.basename for path in ctx.path(lib).readdir() if path.basename.startswith("libcudart.so.")]
    by_length = sorted([(len(name), name) for name in names])
    if not by_length:
        fail("%s has no libcudart.so.*, which --config=portable links" % lib)
    return by_length[0][1]

# The BUILD file that links tests/double in place of CUDA's runtime.
_DOUBLE = """load("@//tools/bazel:cuda.bzl", "linked_library")
package(default_visibility = ["//visibility:public"])
exports_files(["version.txt"])
cc_library(
    name = "headers",
    hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/**"]),
    includes = ["include"],
)
linked_library(
    name = "cudart",
    deps = [":headers"],
    linked = ["@//tests/double"],
)
"""

_NONE = """package(default_visibility = ["//visibility:public"])
cc_library(name = "headers")
cc_library(name = "cudart")
"""

# The BUILD file for a toolkit. `headers` leaves out thrust, cub and libcu++: only nvcc reads them, and it finds its own
# copies. cuBLAS, cuDNN and NCCL are opened at run time, so the build needs only their headers. CUDA's runtime is linked
# statically, but as a shared library with --config=portable: the libraries of a bundle must share one runtime, and the
# static one hides its symbols.
_FOUND = """package(default_visibility = ["//visibility:public"])
exports_files(["version.txt"])
cc_library(
    name = "headers",
    hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/**"]),
    includes = ["include"],
)
cc_library(
    name = "cudart",
    linkopts = {linked},
    deps = [":headers"],
)
"""

def _impl(ctx):
    root = _toolkit(ctx)
    archs = []
    double = False
    if root:
        nvcc = root + "/bin/nvcc"
        archs = _archs(ctx, nvcc)
        ctx.symlink(root + "/include", "include")

        # Every nvcc run has this file as an input, so that a new toolkit recompiles everything.
        ctx.file("version.txt", nvcc + "\n" + ctx.execute([nvcc, "--version"]).stdout)
        lib = root + "/lib64"
        double = ctx.os.environ.get("DOPPIO_CUDA") == "double"
        runtime = ["-lcudart_static", "-ldl", "-lrt", "-lpthread"]
        if ctx.os.environ.get("DOPPIO_LINK") == "static":
            # tools/packing/layout.sh finds the library by the rpath, copies it and changes the rpath.
            runtime = ["-l:" + _shared_runtime(ctx, lib), "-Wl,-rpath," + lib]
        ctx.file("BUILD", _DOUBLE if double else _FOUND.format(linked = ["-L" + lib] + runtime))
    else:
        ctx.file("BUILD", _NONE)
    ctx.file("defs.bzl", "HAVE_CUDA = %r\nIS_DOUBLE = %r\nNVCC = %r\nCUDA_ARCHS = %r\n" % (
        root != None,
        double,
        root + "/bin/nvcc" if root else "",
        archs,
    ))

cuda_configure = repository_rule(
    implementation = _impl,
    local = True,
    configure = True,
    environ = ["CUDA_HOME", "CUDA_PATH", "DOPPIO_CUDA", "DOPPIO_CUDA_ARCHS", "DOPPIO_LINK"],
)
