// Counts of random cases as JSON. Counts of several runs add up, object by object:
//
//   {"seeds": 2, "types": {"Pooling": 1}, "relations": {"resume": {"seeds": 2, "found": 0}}, ...}
#ifndef DOPPIO_TESTS_RANDOM_LEDGER_H_
#define DOPPIO_TESTS_RANDOM_LEDGER_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/random/outcome.h"
#include "tests/random/random_case.h"

namespace doppio {

// Returns the counts of one seed: its layer types, fields, rule, policy and sources, pairs of them,
// its size, its layers that compute gradients, and what its runs did. Relations are not included.
nlohmann::json CountsOf(const RandomCase& random_case, const DraftRecord& record,
                        const Tally& tally);

// Returns the JSON in one line, or with `indent` spaces for each level. Bytes that are not UTF-8
// are replaced.
std::string TextOf(const nlohmann::json& value, int indent = -1);

// Adds `counts` to `*sums`.
void AddUp(const nlohmann::json& counts, nlohmann::json* sums);
// Adds `counts` to those in the file, if there is one. Throws FileError.
void AddToFile(const nlohmann::json& counts, const std::string& path);

// Returns the histograms, the refusals and the relations as text for people. `seconds` are those of
// each seed.
std::string SummaryOf(const nlohmann::json& sums, std::vector<double> seconds);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_LEDGER_H_
