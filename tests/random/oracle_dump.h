// Writes what the program computes of a random case for a comparison with the oracle, a program in
// Python that shares no code with this one (tests/random/oracle).
#ifndef DOPPIO_TESTS_RANDOM_ORACLE_DUMP_H_
#define DOPPIO_TESTS_RANDOM_ORACLE_DUMP_H_

#include <string>

#include "tests/random/random_case.h"

namespace doppio {

// Trains the case, with further losses, for up to three updates in double precision, by the
// reference kernels, and writes it with its blobs, gradients and weights to `folder`, which has the
// format of oracle/dump.py then. Returns false, without arrays in `folder`, if the program refuses
// the case or its loss becomes infinite.
bool DumpForOracle(const RandomCase& random_case, const std::string& folder);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_ORACLE_DUMP_H_
