#include "parallel/watch/watch_message.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace doppio {
namespace {

std::string Head(uint32_t kind, uint32_t length) {
  const uint32_t head[] = {kind, length};
  return {reinterpret_cast<const char*>(head), sizeof head};
}

WatchMessages Received(const std::string& bytes) {
  WatchMessages messages;
  messages.Add(bytes.data(), bytes.size());
  return messages;
}

TEST(WatchMessages, ComeBackWholeHoweverTheyAreCut) {
  const std::string heartbeat(sizeof(Heartbeat), 'x');
  const std::string bytes = WatchMessage{WatchMessage::kLost, "\x04 why"}.ToBytes() +
                            WatchMessage{WatchMessage::kHeartbeat, heartbeat}.ToBytes() +
                            WatchMessage{WatchMessage::kBye, ""}.ToBytes();
  WatchMessages messages;
  std::vector<WatchMessage> whole;
  for (const char byte : bytes) {
    messages.Add(&byte, 1);
    while (const auto message = messages.Next()) whole.push_back(*message);
  }
  ASSERT_EQ(whole.size(), 3u);
  EXPECT_EQ(whole[0].text, "\x04 why");
  EXPECT_EQ(whole[1].kind, WatchMessage::kHeartbeat);
  EXPECT_EQ(whole[1].text, heartbeat);
  EXPECT_EQ(whole[2].kind, WatchMessage::kBye);
  EXPECT_FALSE(messages.damaged());
}

TEST(WatchMessages, AreCutToTheLimitWhenTheyAreSent) {
  const std::string text = '\x04' + std::string(10000, 'x');
  WatchMessages messages = Received(WatchMessage{WatchMessage::kLost, text}.ToBytes());
  EXPECT_EQ(messages.Next()->text, text.substr(0, 4096));
}

TEST(WatchMessages, NoticeWhatNoRankSends) {
  const std::string all_is_well(1, '\0'), unknown_code(1, '\x63');
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n"), Head(WatchMessage::kLost, 0xffffffff),
        Head(WatchMessage::kLost, 4097), Head(0, 0), Head(4, 0), Head(WatchMessage::kHeartbeat, 0),
        Head(WatchMessage::kBye, 1) + "x", Head(WatchMessage::kLost, 0),
        Head(WatchMessage::kLost, 1) + all_is_well, Head(WatchMessage::kLost, 1) + unknown_code}) {
    WatchMessages messages = Received(bytes);
    EXPECT_FALSE(messages.Next());
    EXPECT_TRUE(messages.damaged()) << bytes;
    const std::string good = WatchMessage{WatchMessage::kBye, ""}.ToBytes();
    messages.Add(good.data(), good.size());
    EXPECT_FALSE(messages.Next());
  }
}

TEST(WatchMessages, WaitForTheRestOfAMessage) {
  WatchMessages messages = Received(Head(WatchMessage::kLost, 4096) + "\x04 wh");
  EXPECT_FALSE(messages.Next());
  EXPECT_FALSE(messages.damaged());
}

}  // namespace
}  // namespace doppio
