// How mistakes look to the user: the place, the text, the source line and a mark under the column.
//
//   net.prototxt:7:5: error: unknown field 'kernal_size' in ConvolutionParameter; did you mean
//   'kernel_size'?
//       7 |     kernal_size: 5
//         |     ^~~~~~~~~~~
#ifndef DOPPIO_TOOLS_CLI_REPORT_H_
#define DOPPIO_TOOLS_CLI_REPORT_H_

#include <ostream>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace doppio {

// One finding; `kind` is "error" or "warning".
void PrintFinding(const SourceLoc& at, const std::string& kind, const std::string& message,
                  std::ostream& out);

// The first 100 of `errors`, and how many more there are.
void PrintErrors(const std::vector<Error>& errors, std::ostream& out);

// The mistakes of a failure one by one.
std::vector<Error> Mistakes(const Error& error);

// "3 errors in net.prototxt", "1 error", "4 errors in 2 files".
std::string CountErrors(const std::vector<Error>& errors);

// What main prints for a failure. Mistakes in files get a closing line with their number, which
// also says that nothing was run if the work has not begun.
void PrintFailure(const Error& error, bool began, std::ostream& out);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_REPORT_H_
