// A program that runs one form of a net: Doppio, ONNX Runtime, OpenCV or PyTorch.
#ifndef DOPPIO_TOOLS_VERIFY_WITNESS_H_
#define DOPPIO_TOOLS_VERIFY_WITNESS_H_

#include <memory>
#include <string>
#include <vector>

#include "core/net/contract/plain_blob.h"
#include "tools/verify/verify_form.h"

namespace doppio {

// The values of a form's inputs, in its order, in one run.
using InputValues = std::vector<std::vector<float>>;

// Not thread-safe. The form must outlive the witness.
class Witness {
 public:
  virtual ~Witness() = default;
  // Takes the inputs of the next runs, which must outlive them. With `inner`, all points are wanted
  // in the first of these runs, and not only the outputs.
  virtual void Start(const std::vector<InputValues>& runs, bool inner) = 0;
  // Returns the value of each point in run `run` of those. A value that is not wanted, or that the
  // program does not tell, has no elements; the outputs are always told. Call it for ascending
  // runs.
  virtual std::vector<PlainBlob> Values(size_t run) = 0;
  virtual std::string program() const = 0;  // "ONNX Runtime 1.17", after Start
};

// Returns true if the program "doppio", "onnxruntime", "opencv" or "torch" can run forms of this
// kind.
bool CanRun(const std::string& program, const VerifyForm& form);

// Returns the witness that runs `form` in `program`. Programs of Python run in the interpreter
// `python` and keep their files in `folder`, which exists; the names of this witness's files begin
// with `number`. Their Start throws Error with ExitCode::kFile if the program crashes or refuses
// the form, and ExitCode::kDifference if ONNX Runtime rejects a model. Throws FileError if the
// program is not installed.
std::unique_ptr<Witness> MakeWitness(const std::string& program, VerifyForm* form,
                                     const std::string& python, const std::string& folder,
                                     size_t number);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_VERIFY_WITNESS_H_
