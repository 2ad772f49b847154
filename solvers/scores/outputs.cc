#include "solvers/scores/outputs.h"

#include <algorithm>
#include <sstream>

#include "core/base/log.h"

namespace doppio {
namespace {

constexpr size_t kMaxLines = 1000;
constexpr size_t kMaxOfNoScore = 10;  // such as the boxes of a PriorBox that no loss reads

}  // namespace

std::vector<double> ReadValues(const Tensor& tensor, Device* device) {
  std::vector<double> values;
  if (!tensor || tensor.stored() == 0) return values;
  DispatchFloat(tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> host(tensor.stored());
    device->CopyToHost(host.data(), tensor.raw, static_cast<int64_t>(host.size() * sizeof(T)));
    for (T value : host) values.push_back(static_cast<double>(value));
  });
  return values;
}

std::vector<OutputValue> ReadOutputs(const Net& net) {
  std::vector<OutputValue> outputs;
  for (const NetOutput& output : net.outputs()) {
    for (double value : ReadValues(output.value, net.params().device())) {
      outputs.push_back({output.blob, output.loss_weight, value});
      outputs.back().score = output.score;
    }
  }
  return outputs;
}

std::string OutputText(const OutputValue& output) {
  std::ostringstream text;
  text << output.blob << " = " << output.value;
  if (output.loss_weight != 0) {
    text << " (* " << output.loss_weight << " = " << output.loss_weight * output.value << " loss)";
  }
  std::string about = output.of_class < 0 ? "" : "class " + std::to_string(output.of_class);
  if (!output.class_name.empty()) about += ": " + output.class_name;
  if (output.absent) about += about.empty() ? "no labels" : ", no labels";
  if (!about.empty()) text << " (" << about << ")";
  return text.str();
}

void LogOutputs(const char* kind, const std::vector<OutputValue>& outputs,
                const std::string& label) {
  size_t left = kMaxLines;
  for (size_t i = 0, end = 0; i < outputs.size(); i = end) {
    const std::string& blob = outputs[i].blob;
    while (end < outputs.size() && outputs[end].blob == blob) ++end;
    size_t lines = std::min({end - i, left, outputs[i].score ? kMaxLines : kMaxOfNoScore});
    left -= lines;
    for (; lines > 0; --lines, ++i)
      LOG(INFO) << "    " << kind << " net output #" << i << ": " << OutputText(outputs[i])
                << label;
    if (i == end) continue;
    LOG(INFO) << "    (" << end - i << " more values, not shown; a Silence layer on '" << blob
              << "' removes them from the log)";
  }
}

}  // namespace doppio
