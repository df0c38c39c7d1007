#pragma once

#include <headrace/apps/terminal/terminal_mode.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

struct LiveBlockOptions {
  int file_descriptor = 2;  ///< not closed
  TerminalMode mode = terminal_mode(2);
  std::chrono::milliseconds interval{10'000};  ///< least time between two plain lines
  std::chrono::milliseconds redraw{100};       ///< least time between two redraws
  std::size_t most_lines = 4;
  bool plain_lines = true;  ///< whether they are written where there is no terminal
  /// Also told each plain line, in both modes: for the log file.
  std::function<void(const std::string&)> on_line{};
};

/// What a run is doing: on a terminal a short block that is redrawn in place, elsewhere one whole
/// line an interval. The cursor stands below the block and is visible whenever nothing is being
/// written, so any end of the process, SIGKILL too, leaves the terminal as it should be. On a low
/// terminal the block has as many lines as leave a row for the cursor.
/// Thread-safe.
class LiveBlock {
 public:
  explicit LiveBlock(LiveBlockOptions options = {});
  LiveBlock(const LiveBlock&) = delete;
  LiveBlock& operator=(const LiveBlock&) = delete;
  /// Leaves the block as it was last drawn.
  ~LiveBlock() = default;

  /// Shows the lines (terminal) or the plain line (elsewhere), unless it is too soon. Cheap when it
  /// is: one clock read. Gives whether the plain line was said; an empty one never is.
  bool update(const std::vector<std::string>& lines, std::string_view plain);

  /// Whether an update would show anything; saves making the text.
  bool due() const;

  /// A whole text above the block, at once, in both modes. Line ends in it are kept.
  void print(std::string_view text);

  /// A message, as by print(); on a terminal lines that are wider are broken at blanks.
  void say(std::string_view text);

  /// Takes the block away (terminal); nothing elsewhere.
  void clear();

  TerminalMode mode() const { return options_.mode; }

 private:
  using Clock = std::chrono::steady_clock;

  std::string erasure() const;
  std::string drawing();
  void write(const std::string& text) const;
  void write_above(const std::string& text);
  bool redraw_due(Clock::time_point now) const;
  bool line_due(Clock::time_point now) const;

  LiveBlockOptions options_;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;         // as given last
  std::vector<std::size_t> drawn_widths_;  // of what stands on the terminal
  bool drew_ = false;
  bool said_ = false;
  Clock::time_point last_drawing_{};
  Clock::time_point last_line_{};
};

}  // namespace headrace::inline v1::app
