#include "python/errors.h"

#include <map>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace doppio {
namespace py = pybind11;
namespace {

struct Kind {
  ExitCode code;
  const char* name;
};
constexpr Kind kKinds[] = {
    {ExitCode::kUsage, "UsageError"},      {ExitCode::kConfig, "ConfigError"},
    {ExitCode::kFile, "FileError"},        {ExitCode::kDevice, "DeviceError"},
    {ExitCode::kMemory, "MemoryShortage"}, {ExitCode::kPeer, "PeerError"},
};

// Exception classes by exit code. Never destroyed, because modules are never unloaded.
std::map<ExitCode, py::object>& Classes() {
  static auto* classes = new std::map<ExitCode, py::object>;
  return *classes;
}

py::object NewClass(const std::string& name, const py::object& base, ExitCode code) {
  py::object made = py::reinterpret_steal<py::object>(
      PyErr_NewException(("doppio." + name).c_str(), base.ptr(), nullptr));
  if (!made) throw py::error_already_set();
  made.attr("code") = static_cast<int>(code);
  return made;
}

// Advice that names options of a command, and the advice for scripts instead.
constexpr std::pair<const char*, const char*> kAdvice[] = {
    {"omit --gpu to use the CPU", "call set_mode_cpu() to use the CPU"},
    {"--synthetic generates random samples", "call set_input_arrays() of the net"},
    {"--weights or --snapshot", "copy_from() of a net"},
    {"--snapshot or --resume", "restore() of a solver"},
    {"--weights=", "copy_from() of "},
    {"--weights", "copy_from()"},
    {"a smaller --batch", "a smaller batch_size"},
    {"--batch=", "a batch_size of "},
};

std::string ForScripts(std::string text) {
  for (const auto& [of_command, of_script] : kAdvice) {
    const size_t size = std::string(of_command).size();
    for (size_t at; (at = text.find(of_command)) != std::string::npos;) {
      text.replace(at, size, of_script);
    }
  }
  return text;
}

void Raise(const Error& error) {
  const auto known = Classes().find(error.code());
  const py::object& type = known == Classes().end() ? Classes().at(ExitCode::kBug) : known->second;
  py::object raised = type(ForScripts(error.what()));
  raised.attr("code") = static_cast<int>(error.code());
  if (error.at().known()) {
    raised.attr("file") = error.at().file;
    raised.attr("line") = error.at().line;
    raised.attr("column") = error.at().column;
  }
  PyErr_SetObject(type.ptr(), raised.ptr());
}

}  // namespace

void AddErrors(py::module_* module) {
  const py::object runtime_error = py::reinterpret_borrow<py::object>(PyExc_RuntimeError);
  const py::object base = NewClass("Error", runtime_error, ExitCode::kBug);
  Classes()[ExitCode::kBug] = base;
  module->attr("Error") = base;
  for (const Kind& kind : kKinds) {
    Classes()[kind.code] = NewClass(kind.name, base, kind.code);
    module->attr(kind.name) = Classes()[kind.code];
  }
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      Raise(error);
    }
  });
}

}  // namespace doppio
