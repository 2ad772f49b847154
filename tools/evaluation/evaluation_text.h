// Prints an evaluation as text.
#ifndef DOPPIO_TOOLS_EVALUATION_EVALUATION_TEXT_H_
#define DOPPIO_TOOLS_EVALUATION_EVALUATION_TEXT_H_

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

namespace doppio {

// Prints the result of Evaluate, in at most about 40 lines. Up to 12 classes have their scores and
// the whole confusion matrix; of more classes, it prints those of the lowest F1 and the most
// frequent confusions.
void PrintEvaluation(const nlohmann::json& evaluation, std::ostream& out);

// Returns the main scores in one line.
std::string EvaluationLine(const nlohmann::json& evaluation);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EVALUATION_EVALUATION_TEXT_H_
