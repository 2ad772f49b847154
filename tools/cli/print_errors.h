// Prints errors for the user: the place, the message, the source line and a mark under the column.
//
//   net.prototxt:7:5: error: unknown field 'kernal_size' in ConvolutionParameter; did you mean
//   'kernel_size'?
//       7 |     kernal_size: 5
//         |     ^~~~~~~~~~~
#ifndef DOPPIO_TOOLS_CLI_PRINT_ERRORS_H_
#define DOPPIO_TOOLS_CLI_PRINT_ERRORS_H_

#include <ostream>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace doppio {

// Prints one finding. `kind` is "error" or "warning".
void PrintFinding(const SourceLoc& at, const std::string& kind, const std::string& message,
                  std::ostream& out);

// Prints the first 100 of `errors`, but at most 20 of each kind in each file, and the numbers of
// those left out. Errors are of one kind if their messages differ only in quoted names, numbers and
// suggestions.
void PrintErrors(const std::vector<Error>& errors, std::ostream& out);

// Returns the individual errors of an ErrorList, or `error` itself if it is a single one.
std::vector<Error> Mistakes(const Error& error);

// Returns a count such as "3 errors in net.prototxt", "1 error" or "4 errors in 2 files".
std::string CountErrors(const std::vector<Error>& errors);

// Prints the message for an error that ended the program. For errors in files, a last line gives
// their number and, if `began` is false, says that nothing was run.
void PrintFailure(const Error& error, bool began, std::ostream& out);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_PRINT_ERRORS_H_
