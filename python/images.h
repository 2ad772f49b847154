// Functions of the module that read images and prepare them for nets.
#ifndef DOPPIO_PYTHON_IMAGES_H_
#define DOPPIO_PYTHON_IMAGES_H_

#include <pybind11/pybind11.h>

namespace doppio {

void AddImages(pybind11::module_* module);

}  // namespace doppio

#endif  // DOPPIO_PYTHON_IMAGES_H_
