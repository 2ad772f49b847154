// The two forms of a net that `verify` compares: Caffe's text with weights, a training folder, or
// an ONNX model.
#ifndef DOPPIO_TOOLS_VERIFY_VERIFY_FORM_H_
#define DOPPIO_TOOLS_VERIFY_VERIFY_FORM_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/spec/solver_spec.h"
#include "tools/cli/options.h"
#include "tools/export/loaded_net.h"
#include "tools/onnx_import/import_onnx.h"

namespace doppio {

// The files that an argument of the command line names.
struct FormFiles {
  std::string argument, model;
  std::vector<std::string> weights;  // none for ONNX
  bool onnx() const { return weights.empty(); }
};
// Returns the files of "FOLDER", "NET.onnx" or "NET.prototxt+WEIGHTS", where commas separate
// several files of weights. Throws UsageError for other arguments and FileError for missing files.
FormFiles FilesOfForm(const std::string& argument);

struct FormInput {
  std::string name;
  Shape shape;
  bool turned = false;  // the ONNX model takes N x H x W x C
};

// The first top of a layer, or the output of a node of an ONNX model: a value that is compared.
struct FormPoint {
  std::string layer, type, blob;
  SourceLoc at;
  int node = -1;                // of VerifyForm::runnable; -1 for a node of ONNX
  std::vector<int> reads = {};  // points
  bool last = true;             // no later layer changes the blob in place
};

// A net in one form, and what can be compared in it.
struct VerifyForm {
  FormFiles files;
  std::unique_ptr<LoadedNet> net;  // null if Doppio cannot run an ONNX model
  std::string why_not;             // then the reason
  Graph runnable;                  // the layers of `net` that compute, see RunnableNet
  std::vector<FormInput> inputs;
  std::vector<FormPoint> points;
  std::vector<int> outputs;                // points
  std::vector<std::string> model_outputs;  // their names in an ONNX model

  std::optional<Preprocessing> images() const {
    return net ? net->graph().preprocessing : std::nullopt;
  }
};

// Returns the batch size that an ONNX model fixes, or 0.
int64_t FixedBatch(const std::string& onnx);

// Reads a form with this batch size. Throws UserError or FileError.
VerifyForm ReadForm(const FormFiles& files, const NetFileOptions& options, int64_t batch);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_VERIFY_VERIFY_FORM_H_
