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
      optional: True for shared libraries that only tests use; left out if missing and with --config=portable.
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
    "expat": _library("expat.h", ["-lexpat"], ["-l:libexpat.a"]),
    # The archives of gflags, glog and protobuf cannot be linked into a shared library.
    "gflags": _library("gflags/gflags.h", ["-lgflags"]),
    "gif": _library("gif_lib.h", ["-lgif"], ["-l:libgif.a"]),
    "glog": _library("glog/logging.h", ["-lglog"]),
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
    # Only core and imgproc: imgcodecs would pull in GDAL and 130 more libraries.
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
    # Without LERC, LZMA, Zstandard and JBIG, whose archive is under the GPL: see _UNUSED_NAMES.
    "tiff": _library(
        "tiffio.h",
        ["-ltiff"],
        ["-l:libtiff.a", "-l:libwebp.a", "-l:libsharpyuv.a", "-l:libjpeg.a", "-l:libdeflate.a", "-l:libz.a", "-lm"],
    ),
    "webp": _library("webp/decode.h", ["-lwebp"], ["-l:libwebp.a", "-l:libsharpyuv.a", "-lm"]),
    "zlib": _library("zlib.h", ["-lz"], ["-l:libz.a"]),
}

# Debian 12 has it inside libwebp.a.
_OPTIONAL_ARCHIVES = ["libsharpyuv.a"]

# Prints where the headers of the system's interpreter are; fails if it lacks NumPy, which the module needs.
_PYTHON = "/usr/bin/python3"
_PYTHON_SAYS = "import numpy, sysconfig; print(sysconfig.get_path('include')); print(sysconfig.get_config_var('LDVERSION'))"

# Folders in which compilers find headers without a flag.
_SEARCHED = ["/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/local/include"]

# OpenBLAS would make up most of a static program, for one function. So all portable programs share it as a library.
_BLAS = """
cc_binary(
    name = "libdoppio_blas.so",
    linkshared = True,
    additional_linker_inputs = ["blas_exports.lds"],
    linkopts = %r,
)
cc_library(
    name = "openblas",
    srcs = [":libdoppio_blas.so"],
)
"""
_BLAS_FUNCTIONS = ["cblas_dgemm", "openblas_get_config", "openblas_set_num_threads"]

_CONDITION_WAIT = """// g++ 12 takes this function from GLIBCXX_3.4.30. With this definition 3.4.29, from glibc 2.34's time, suffices.
#include <pthread.h>

#include <condition_variable>
#include <mutex>

void std::condition_variable::wait(std::unique_lock<std::mutex>& lock) {
  pthread_cond_wait(native_handle(), lock.mutex()->native_handle());
}
"""

# Functions that archives refer to but Doppio never calls: for OpenGL and matrix decompositions in opencv_core, and for
# compressions in libtiff that data/decode refuses.
_UNUSED_NAMES = ["glXGetProcAddressARB", "cblas_sgemm", "cblas_cgemm", "cblas_zgemm"] + [
    precision + function + "_"
    for precision in ["s", "d"]
    for function in ["gels", "geqrf", "gesdd", "gesv", "getrf", "posv", "potrf"]
] + ["lerc_decode", "lerc_encodeForVersion", "lerc_getBlobInfo", "jbg_newlen", "jbg_strerror"] + [
    "jbg_dec_" + function
    for function in ["free", "getimage", "getsize", "in", "init"]
] + ["jbg_enc_" + function for function in ["free", "init", "out"]] + [
    "lzma_" + function
    for function in ["code", "end", "lzma_preset", "memusage", "stream_decoder", "stream_encoder"]
] + [
    "ZSTD_" + function
    for function in ["compress", "compressBound", "decompress", "getErrorName", "isError", "maxCLevel"]
] + [
    "ZSTD_" + function
    for function in ["compressStream", "createCStream", "endStream", "freeCStream", "initCStream"] +
                    ["decompressStream", "createDStream", "freeDStream", "initDStream"]
]

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
    """Adds :python for modules and :python_library for programs. Returns two values: whether each of them exists."""
    given = ctx.os.environ.get("DOPPIO_PYTHON_HEADERS")
    if given:
        # tools/wheel names the headers of an interpreter and of pybind11. The wheel's machine has the interpreter's library.
        folders = given.split(":")
        for i, folder in enumerate(folders):
            ctx.symlink(folder, "include/python%d" % i)
        includes = ["include/python%d" % i for i in range(len(folders))]
        rules.append("cc_library(name = 'python', includes = %r, hdrs = glob(%r))" % (
            includes,
            [folder + "/**/*.h" for folder in includes],
        ))
        return True, False
    if _is_static(ctx) or not ctx.path(_PYTHON).exists or not ctx.path("/usr/include/pybind11/pybind11.h").exists:
        return False, False
    result = ctx.execute([_PYTHON, "-c", _PYTHON_SAYS])
    if result.return_code != 0:
        return False, False
    include, version = result.stdout.strip().split("\n")
    if not ctx.path(include + "/Python.h").exists:
        return False, False
    ctx.symlink(include, "include/python")
    rules.append(
        'cc_library(name = "python", includes = ["include/python"], hdrs = glob(["include/python/**/*.h"]))',
    )
    rules.append('cc_library(name = "python_library", linkopts = ["-lpython%s"])' % version)
    return True, True

