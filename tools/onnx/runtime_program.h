// Python programs that `export` starts.
#ifndef DOPPIO_TOOLS_ONNX_RUNTIME_PROGRAM_H_
#define DOPPIO_TOOLS_ONNX_RUNTIME_PROGRAM_H_

namespace doppio {

// Ends with 0 where NumPy and ONNX Runtime or OpenCV are installed.
extern const char* const kFindRuntime;

constexpr int kRuntimeMinutes = 10;  // then it is ended by a signal

// With the arguments FOLDER MODEL MINUTES: gives MODEL the arrays of FOLDER/inputs.npz, compares
// its outputs with those of FOLDER/outputs.npz, and writes FOLDER/result.json:
//   {"runtime": "ONNX Runtime 1.17", "outputs": [{"name", "difference", "largest", "at", "ours",
//   "theirs"}]}
// where "largest" is the largest finite magnitude of ours and all numbers are strings, so that they
// may be inf and nan; or, where the model cannot be run, {"runtime", "refused": why, "judges":
// whether that speaks against the model}.
extern const char* const kRunModel;

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_RUNTIME_PROGRAM_H_
