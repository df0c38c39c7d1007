#pragma once

#include <headrace/engine/base/export.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace headrace::inline v1::monitor {

struct EventFileOptions {
  /// Where this process begins: what files that are there already say of this step and later ones
  /// is void, since they are done again.
  std::int64_t first_step = 0;
  std::chrono::milliseconds flush_every{5000};  ///< checked when something is written
  /// Given the one sentence about a file that cannot be written; may be empty, must not throw.
  std::function<void(const std::string&)> warn{};
};

/// Scalars and pictures over the steps of a run in a file that TensorBoard reads: TFRecords of
/// `brain.Event:2`, as PyTorch's SummaryWriter writes them. What TensorBoard calls a run is a
/// folder of such files, `events.out.tfevents.*`; a process that goes on with it makes another one
/// beside those that are there. A file that cannot be made or written, on a full disk say, is
/// warned of once and takes no more: nothing is thrown for it. A process that is killed loses what
/// was not flushed; readers end at a record that was cut off. Not thread-safe. A process that is
/// forked writes nothing to it.
class HEADRACE_API EventFile {
 public:
  /// Makes the folder, if need be, and the file.
  explicit EventFile(std::filesystem::path folder, EventFileOptions options = {});
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  /// Flushes.
  ~EventFile();

  /// A point of the curve `tag`, "train/loss"; what stands before the slash groups them. It is kept
  /// with 32 bits, and may be infinite or not a number.
  void scalar(std::string_view tag, std::int64_t step, double value);
  /// A picture of 8-bit red, green and blue as a PNG file (`encode_png()`). Throws `ConfigError`
  /// for bytes that are none.
  void image(std::string_view tag, std::int64_t step, std::span<const std::byte> png);
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  void add(std::string_view message);
  void give_up(const std::string& what);

  EventFileOptions options_;
  std::filesystem::path path_;
  std::ofstream stream_;
  std::string waiting_;  // records that were not flushed
  std::chrono::steady_clock::time_point last_flush_;
  bool gave_up_ = false;
  unsigned forks_;  // before it was made
};

}  // namespace headrace::inline v1::monitor
