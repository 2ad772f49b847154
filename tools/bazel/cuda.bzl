"""cuda_library: .cu files compiled by nvcc and linked like any cc_library."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@local_config_cuda//:defs.bzl", "CUDA_ARCHS", "HAVE_CUDA", "IS_DOUBLE", "NVCC")
load("@sys//:defs.bzl", "IS_PORTABLE")

_HEADERS = [".cuh", ".h"]

def _gencode():
    flags = ["-gencode=arch=compute_%s,code=sm_%s" % (a, a) for a in CUDA_ARCHS]
    newest = CUDA_ARCHS[-1]
    return flags + ["-gencode=arch=compute_%s,code=compute_%s" % (newest, newest)]

def _flags(ctx):
    """Returns nvcc's options for --compilation_mode, --copt and --cxxopt."""
    mode = {"dbg": ["-O0", "-g"], "fastbuild": ["-O2"], "opt": ["-O3", "-DNDEBUG"]}
    flags = mode[ctx.var["COMPILATION_MODE"]]
    host = ["-fPIC"]
    for flag in ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts:
        if flag.startswith("-std="):
            flags.append(flag)
        elif flag.startswith("-fsanitize") or flag.startswith("-fno-sanitize") or flag in ["-Wall", "-Werror", "-fopenmp"]:
            # The rest is left out: -Wextra complains about nvcc's own output, and host
            # code in .cu files only launches kernels, whatever -march says.
            host.append(flag)
    return flags + ["-Xcompiler=" + ",".join(host)]

def _compile(ctx, source, compilation, host_compiler):
    """Registers the compilation of one .cu file, and returns its object and its PTX."""
    place = "_objs/%s/%s" % (ctx.label.name, source.basename[:-3])
    object, inputs, read, unused, ptx = [
        ctx.actions.declare_file(place + suffix)
        for suffix in [".o", ".inputs", ".d", ".unused", ".ptx"]
    ]
    headers = depset([f for f in ctx.files.srcs if f.extension != "cu"], transitive = [compilation.headers])
    ctx.actions.write(inputs, ctx.actions.args().add_all(headers).set_param_file_format("multiline"))
    args = ctx.actions.args()
    args.add_all([inputs, read, unused, ptx, NVCC, "-c", source, "-o", object, "-ccbin", host_compiler])
    args.add_all(_flags(ctx) + _gencode() + ctx.attr.copts)
    args.add_all(["--threads=0", "--expt-relaxed-constexpr", "--expt-extended-lambda"])

    # Symbol names contain a hash of this path; by default it is the sandbox's, which differs in each build.
    args.add_all(["-Xcudafe", "--orig_src_path_name=" + source.path, "-frandom-seed=" + source.path])
    args.add_all(compilation.defines, before_each = "-D")
    args.add_all(compilation.quote_includes, before_each = "-I")
    args.add_all(compilation.includes, before_each = "-I")
    args.add_all(compilation.system_includes, before_each = "-isystem")
    ctx.actions.run(
        executable = ctx.executable._compile,
        arguments = [args],
        inputs = depset([source, inputs, ctx.file._version], transitive = [headers]),
        outputs = [object, read, unused, ptx],
        unused_inputs_list = unused,
        env = {"PATH": "/usr/bin:/bin"},
        mnemonic = "CudaCompile",
        progress_message = "Compiling %s with nvcc" % source.short_path,
    )
    return object, ptx

def _headers_and_deps(ctx):
    """Returns the CcInfo of `hdrs` and all that `deps` give."""
    return cc_common.merge_cc_infos(
        direct_cc_infos = [CcInfo(compilation_context = cc_common.create_compilation_context(
            headers = depset(ctx.files.hdrs),
        ))],
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    )

def _impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    merged = _headers_and_deps(ctx)
    compilation = merged.compilation_context

    objects, assembly = [], []
    for source in [f for f in ctx.files.srcs if f.extension == "cu"]:
        object, ptx = _compile(ctx, source, compilation, toolchain.compiler_executable)
        objects.append(object)
        assembly.append(ptx)

    # With --config=portable all objects are in one library (cuda_objects) that the programs share.
    linked = depset([] if IS_PORTABLE else objects)
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = cc_common.configure_features(
            ctx = ctx,
            cc_toolchain = toolchain,
            requested_features = ctx.features,
            unsupported_features = ctx.disabled_features,
        ),
        cc_toolchain = toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = linked,
            pic_objects = linked,
        ),
        linking_contexts = [dep[CcInfo].linking_context for dep in ctx.attr.deps],
        disallow_dynamic_library = True,
        alwayslink = ctx.attr.alwayslink,
    )
    return [
        DefaultInfo(files = depset(objects)),
        CcInfo(compilation_context = compilation, linking_context = linking),
        OutputGroupInfo(ptx = depset(assembly)),
    ]

