#include "solvers/trainer/outputs.h"

#include <sstream>

#include "core/base/log.h"

namespace doppio {
namespace {

constexpr size_t kMaxLines = 1000;

template <class T>
void Append(const NetOutput& output, Device* device, std::vector<OutputValue>* values) {
  std::vector<T> host(static_cast<size_t>(output.value.count()));
  device->CopyToHost(host.data(), output.value.raw, static_cast<int64_t>(host.size() * sizeof(T)));
  for (T value : host)
    values->push_back({output.blob, output.loss_weight, static_cast<double>(value)});
}

}  // namespace

std::vector<OutputValue> ReadOutputs(const Net& net) {
  std::vector<OutputValue> values;
  Device* device = net.params().device();
  for (const NetOutput& output : net.outputs()) {
    if (!output.value || output.value.count() == 0) continue;
    DispatchFloat(output.value.dtype,
                  [&](auto type) { Append<decltype(type)>(output, device, &values); });
  }
  return values;
}

std::string OutputLine(const char* kind, size_t index, const OutputValue& output) {
  std::ostringstream line;
  line << "    " << kind << " net output #" << index << ": " << output.blob << " = "
       << output.value;
  if (output.loss_weight != 0) {
    line << " (* " << output.loss_weight << " = " << output.loss_weight * output.value << " loss)";
  }
  return line.str();
}

void LogOutputs(const char* kind, const std::vector<OutputValue>& outputs) {
  for (size_t i = 0; i < outputs.size() && i < kMaxLines; ++i)
    LOG(INFO) << OutputLine(kind, i, outputs[i]);
  if (outputs.size() > kMaxLines) {
    LOG(INFO) << "    (" << outputs.size() - kMaxLines
              << " more numbers, not shown; a Silence layer on '" << outputs.back().blob
              << "' keeps them out of here)";
  }
}

}  // namespace doppio
