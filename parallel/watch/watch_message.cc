#include "parallel/watch/watch_message.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace doppio {
namespace {

constexpr uint32_t kMostText = 4096;

struct Header {
  uint32_t kind, length;
};

bool IsFailure(unsigned char code) {
  return (code > 0 && code <= static_cast<int>(ExitCode::kDifference)) ||
         code == static_cast<int>(ExitCode::kStopped);
}

bool IsValid(const WatchMessage& message) {
  switch (message.kind) {
    case WatchMessage::kHeartbeat:
      return message.text.size() == sizeof(Heartbeat);
    case WatchMessage::kLost:
      return !message.text.empty() && IsFailure(static_cast<unsigned char>(message.text[0]));
    case WatchMessage::kBye:
      return message.text.empty();
  }
  return false;
}

}  // namespace

std::string WatchMessage::ToBytes() const {
  const Header header = {kind, static_cast<uint32_t>(std::min<size_t>(text.size(), kMostText))};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes.append(text, 0, header.length);
}

std::optional<WatchMessage> WatchMessages::Next() {
  Header header;
  if (damaged_ || received_.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, received_.data(), sizeof header);
  damaged_ = header.length > kMostText;
  if (damaged_ || received_.size() < sizeof header + header.length) return std::nullopt;
  WatchMessage message{static_cast<WatchMessage::Kind>(header.kind),
                       received_.substr(sizeof header, header.length)};
  received_.erase(0, sizeof header + header.length);
  damaged_ = !IsValid(message);
  if (damaged_) return std::nullopt;
  return message;
}

}  // namespace doppio
