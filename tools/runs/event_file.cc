#include "tools/runs/event_file.h"

#include <unistd.h>

#include "core/base/file.h"
#include "core/base/host_name.h"
#include "core/base/text/str_cat.h"
#include "proto/event.pb.h"

namespace doppio {
namespace {

template <class T>
std::string LittleEndian(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}

// TensorBoard masks stored CRCs (rotates them and adds a constant), because the CRC of data that
// contains CRCs is a weak check.
std::string MaskedCrc(const std::string& data) {
  const uint32_t crc = Crc32c(data.data(), data.size());
  return LittleEndian(((crc >> 15) | (crc << 17)) + 0xa282ead8U);
}

}  // namespace

std::string EventRecord(const std::string& data) {
  const std::string length = LittleEndian(static_cast<uint64_t>(data.size()));
  return length + MaskedCrc(length) + data + MaskedCrc(data);
}

std::string FirstRecord(double wall_time) {
  TensorBoardEvent event;
  event.set_wall_time(wall_time);
  event.set_file_version("brain.Event:2");
  return EventRecord(event.SerializeAsString());
}

std::string ScalarRecord(double wall_time, int64_t iter,
                         const std::vector<std::pair<std::string, double>>& tags) {
  TensorBoardEvent event;
  event.set_wall_time(wall_time);
  event.set_step(iter);
  for (const auto& [tag, number] : tags) {
    auto* value = event.mutable_summary()->add_value();
    value->set_tag(tag);
    value->set_simple_value(static_cast<float>(number));
  }
  return EventRecord(event.SerializeAsString());
}

EventFile::EventFile(const std::string& folder, double wall_time)
    : file_(StrCat(folder, "/events.out.tfevents.", static_cast<int64_t>(wall_time), ".",
                   HostName(), ".", getpid())) {
  file_.Write(FirstRecord(wall_time));
}

void EventFile::Restart(double wall_time, int64_t iter) {
  TensorBoardEvent event;
  event.set_wall_time(wall_time);
  event.set_step(iter);
  event.mutable_session()->set_status(TensorBoardSession::START);
  file_.Write(EventRecord(event.SerializeAsString()));
}

}  // namespace doppio