def _add_static(ctx, rules):
    """Adds what --config=portable links in addition to archives."""
    # Hidden, because other shared libraries have functions of these names.
    stub = 'extern "C" __attribute__((visibility("hidden"))) void %s() { std::abort(); }'
    stubs = [stub % name for name in _UNUSED_NAMES]
    ctx.file("stubs.cc", "#include <cstdlib>\n" + "\n".join(stubs) + "\n")
    rules.append('cc_library(name = "stubs", srcs = ["stubs.cc"], alwayslink = True)')
    ctx.file("condition_wait.cc", _CONDITION_WAIT)
    rules.append('cc_library(name = "condition_wait", srcs = ["condition_wait.cc"], alwayslink = True)')
    ctx.file("blas_exports.lds", "{ global: %s; local: *; };" % "; ".join(_BLAS_FUNCTIONS))
    rules.append(_BLAS % (
        ["-Wl,-soname,libdoppio_blas.so"] + ["-Wl,-u," + name for name in _BLAS_FUNCTIONS] +
        ["-Wl,--version-script=$(location blas_exports.lds)"] + _LIBRARIES["openblas"].static + ["-lpthread"],
    ))

def _libs_impl(ctx):
    static = _is_static(ctx)
    rules = ['package(default_visibility = ["//visibility:public"])']
    have = []
    for name, library in _LIBRARIES.items():
        attrs = dict(library.attrs)
        attrs["name"] = name
        attrs["linkopts"] = library.link
        if static and library.static:
            absent = [
                "-l:" + archive
                for archive in _OPTIONAL_ARCHIVES
                if not ctx.path("%s/%s" % (_ARCH_LIB, archive)).exists
            ]
            attrs["linkopts"] = [flag for flag in library.static if flag not in absent] + ["-lpthread", "-ldl"]
        folder = _include_folder(ctx, name, library)
        if not folder or (static and library.optional):
            continue
        have.append(name)
        globbed = ""
        if folder not in _SEARCHED:
            # Bazel requires inputs below the execution root. A link inside this repository satisfies its check.
            ctx.symlink(folder, "include/" + name)
            attrs["includes"] = ["include/" + name]
            patterns = ["include/%s/**/*.%s" % (name, suffix) for suffix in ["h", "hpp"]]
            globbed = ", hdrs = glob(%r)" % patterns
        if static and name == "openblas":
            continue
        if static and name == "opencv":
            attrs["deps"] = [":stubs", ":openblas"]
        if static and name == "tiff":
            attrs["deps"] = [":stubs"]
        if static and name == "glog":
            # Every program uses glog, so this reaches all of them.
            attrs["deps"] = [":condition_wait"]
        rules.append("cc_library(%s%s)" % (
            ", ".join(["%s = %r" % (key, attrs[key]) for key in sorted(attrs)]),
            globbed,
        ))
    if static:
        _add_static(ctx, rules)
    have_python, have_python_library = _add_python(ctx, rules)
    ctx.file("BUILD", "\n".join(rules) + "\n")

    # A bundle cannot carry Python: it has to use the interpreter of the machine.
    ctx.file("defs.bzl", "IS_PORTABLE = %r\nHAVE_PYTHON = %r\nHAVE_PYTHON_LIBRARY = %r\nHAVE_OPENCV_DNN = %r\n" % (
        static,
        have_python,
        have_python_library,
        "opencv_dnn" in have,
    ))

system_libs = repository_rule(
    implementation = _libs_impl,
    local = True,
    configure = True,
    environ = ["DOPPIO_LINK", "DOPPIO_PYTHON_HEADERS", "PATH", "PKG_CONFIG_PATH"],
)

def _protobuf_impl(ctx):
    protoc = ctx.which("protoc")
    if not protoc:
        fail("protoc is not installed; run tools/setup")
    ctx.symlink(protoc, "protoc")
    ctx.file("BUILD", """package(default_visibility = ["//visibility:public"])
exports_files(["protoc"])
cc_library(name = "protobuf", linkopts = ["-lprotobuf", "-lpthread"])
proto_lang_toolchain(
    name = "cc_toolchain",
    command_line = "--cpp_out=$(OUT)",
    runtime = ":protobuf",
)
""")

# The name and its two labels (protoc, cc_toolchain) are what Bazel's native
# proto_library and cc_proto_library look for.
system_protobuf = repository_rule(
    implementation = _protobuf_impl,
    local = True,
    configure = True,
    environ = ["PATH"],
)
