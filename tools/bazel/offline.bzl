"""Empty stand-ins for the repositories that Bazel 4.2.3 would download.

Bazel's own BUILD files load rules_cc, rules_java and rules_proto; in this version
their rules are still built in, so a stand-in only passes the native ones on.
"""

_RULES = {
    "cc": [
        "cc_binary",
        "cc_import",
        "cc_library",
        "cc_proto_library",
        "cc_test",
        "cc_toolchain",
        "cc_toolchain_suite",
        "objc_library",
    ],
    "java": [
        "java_binary",
        "java_import",
        "java_library",
        "java_proto_library",
        "java_runtime",
        "java_test",
        "java_toolchain",
    ],
    "proto": ["proto_lang_toolchain", "proto_library"],
}

def _rules_impl(ctx):
    language = ctx.attr.language
    ctx.file("BUILD")
    ctx.file(language + "/BUILD")
    ctx.file(
        language + "/defs.bzl",
        "".join(["%s = native.%s\n" % (rule, rule) for rule in _RULES[language]]),
    )

_native_rules = repository_rule(
    implementation = _rules_impl,
    attrs = {"language": attr.string(values = _RULES.keys())},
)

def _coverage_impl(ctx):
    # Every cc_test depends on these two, but runs them only under `bazel coverage`.
    ctx.file(
        "none.sh",
        "#!/bin/sh\n" +
        "echo 'bazel coverage needs a download; use --copt=--coverage --linkopt=--coverage' >&2\n" +
        "exit 1\n",
        executable = True,
    )
    ctx.file("BUILD", "".join([
        'sh_binary(name = "%s", srcs = ["none.sh"], visibility = ["//visibility:public"])\n' % name
        for name in ["coverage_report_generator", "lcov_merger"]
    ]))

_no_coverage = repository_rule(implementation = _coverage_impl)

def offline_rules():
    for language in _RULES:
        _native_rules(name = "rules_" + language, language = language)
    _no_coverage(name = "remote_coverage_tools")
