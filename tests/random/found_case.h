// Files of cases for which a relation did not hold:
//
//   # relation: resume
//   # draw: 17
//   # solver {            and so on, the text of the case (random_case.h)
#ifndef DOPPIO_TESTS_RANDOM_FOUND_CASE_H_
#define DOPPIO_TESTS_RANDOM_FOUND_CASE_H_

#include <cstdint>
#include <string>

#include "tests/random/random_case.h"

namespace doppio {

struct FoundCase {
  std::string relation;  // "" if the file does not name one
  uint64_t draw = 1;     // decides what the relation draws
  RandomCase random_case;
};

// Returns the text of a file. Each line of `why` becomes a comment.
std::string FoundText(const FoundCase& found, const std::string& why = "");
// Throws the mistakes in the file.
FoundCase ReadFound(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_FOUND_CASE_H_
