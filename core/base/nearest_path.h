// "Did you mean" for a path that does not exist: the file that is there and has nearly its name.
#ifndef DOPPIO_CORE_BASE_NEAREST_PATH_H_
#define DOPPIO_CORE_BASE_NEAREST_PATH_H_

#include <string>

namespace doppio {

// Returns an existing path that differs from `path` in one name: by an ending (".prototxt",
// ".h5"), or by as few edits as Nearest() allows, not counting the ending that both have. Returns
// "" if there is none.
std::string NearestPath(const std::string& path);

// "; did you mean 'lenet_solver.prototxt'?" or "".
std::string DidYouMeanPath(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_NEAREST_PATH_H_
