// Suggests an existing file for a path that does not exist.
#ifndef DOPPIO_CORE_BASE_TEXT_NEAREST_PATH_H_
#define DOPPIO_CORE_BASE_TEXT_NEAREST_PATH_H_

#include <string>

namespace doppio {

// Returns an existing path that differs from `path` in one component: by a missing or additional
// extension (".prototxt", ".h5"), or by at most as many edits of its stem, or of its extension, as
// Nearest() allows. Returns "" if there is none.
std::string NearestPath(const std::string& path);

// Returns "; did you mean 'lenet_solver.prototxt'?", or "" if no path is close enough.
std::string DidYouMeanPath(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_TEXT_NEAREST_PATH_H_
