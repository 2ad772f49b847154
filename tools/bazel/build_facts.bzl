"""@build_facts: facts for `doppio version` that the compiler does not know."""

def _module_version(ctx, module):
    result = ctx.execute(["pkg-config", "--modversion", module])
    return result.stdout.strip() if result.return_code == 0 else ""

def _impl(ctx):
    ctx.file("build_facts.h", """// Libraries whose headers name no version.
#define DOPPIO_GLOG_VERSION "{glog}"
#define DOPPIO_GFLAGS_VERSION "{gflags}"
#define DOPPIO_LIBRARIES_INSIDE {inside}
""".format(
        glog = _module_version(ctx, "libglog"),
        gflags = _module_version(ctx, "gflags"),
        inside = "true" if ctx.os.environ.get("DOPPIO_LINK") == "static" else "false",
    ))
    ctx.file("BUILD", """cc_library(
    name = "build_facts",
    hdrs = ["build_facts.h"],
    includes = ["."],
    visibility = ["//visibility:public"],
)
""")

build_facts = repository_rule(
    implementation = _impl,
    local = True,
    configure = True,
    environ = ["DOPPIO_LINK", "PATH", "PKG_CONFIG_PATH"],
)
