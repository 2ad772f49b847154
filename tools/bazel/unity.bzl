"""Compiles a library's sources several at a time (unity builds), which halves the time to compile them.

A compiler spends most of its time on headers, and files of one folder include the same ones. Files that are compiled
together share their anonymous namespaces, so only one of them may define a name there.

`--config=each` compiles every file by itself: a change then recompiles only one file, and missing includes show.
Compiler messages name the right file and line in both cases.
"""

_JOIN = "for file in $(SRCS); do echo '#line 1 \"'$$file'\"'; cat $$file; done >$@"

def together(name, srcs, files_together):
    """Returns what to compile in place of `srcs`: a select of either `srcs` or files that join several of them.

    Args:
      name: of the library; the joined files are named after it.
      srcs: sources, headers and labels. Only .cc files of this folder are joined.
      files_together: the most sources in one joined file.
    """
    files = [f for f in srcs if f.endswith(".cc") and not f.startswith(":") and not f.startswith("//")]
    if len(files) < 2 or files_together < 2:
        return srcs
    parts = (len(files) + files_together - 1) // files_together
    joined = []
    for part in range(parts):
        out = "%s_joined_%d.cc" % (name, part + 1)
        native.genrule(
            name = out[:-3],
            srcs = files[len(files) * part // parts:len(files) * (part + 1) // parts],
            outs = [out],
            cmd = _JOIN,
        )
        joined.append(out)
    rest = [f for f in srcs if f not in files]
    return select({
        "//tools/bazel:each_file": srcs,
        "//conditions:default": joined + rest,
    })
