"""@doppio_cc: the C++ toolchain that Bazel finds by itself, with the options that this compiler needs.

GCC 12.2, the compiler of Debian 12, changes constants when it generates code for AVX-512 (see constants_probe.cc).
The rule compiles and runs the probe with the options of a build for this machine. If the probe finds changed constants,
every file is compiled with the first set of options below that prevents them. Files for other CPUs (the levels of a
bundle) get the same options, so a machine without AVX-512 must find the defect as well: there the probe is compiled for
AVX2 with AVX-512's way of copying blocks.
"""

load("@bazel_tools//tools/cpp:cc_configure.bzl", "cc_autoconf_impl")

_BUILD_OPTIONS = ["-std=c++17", "-O3", "-march=native"]

_AS_FOR_AVX512 = ["-std=c++17", "-O3", "-march=x86-64-v3", "-mmove-max=256", "-mstore-max=256"]

_REMEDIES = [
    [],
    # Prevents copies of a block as one integer of more than 128 bits.
    ["-mmove-max=128", "-mstore-max=128"],
    ["-mmove-max=128", "-mstore-max=128", "-fno-tree-slp-vectorize"],
]

def _probe(ctx, compiler, options):
    """Runs the probe. Returns return_code and stdout; -1 and the compiler's messages if it does not compile."""
    built = ctx.execute([compiler] + options + [
        ctx.path(Label("//tools/bazel:constants_probe.cc")),
        "-o",
        "constants_probe",
        "-lstdc++",
    ])
    if built.return_code != 0:
        return struct(return_code = -1, stdout = built.stderr)
    return ctx.execute(["./constants_probe"])

def _remedy(ctx, compiler):
    """Returns the first of _REMEDIES under which the probe finds no changed constant."""
    said = ""
    for options in _REMEDIES:
        here = _probe(ctx, compiler, _BUILD_OPTIONS + options)
        if here.return_code == -1 and not options:
            fail("%s cannot compile tools/bazel/constants_probe.cc:\n%s" % (compiler, here.stdout))

        # Other compilers do not know the options of _AS_FOR_AVX512, and other CPUs cannot run the result.
        elsewhere = not options and _probe(ctx, compiler, _AS_FOR_AVX512).return_code == 1
        if here.return_code == 0 and not elsewhere:
            return options
        if here.return_code > 0:
            said = here.stdout
    fail(("%s changes constants for this CPU, and no known option prevents it:\n%s" +
          "Install another compiler and name it: CC=clang bazel build ...") % (compiler, said))

def _impl(ctx):
    cc_autoconf_impl(ctx)
    compiler = ctx.os.environ.get("CC") or "gcc"
    remedy = _remedy(ctx, ctx.which(compiler) or compiler)
    if "clang" in compiler:
        # .bazelrc switches off warnings of GCC, and each loop that `omp simd` does not vectorize is a warning.
        remedy = remedy + ["-Wno-unknown-warning-option", "-Wno-pass-failed"]
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
