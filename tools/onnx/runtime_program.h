// Python programs that `export` runs to verify a model.
#ifndef DOPPIO_TOOLS_ONNX_RUNTIME_PROGRAM_H_
#define DOPPIO_TOOLS_ONNX_RUNTIME_PROGRAM_H_

namespace doppio {

// Exits with 0 if NumPy and either ONNX Runtime or OpenCV are installed, else with 1.
extern const char* const kFindRuntime;

constexpr int kRuntimeMinutes = 10;  // after this time, SIGALRM ends the program

// Takes the arguments FOLDER MODEL MINUTES. Runs MODEL on the arrays of FOLDER/inputs.npz, compares
// its outputs with those of FOLDER/outputs.npz, and writes FOLDER/result.json:
//   {"runtime": "ONNX Runtime 1.17", "judges": true, "outputs": [{"name", "difference", "largest",
//    "at", "ours", "theirs"}]}
// "largest" is the largest finite magnitude of our output. All numbers but the indices "at" are
// strings, so that they can be inf or nan. "judges" is true for ONNX Runtime, whose refusal means
// that the model is invalid. If the model cannot be run, "refused" has the reason instead of
// "outputs".
extern const char* const kRunModel;

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_RUNTIME_PROGRAM_H_
