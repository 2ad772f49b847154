#include "core/base/timeline.h"

#include <gtest/gtest.h>

#include <thread>

namespace doppio {
namespace {

TimelineSpan Span(const std::string& name, int64_t begin, int64_t end, int track = 0) {
  TimelineSpan span;
  span.name = name;
  span.category = "test";
  span.track = track;
  span.begin = begin;
  span.end = end;
  return span;
}

// Returns the lines of `events` that describe spans.
std::vector<std::string> SpanLines(const std::string& events) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < events.size();) {
    const size_t end = std::min(events.find('\n', begin), events.size());
    const std::string line = events.substr(begin, end - begin);
    if (line.find("\"ph\":\"X\"") != std::string::npos)
      lines.push_back(line.substr(0, line.rfind('}') + 1));
    begin = end + 1;
  }
  return lines;
}

TimelineProcess Rank(int rank) {
  TimelineProcess process;
  process.rank = rank;
  process.name = "rank " + std::to_string(rank);
  process.tracks = {"one", "two"};
  return process;
}

TEST(Timeline, WritesMicrosecondsOfTheFilesClock) {
  TimelineProcess process = Rank(3);
  process.shift_ns = -1000;
  TimelineSpan span = Span("conv1", 2500, 14007, 1);
  span.numbers = {{"bytes", 12}};
  EXPECT_EQ(
      SpanLines(TimelineEvents(process, {span})),
      std::vector<std::string>{
          R"({"ph":"X","name":"conv1","cat":"test","pid":3,"tid":1,"ts":1.500,"dur":11.507,"args":{"bytes":12}})"});
  process.shift_ns = -3001;
  EXPECT_NE(TimelineEvents(process, {span}).find("\"ts\":-0.501"), std::string::npos);
}

TEST(Timeline, NamesRanksAndOnlyTracksThatHaveSpans) {
  const std::string events = TimelineEvents(Rank(1), {Span("a", 0, 1, 1)});
  EXPECT_NE(
      events.find(R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"rank 1"}})"),
      std::string::npos);
  EXPECT_NE(events.find(R"({"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"two"}})"),
            std::string::npos);
  EXPECT_EQ(events.find("\"one\""), std::string::npos);
}

TEST(Timeline, EscapesNames) {
  const auto named = [](const std::string& name) {
    const std::string line = SpanLines(TimelineEvents(Rank(0), {Span(name, 0, 1)}))[0];
    const size_t begin = line.find("\"name\":") + 7;
    return line.substr(begin, line.find(",\"cat\"") - begin);
  };
  EXPECT_EQ(named("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(named("line\nand\x01"), R"("line\nand\u0001")");
  EXPECT_EQ(named("caf\xC3\xA9 \xE5\xB1\xA4 \xF0\x9F\x98\x80"),
            "\"caf\xC3\xA9 \xE5\xB1\xA4 \xF0\x9F\x98\x80\"");
  const std::string bad = "\xEF\xBF\xBD";  // U+FFFD
  // An invalid first byte and a truncated character; an overlong '/'; a lone UTF-16 surrogate.
  EXPECT_EQ(named("\xFFx\xC3"), '"' + bad + "x" + bad + '"');
  EXPECT_EQ(named("\xC0\xAF"), '"' + bad + bad + '"');
  EXPECT_EQ(named("\xED\xA0\x80"), '"' + bad + bad + bad + '"');
}

TEST(Timeline, NestsOrSeparatesSpansOfATrack) {
  const std::vector<std::string> lines = SpanLines(
      TimelineEvents(Rank(0), {Span("inner", 10'000, 20'000), Span("outer", 0, 30'000),
                               Span("over the end", 25'000, 40'000), Span("next", 30'000, 50'000),
                               Span("elsewhere", 5'000, 45'000, 1)}));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_NE(lines[0].find("\"outer\""), std::string::npos);
  EXPECT_NE(lines[1].find("\"inner\""), std::string::npos);
  EXPECT_NE(lines[2].find("\"ts\":25.000,\"dur\":5.000"), std::string::npos) << lines[2];
  EXPECT_NE(lines[3].find("\"ts\":30.000,\"dur\":20.000"), std::string::npos) << lines[3];
  EXPECT_NE(lines[4].find("\"ts\":5.000,\"dur\":40.000"), std::string::npos) << lines[4];
}

TEST(Timeline, MakesAWholeFile) {
  EXPECT_EQ(TimelineFile({"{1}", "{2}"}, {{"a", "b\""}, {"c", "d"}}),
            "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"a\":\"b\\\"\",\"c\":\"d\"},"
            "\"traceEvents\":[\n{1},\n{2}\n]}\n");
}

TEST(Timeline, KeepsNoMoreThanItsBound) {
  Timeline timeline(3);
  for (int i = 0; i < 5; ++i) timeline.Add(Span(std::to_string(i), i, i + 1));
  EXPECT_EQ(timeline.dropped(), 2);
  const std::vector<TimelineSpan> spans = timeline.Take();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[2].name, "2");
  EXPECT_TRUE(timeline.Take().empty());
}

TEST(Timeline, TakesSpansFromAllThreads) {
  constexpr int kThreads = 4, kEach = 1000;
  Timeline timeline(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&timeline, t] {
      for (int i = 0; i < kEach; ++i) timeline.Add(Span("s", i, i + 1, t));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int> of(kThreads);
  for (const TimelineSpan& span : timeline.Take()) ++of[static_cast<size_t>(span.track)];
  EXPECT_EQ(of, std::vector<int>(kThreads, kEach));
  EXPECT_EQ(timeline.dropped(), 0);
}

TEST(Timeline, MeasuresWhatGoesOnAtTheSameTime) {
  // The union of the first list is [0, 30) and [40, 50), and that of the second is [5, 10) and [20,
  // 45).
  const TimelineOverlap overlap =
      OverlapOf({Span("a", 0, 20), Span("b", 10, 30), Span("c", 40, 50)},
                {Span("x", 20, 45), Span("y", 5, 10), Span("z", 6, 7)});
  EXPECT_EQ(overlap.all, 40);
  EXPECT_EQ(overlap.both, 5 + 10 + 5);
  EXPECT_EQ(OverlapOf({}, {Span("x", 0, 1)}).all, 0);
  EXPECT_EQ(OverlapOf({Span("x", 0, 1)}, {}).both, 0);
}

}  // namespace
}  // namespace doppio
