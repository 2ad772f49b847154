#include "python/command.h"

#include <pybind11/stl.h>

#include "tools/commands/doppio_main.h"

namespace doppio {
namespace py = pybind11;

void AddCommand(py::module_* module) {
  module->def("main", &DoppioMain, py::arg("arguments"), py::arg("path"),
              py::call_guard<py::gil_scoped_release>());
}

}  // namespace doppio
