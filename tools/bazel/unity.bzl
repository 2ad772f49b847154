"""Compiles a library's sources several at a time, which costs half of what compiling each does.

Most of what a compiler reads and instantiates for a source file comes from headers, and files of one folder
include the same ones. Files that are compiled together share a name space: a name in an anonymous namespace
may stand in one of them only.

`--config=each` compiles every file by itself: a change then compiles one file, and what a file forgets to include
shows. In the other case a message still names the file and line that it is about.
"""

_JOIN = "for file in $(SRCS); do echo '#line 1 \"'$$file'\"'; cat $$file; done >$@"

def together(name, srcs, files_together):
    """Returns what to compile in place of `srcs`: a select of either them or files that join them.

    Args:
      name: of the library; the joined files are named after it.
      srcs: sources, headers and labels. Only .cc files of this folder are joined.
      files_together: at most as many.
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
