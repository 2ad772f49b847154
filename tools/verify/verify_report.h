// The result of `verify` as JSON, text and a page.
#ifndef DOPPIO_TOOLS_VERIFY_VERIFY_REPORT_H_
#define DOPPIO_TOOLS_VERIFY_VERIFY_REPORT_H_

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tools/verify/comparison.h"
#include "tools/verify/weight_differences.h"

namespace doppio {

// One witness compared with the reference, and what has been found out about the difference.
struct VerifiedWitness {
  std::string name, reference;             // "net.onnx in Doppio 0.9.0"
  const Comparison* comparison = nullptr;  // of all runs
  const Comparison* inside = nullptr;      // of the run in which the layers are compared
  std::vector<ArrayDifference> weights;
  const PointPair* first = nullptr;  // where the difference begins; null if the forms agree
  std::vector<std::string> causes;   // of this pair
};

// Returns the path, size and SHA-256 of each file of a form. Throws FileError.
nlohmann::json FilesJson(const FormFiles& files);

// Returns the result of one witness, with all outputs and layers.
nlohmann::json ToJson(const VerifiedWitness& witness, double tolerance);

// Prints the outputs, the layers that differ, the first difference and its causes. `result` is that
// of ToJson.
void PrintWitness(const nlohmann::json& result, std::ostream& out);

// Returns the page that shows the result of `verify --json`.
std::string VerifyPage(const nlohmann::json& result);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_VERIFY_VERIFY_REPORT_H_
