#pragma once

#include <headrace/monitor/trace_file.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace headrace::inline v1::monitor::detail {

/// A text as JSON has it, in quotes; what is not UTF-8 is replaced.
std::string json_text(std::string_view text);

/// Puts trace events one behind the other and hands them on in pieces.
class TraceEvents {
 public:
  /// Times count from `origin_ns`.
  TraceEvents(std::int64_t origin_ns, const std::function<void(std::string_view)>& sink)
      : origin_(origin_ns), sink_(sink) {}

  /// Text between events: the document's frame.
  void text(std::string_view text);
  /// An event: its fields from "ph" on, without braces.
  void event(std::string_view fields);
  /// Microseconds with three places.
  std::string time(std::int64_t ns) const { return duration(ns - origin_); }
  static std::string duration(std::int64_t ns);
  void flush();

 private:
  std::int64_t origin_;
  const std::function<void(std::string_view)>& sink_;
  std::string waiting_;
  bool first_ = true;
};

/// Numbers of lines in the picture.
struct TraceLines {
  static constexpr int first_track = 1;
  static constexpr int first_consumer = 100;
  static constexpr int first_copies = 200;
  static constexpr int first_thread = 1000;
};

/// A batch's number in the whole document.
std::string batch_id(std::size_t loader, const TraceBatch& batch);

/// Queues, batches and copies of a loader, the `number`-th of the document.
void put_queues(TraceEvents& to, const Trace& trace);
void put_batches(TraceEvents& to, const Trace& trace, std::size_t number);
void put_copies(TraceEvents& to, const Trace& trace, std::size_t number);

}  // namespace headrace::inline v1::monitor::detail
