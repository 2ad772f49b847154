#include "python/interpreter.h"

#include <pybind11/embed.h>
#include <sys/auxv.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/error.h"

extern "C" PyObject* PyInit__doppio();

namespace doppio {
namespace fs = std::filesystem;
namespace {

constexpr const char* kModule = "_doppio";
constexpr const char* kDebianPython = "/usr/bin/python3";

// Returns the path of the interpreter whose packages this program uses: the active virtual
// environment's, or else the system's, because this program links the system's Python library. PATH
// does not matter.
std::string InterpreterPath() {
  const char* environment = std::getenv("VIRTUAL_ENV");
  return environment != nullptr ? std::string(environment) + "/bin/python3" : kDebianPython;
}

// Folders that may contain the package `doppio`: next to the program's path as it was called, and
// in the program's Bazel runfiles.
std::vector<std::string> PackageFolders() {
  std::vector<std::string> folders;
  const auto* called = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (called != nullptr) folders.push_back(fs::path(called).replace_filename("../python"));
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) folders.push_back(program.string() + ".runfiles/doppio/python");
  return folders;
}

void Must(const PyStatus& status) {
  if (!PyStatus_Exception(status)) return;
  throw DeviceError("Python cannot be started: ",
                    status.err_msg != nullptr ? status.err_msg : "no reason given");
}

void Start() {
  PyImport_AppendInittab(kModule, &PyInit__doppio);
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.parse_argv = 0;
  config.install_signal_handlers = 0;  // the program handles signals itself
  config.buffered_stdio = 0;  // the interpreter is never finalised, so buffers would not be flushed
  Must(PyConfig_SetBytesString(&config, &config.program_name, InterpreterPath().c_str()));
  const PyStatus status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  Must(status);
  auto path = pybind11::module_::import("sys").attr("path").cast<pybind11::list>();
  path.insert(0, "");
  for (const std::string& folder : PackageFolders()) path.append(folder);
  // Import the module before other threads start: pybind11 initialises the state shared by all
  // modules on first use, without a lock.
  pybind11::module_::import(kModule);
}

}  // namespace

void StartPython() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (Py_IsInitialized() != 0) return;
    Start();
    PyEval_SaveThread();
  });
}

}  // namespace doppio
