// The fast kernels give the numbers of the reference kernels in single and in double precision.
#include "tests/random/relation.h"

namespace doppio {
namespace {

std::string CheckFastIsReference(const RandomCase& random_case, Draw*, const std::string& folder) {
  Way fast;
  fast.folder = folder;
  const Outcome outcome = Run(random_case, fast);
  Way reference = fast;
  reference.engine = "reference";
  const std::string single =
      Compared(random_case, outcome, Run(random_case, reference), kRounding, folder);
  if (!single.empty()) return "single precision: " + single;
  reference.dtype = DType::kFloat64;
  const std::string twice =
      Compared(random_case, outcome, Run(random_case, reference), kRounding, folder);
  return twice.empty() ? "" : "double precision: " + twice;
}

DOPPIO_REGISTER(Relations, "fast_is_reference", {&CheckFastIsReference, &Always});

}  // namespace
}  // namespace doppio
