"""Finds the CUDA toolkit; where there is none, @local_config_cuda says so.

Environment: CUDA_HOME, then CUDA_PATH, then /usr/local/cuda name the toolkit;
DOPPIO_CUDA=0 ignores it; DOPPIO_CUDA_ARCHS=80,90 names the compute capabilities to compile for,
DOPPIO_CUDA_ARCHS=all the release's. Without it the build is for this machine's GPUs.
"""

# Ampere, Hopper, Blackwell.
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

_NONE = """package(default_visibility = ["//visibility:public"])
cc_library(name = "headers")
cc_library(name = "cudart")
"""

# thrust, cub and libcu++ are left out of `headers`: only nvcc reads them, and it finds
# its own. cuBLAS, cuDNN and NCCL are opened at run time, so only their headers are here. CUDA's runtime is linked; with
# --config=portable only the library with all CUDA code (tools/packing) has it, so that a process has it once.
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
cc_library(
    name = "cudart_whole",
    linkopts = ["-L{lib}", "-Wl,--whole-archive,-lcudart_static,--no-whole-archive", "-ldl", "-lrt", "-lpthread"],
)
"""

def _impl(ctx):
    root = _toolkit(ctx)
    archs = []
    if root:
        nvcc = root + "/bin/nvcc"
        archs = _archs(ctx, nvcc)
        ctx.symlink(root + "/include", "include")

        # An input of every nvcc run, so that a new toolkit compiles anew.
        ctx.file("version.txt", nvcc + "\n" + ctx.execute([nvcc, "--version"]).stdout)
        linked = ["-L%s/lib64" % root, "-lcudart_static", "-ldl", "-lrt", "-lpthread"]
        ctx.file("BUILD", _FOUND.format(
            lib = root + "/lib64",
            linked = [] if ctx.os.environ.get("DOPPIO_LINK") == "static" else linked,
        ))
    else:
        ctx.file("BUILD", _NONE)
    ctx.file("defs.bzl", "HAVE_CUDA = %r\nNVCC = %r\nCUDA_ARCHS = %r\n" % (
        root != None,
        root + "/bin/nvcc" if root else "",
        archs,
    ))

cuda_configure = repository_rule(
    implementation = _impl,
    local = True,
    configure = True,
    environ = ["CUDA_HOME", "CUDA_PATH", "DOPPIO_CUDA", "DOPPIO_CUDA_ARCHS", "DOPPIO_LINK"],
)
