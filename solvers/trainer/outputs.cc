#include "solvers/trainer/outputs.h"

#include <sstream>

#include "core/base/log.h"

namespace doppio {
namespace {

constexpr size_t kMaxLines = 1000;

template <class T>
void Append(const NetOutput& output, Device* device, std::vector<OutputValue>* values) {
  std::vector<T> host(output.value.count());
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

void LogOutputs(const char* kind, const std::vector<OutputValue>& outputs,
                const std::string& label) {
  for (size_t i = 0; i < outputs.size() && i < kMaxLines; ++i) {
    const auto& [blob, weight, value] = outputs[i];
    std::ostringstream loss;
    if (weight != 0) loss << " (* " << weight << " = " << weight * value << " loss)";
    LOG(INFO) << "    " << kind << " net output #" << i << ": " << blob << " = " << value
              << loss.str() << label;
  }
  if (outputs.size() > kMaxLines) {
    LOG(INFO) << "    (" << outputs.size() - kMaxLines
              << " more values, not shown; a Silence layer on '" << outputs.back().blob
              << "' removes them from the log)";
  }
}

}  // namespace doppio
