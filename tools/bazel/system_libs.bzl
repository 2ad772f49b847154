"""The Debian packages we build on, as @sys//:<library> and @com_google_protobuf."""

_ARCH_LIB = "/usr/lib/x86_64-linux-gnu"

def _library(header, link, static = None, pkg_config = None, include = None, optional = False, **attrs):
    """A row of the table.

    Args:
      header: looked for, so that a missing package is named before anything compiles.
      link: linker flags. One of Debian's shared libraries unless it has no shared one.
      static: linker flags under --config=portable; `-l:libx.a` needs no order and no
        -Bstatic brackets, which Bazel would shuffle. None: no archive, link as usual.
      pkg_config: module whose include folder holds the header.
      include: that folder, where there is no such module. Neither: /usr/include.
      optional: only a test uses it, shared. Where it is missing, and with --config=portable, there is no such library.
      **attrs: handed to cc_library.
    """
    return struct(
        header = header,
        link = link,
        static = static,
        pkg_config = pkg_config,
        include = include,
        optional = optional,
        attrs = attrs,
    )

_LIBRARIES = {
    "benchmark": _library(
        "benchmark/benchmark.h",
        ["-lbenchmark_main", "-lbenchmark", "-lpthread"],
    ),
    "gflags": _library("gflags/gflags.h", ["-lgflags"], ["-l:libgflags.a"]),
    # libunwind.a is not position independent.
    "glog": _library("glog/logging.h", ["-lglog"], ["-l:libglog.a", "-lunwind", "-l:libgflags.a"]),
    "gmock": _library("gmock/gmock.h", ["-lgmock", "-lgtest", "-lpthread"]),
    "gtest": _library("gtest/gtest.h", ["-lgtest", "-lpthread"]),
    "gtest_main": _library("gtest/gtest.h", ["-lgtest_main", "-lgtest", "-lpthread"]),
    "hdf5": _library(
        "hdf5.h",
        ["-lhdf5_serial"],
        ["-l:libhdf5_serial.a", "-l:libsz.a", "-l:libaec.a", "-l:libz.a"],
        pkg_config = "hdf5-serial",
        include = "/usr/include/hdf5/serial",
    ),
    "jpeg": _library("jpeglib.h", ["-ljpeg"], ["-l:libjpeg.a"]),
    "json": _library("nlohmann/json.hpp", []),
    "leveldb": _library("leveldb/db.h", ["-lleveldb"], ["-l:libleveldb.a", "-l:libsnappy.a"]),
    "lmdb": _library("lmdb.h", ["-llmdb"], ["-l:liblmdb.a"]),
    "onednn": _library("dnnl.hpp", ["-ldnnl"]),
    "openblas": _library(
        "cblas.h",
        ["-lopenblas"],
        [
            "-L%s/openblas-pthread" % _ARCH_LIB,
            "-l:libopenblas.a",
            "-l:libgfortran.a",
            "-l:libquadmath.a",
            "-lm",
        ],
        pkg_config = "openblas",
    ),
    # core and imgproc only: imgcodecs drags GDAL and 130 more libraries in.
    "opencv": _library(
        "opencv2/core.hpp",
        ["-lopencv_imgproc", "-lopencv_core"],
        ["-l:libopencv_imgproc.a", "-l:libopencv_core.a", "-ltbb", "-l:libz.a"],
        include = "/usr/include/opencv4",
    ),
    "opencv_dnn": _library(
        "opencv2/dnn.hpp",
        ["-lopencv_dnn", "-lopencv_core"],
        include = "/usr/include/opencv4",
        optional = True,
    ),
    "png": _library("png.h", ["-lpng", "-lz"], ["-l:libpng.a", "-l:libz.a", "-lm"]),
    "zlib": _library("zlib.h", ["-lz"], ["-l:libz.a"]),
}

# Where Python's headers are; it asks the system's interpreter, whose packages (NumPy) there are.
_PYTHON = "/usr/bin/python3"
_PYTHON_SAYS = "import sysconfig; print(sysconfig.get_path('include')); print(sysconfig.get_config_var('LDVERSION'))"

# Headers here are found without a flag.
_SEARCHED = ["/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/local/include"]

_GLX_STUB = """// The static opencv_core names this for its OpenGL interoperation, which nobody calls.
extern "C" void* glXGetProcAddressARB(const unsigned char*) { return nullptr; }
"""

