// Writes evaluations to files: CSV tables, a page, and a run folder's record.
#ifndef DOPPIO_TOOLS_EVALUATION_EVALUATION_FILES_H_
#define DOPPIO_TOOLS_EVALUATION_EVALUATION_FILES_H_

#include <nlohmann/json.hpp>
#include <string>

#include "solvers/trainer/trainer_options.h"

namespace doppio {

// Writes the tables of an evaluation, such as classes.csv and confusion.csv, to `folder`, which it
// creates if necessary. Throws FileError.
void WriteTables(const std::string& folder, const nlohmann::json& evaluation);

// Returns a page that shows the evaluation. It needs no other file.
std::string EvaluationPage(const nlohmann::json& evaluation, const std::string& title);

// Writes evaluation.json in the run folder `folder`: the evaluation of the last complete test of
// the training, with images. Logs its main scores. Does nothing if the test's net has no head, or
// if a signal stopped the training, because a launcher may soon kill the process. A failure is only
// logged, because the training itself is complete.
void RecordEvaluation(const std::string& folder, const TrainResult& result, uint64_t seed);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EVALUATION_EVALUATION_FILES_H_