_nvcc_library = rule(
    implementation = _impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"] + _HEADERS),
        "hdrs": attr.label_list(allow_files = _HEADERS),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
        "alwayslink": attr.bool(),
        "_compile": attr.label(
            default = "//tools/bazel:compile_cu.sh",
            allow_single_file = True,
            executable = True,
            cfg = "exec",
        ),
        "_version": attr.label(
            default = "@local_config_cuda//:version.txt",
            allow_single_file = True,
        ),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    fragments = ["cpp"],
)

# g++ compiles kernels as C++: every load and store calls a function of tests/double/blocks/hooks.cc.
_ON_DOUBLE = [
    "-include",
    "tests/double/blocks/cuda_language.h",
    "-O2",
    "-fsanitize=thread,alignment",
    "-Wno-unknown-pragmas",  # nvcc's
    "--param=tsan-instrument-func-entry-exit=0",
]

def _linked_impl(ctx):
    seen = _headers_and_deps(ctx)
    linked = cc_common.merge_cc_infos(cc_infos = [seen] + [library[CcInfo] for library in ctx.attr.linked])
    return [CcInfo(
        compilation_context = seen.compilation_context,
        linking_context = linked.linking_context,
    )]

linked_library = rule(
    doc = """A library that links `linked` without giving their headers.

    Whoever depends on it is compiled from the same inputs with and without the double of a GPU, so both builds share
    these objects in Bazel's disk cache.""",
    implementation = _linked_impl,
    attrs = {
        "hdrs": attr.label_list(allow_files = _HEADERS),
        "deps": attr.label_list(providers = [CcInfo]),
        "linked": attr.label_list(providers = [CcInfo]),
    },
)

def _double_library(name, srcs, hdrs, deps, copts, alwayslink, **kwargs):
    """Compiles the .cu files with the host's compiler, for the double of a GPU."""
    joined = []
    for source in [f for f in srcs if f.endswith(".cu")]:
        out = "%s_%s.cc" % (name, source[:-3])
        native.genrule(
            name = out[:-3],
            srcs = [source],
            outs = [out],
            cmd = "(echo '#line 1 \"'$<'\"'; cat $<) >$@",
        )
        joined.append(out)
    native.cc_library(
        name = name + "_kernels",
        srcs = joined + [f for f in srcs if not f.endswith(".cu")],
        hdrs = hdrs,
        copts = copts + _ON_DOUBLE,
        deps = deps + ["//tests/double/blocks", "@local_config_cuda//:cudart"],
        alwayslink = alwayslink,
        **kwargs
    )
    linked_library(
        name = name,
        hdrs = hdrs,
        deps = deps + ["@local_config_cuda//:cudart"],
        linked = [name + "_kernels"],
        **kwargs
    )

def cuda_library(name, srcs = [], hdrs = [], deps = [], copts = [], alwayslink = False, **kwargs):
    """A library of .cu files. Without CUDA only its headers and dependencies remain."""
    if IS_DOUBLE:
        _double_library(name, srcs, hdrs, deps, copts, alwayslink, **kwargs)
    elif HAVE_CUDA:
        _nvcc_library(
            name = name,
            srcs = srcs,
            hdrs = hdrs,
            deps = deps + ["@local_config_cuda//:cudart"],
            copts = copts,
            alwayslink = alwayslink,
            **kwargs
        )
        native.filegroup(
            name = name + "_ptx",
            srcs = [name],
            output_group = "ptx",
            tags = ["manual"],
            visibility = ["//tests:__subpackages__"],
        )
    else:
        native.cc_library(name = name, hdrs = hdrs, deps = deps, **kwargs)

_CudaObjects = provider(fields = ["objects"])

def _collect_impl(target, ctx):
    own = target[DefaultInfo].files if ctx.rule.kind == "_nvcc_library" else depset()
    return [_CudaObjects(objects = depset(transitive = [own] + [
        dep[_CudaObjects].objects
        for dep in getattr(ctx.rule.attr, "deps", [])
        if _CudaObjects in dep
    ]))]

_collect = aspect(implementation = _collect_impl, attr_aspects = ["deps"])

def _cuda_objects_impl(ctx):
    return [DefaultInfo(files = depset(transitive = [dep[_CudaObjects].objects for dep in ctx.attr.deps]))]

cuda_objects = rule(
    doc = "The object files of all cuda_library that `deps` depend on.",
    implementation = _cuda_objects_impl,
    attrs = {"deps": attr.label_list(aspects = [_collect])},
)