def _is_static(ctx):
    return ctx.os.environ.get("DOPPIO_LINK") == "static"

def _include_folder(ctx, name, library):
    folders = []
    if library.pkg_config:
        result = ctx.execute(["pkg-config", "--cflags-only-I", library.pkg_config])
        if result.return_code == 0:
            folders += [f[2:] for f in result.stdout.strip().split(" ") if f.startswith("-I")]
    if library.include:
        folders.append(library.include)
    for folder in folders + _SEARCHED:
        if ctx.path(folder + "/" + library.header).exists:
            return folder
    if library.optional:
        return None
    fail("%s is not installed (no %s); run tools/setup" % (name, library.header))

def _add_python(ctx, rules):
    """Adds :python, for modules, and :python_library, for programs; says whether there is what they need."""
    if _is_static(ctx) or not ctx.path(_PYTHON).exists or not ctx.path("/usr/include/pybind11/pybind11.h").exists:
        return False
    result = ctx.execute([_PYTHON, "-c", _PYTHON_SAYS + "; import numpy"])
    if result.return_code != 0:
        return False
    include, version = result.stdout.strip().split("\n")
    if not ctx.path(include + "/Python.h").exists:
        return False
    ctx.symlink(include, "include/python")
    rules.append(
        'cc_library(name = "python", includes = ["include/python"], hdrs = glob(["include/python/**/*.h"]))',
    )
    rules.append('cc_library(name = "python_library", linkopts = ["-lpython%s"])' % version)
    return True

def _libs_impl(ctx):
    static = _is_static(ctx)
    rules = ['package(default_visibility = ["//visibility:public"])']
    have = []
    for name, library in _LIBRARIES.items():
        attrs = dict(library.attrs)
        attrs["name"] = name
        attrs["linkopts"] = library.link
        if static and library.static:
            attrs["linkopts"] = library.static + ["-lpthread", "-ldl"]
        folder = _include_folder(ctx, name, library)
        if not folder or (static and library.optional):
            continue
        have.append(name)
        globbed = ""
        if folder not in _SEARCHED:
            # Seen through a link inside this repository, the headers pass Bazel's
            # check that inputs lie below the execution root.
            ctx.symlink(folder, "include/" + name)
            attrs["includes"] = ["include/" + name]
            patterns = ["include/%s/**/*.%s" % (name, suffix) for suffix in ["h", "hpp"]]
            globbed = ", hdrs = glob(%r)" % patterns
        if static and name == "opencv":
            attrs["deps"] = [":glx_stub"]
        rules.append("cc_library(%s%s)" % (
            ", ".join(["%s = %r" % (key, attrs[key]) for key in sorted(attrs)]),
            globbed,
        ))
    if static:
        ctx.file("glx_stub.cc", _GLX_STUB)
        rules.append('cc_library(name = "glx_stub", srcs = ["glx_stub.cc"], alwayslink = True)')
    have_python = _add_python(ctx, rules)
    ctx.file("BUILD", "\n".join(rules) + "\n")

    # A bundle cannot carry Python, which belongs to the machine it runs on.
    ctx.file("defs.bzl", "HAVE_PYTHON = %r\nHAVE_OPENCV_DNN = %r\n" % (
        have_python,
        "opencv_dnn" in have,
    ))

system_libs = repository_rule(
    implementation = _libs_impl,
    local = True,
    configure = True,
    environ = ["DOPPIO_LINK", "PATH", "PKG_CONFIG_PATH"],
)

def _protobuf_impl(ctx):
    protoc = ctx.which("protoc")
    if not protoc:
        fail("protoc is not installed; run tools/setup")
    ctx.symlink(protoc, "protoc")
    link = ["-l:libprotobuf.a", "-l:libz.a"] if _is_static(ctx) else ["-lprotobuf"]
    ctx.file("BUILD", """package(default_visibility = ["//visibility:public"])
exports_files(["protoc"])
cc_library(name = "protobuf", linkopts = {link})
proto_lang_toolchain(
    name = "cc_toolchain",
    command_line = "--cpp_out=$(OUT)",
    runtime = ":protobuf",
)
""".format(link = link + ["-lpthread"]))

# The name and its two labels (protoc, cc_toolchain) are what Bazel's native
# proto_library and cc_proto_library look for.
system_protobuf = repository_rule(
    implementation = _protobuf_impl,
    local = True,
    configure = True,
    environ = ["DOPPIO_LINK", "PATH"],
)
