// The evaluation of a net on test data, as JSON. `test` prints it, the run folder keeps it, and the
// pages draw it (tools/web/evaluation.js). docs/evaluation.md describes its keys.
#ifndef DOPPIO_TOOLS_EVALUATION_EVALUATION_H_
#define DOPPIO_TOOLS_EVALUATION_EVALUATION_H_

#include <cstdint>
#include <nlohmann/json.hpp>

#include "solvers/scores/predictions.h"
#include "tools/evaluation/intervals.h"

namespace doppio {

// The most wrong predictions that an evaluation lists (TestRun::named_errors).
constexpr int64_t kListedErrors = 1000;

// Evaluates predictions. `seed` is that of the bootstrap. A score that the data do not determine is
// null.
nlohmann::json Evaluate(const Predictions& predictions, uint64_t seed);

// Adds the images of the wrong predictions that have one, as data URLs, for pages.
void AddThumbnails(const Predictions& predictions, nlohmann::json* evaluation);

// Returns the comparison with `baseline`, files of weights.
nlohmann::json ToJson(const PairedComparison& comparison, const std::string& baseline);

// Returns "3 cat", or "3" if the evaluation has no names. `label` is a class of the evaluation.
std::string ClassText(const nlohmann::json& evaluation, int64_t label);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EVALUATION_EVALUATION_H_
