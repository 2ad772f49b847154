"""@doppio_cc: the C++ toolchain that Bazel finds by itself, with the options that this compiler needs.

GCC 12.2, the compiler of Debian 12, changes constants when it generates code for AVX-512 (constants_probe.cc says how).
The probe is compiled and run with the options of a build for this machine. Where it finds changed constants, every file
is compiled with the first set of options below that mends them.
"""

load("@bazel_tools//tools/cpp:cc_configure.bzl", "cc_autoconf_impl")

_BUILD_OPTIONS = ["-std=c++17", "-O3", "-march=native"]

_REMEDIES = [
    [],
    # No block is copied as one integer of more than 128 bits.
    ["-mmove-max=128", "-mstore-max=128"],
    ["-mmove-max=128", "-mstore-max=128", "-fno-tree-slp-vectorize"],
]

def _remedy(ctx, compiler):
    """Returns the first of _REMEDIES under which the probe finds no changed constant."""
    probe = ctx.path(Label("//tools/bazel:constants_probe.cc"))
    said = ""
    for options in _REMEDIES:
        built = ctx.execute([compiler] + _BUILD_OPTIONS + options + [probe, "-o", "constants_probe", "-lstdc++"])
        if built.return_code != 0:
            if not options:
                fail("%s cannot compile %s:\n%s" % (compiler, probe, built.stderr))
            continue
        run = ctx.execute(["./constants_probe"])
        if run.return_code == 0:
            return options
        said = run.stdout
    fail(("%s changes constants for this CPU, and no option known here prevents it:\n%s" +
          "Install another compiler and name it: CC=clang bazel build ...") % (compiler, said))

def _impl(ctx):
    cc_autoconf_impl(ctx)
    compiler = ctx.os.environ.get("CC") or "gcc"
    remedy = _remedy(ctx, ctx.which(compiler) or compiler)
    if remedy:
        build = ctx.read("BUILD")
        flags = "    compile_flags = ["
        if flags not in build:
            fail("Bazel's toolchain has no compile_flags; its version is not the one in .bazelversion")
        ctx.file("BUILD", build.replace(flags, flags + "".join(['"%s",\n    ' % option for option in remedy])))
    ctx.file("compiler.txt", "%s %s\n" % (compiler, " ".join(remedy)))

probed_toolchain = repository_rule(
    implementation = _impl,
    configure = True,
    environ = ["BAZEL_CXXOPTS", "BAZEL_LINKOPTS", "BAZEL_LINKLIBS", "CC"],
)
