#include "tests/double/machine/journal.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/double/machine/counters.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + '"';
}

std::string LastLine() {
  const Counters c = ReadCounters();
  std::string line = "{\"counters\": {";
  const auto add = [&](const char* name, int64_t count) {
    line += (line.back() == '{' ? "" : ", ") + Quoted(name) + ": " + std::to_string(count);
  };
  add("kernels", c.kernels);
  add("kernel_bytes", c.kernel_bytes);
  add("library_calls", c.library_calls);
  add("graph_launches", c.graph_launches);
  add("host_waits", c.host_waits);
  add("uploads", c.uploads);
  add("upload_bytes", c.upload_bytes);
  add("downloads", c.downloads);
  add("download_bytes", c.download_bytes);
  add("copies", c.copies);
  add("copy_bytes", c.copy_bytes);
  add("clearings", c.clearings);
  add("clearing_bytes", c.clearing_bytes);
  add("enqueued", c.enqueued);
  line += "}, \"kernels\": {";
  for (const auto& [name, count] : ReadKernelCounts()) {
    line += (line.back() == '{' ? "" : ", ") + Quoted(name) +
            ": {\"runs\": " + std::to_string(count.runs) +
            ", \"bytes\": " + std::to_string(count.bytes) + "}";
  }
  return line + "}}";
}

// Returns the open file, or null without the setting. The file stays open during process exit.
std::FILE* File() {
  static std::FILE* const file = [] {
    const std::string& path = TheSettings().counters;
    if (path.empty()) return static_cast<std::FILE*>(nullptr);
    std::FILE* const opened = std::fopen(path.c_str(), "w");
    if (opened == nullptr) Fault("settings", "DOPPIO_DOUBLE: cannot write counters=" + path);
    std::atexit([] {
      std::fputs((LastLine() + "\n").c_str(), File());
      std::fflush(File());
    });
    return opened;
  }();
  return file;
}

}  // namespace

void NoteCall(const std::string& kind, const std::string& what, const std::string& stream) {
  std::FILE* const file = File();
  if (file == nullptr) return;
  // stdio locks the file during the call.
  std::fputs(("{\"call\": " + Quoted(kind) + ", \"what\": " + Quoted(what) +
              ", \"stream\": " + Quoted(stream) + "}\n")
                 .c_str(),
             file);
}

const char* CallKind(const Task& task) {
  const auto counter = task.work.counter;
  if (counter == &Counters::kernels) return "kernel";
  if (counter == &Counters::library_calls) return "library";
  if (counter == &Counters::uploads) return "upload";
  if (counter == &Counters::downloads) return "download";
  if (counter == &Counters::copies) return "copy";
  if (counter == &Counters::clearings) return "clear";
  return "other";
}

std::string GraphText(const Plan& plan) {
  size_t kernels = 0;
  for (const Node& node : plan.nodes) kernels += node.task->work.counter == &Counters::kernels;
  return std::to_string(kernels) + " kernels, " + std::to_string(plan.nodes.size() - kernels) +
         " others";
}

}  // namespace doppio::gpu_double
