#include <headrace/apps/terminal/live_block.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/terminal/utc.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

// Several lines cleaned one by one and folded, each ending in a line end.
std::string clean_lines(std::string_view text, std::size_t columns = std::string::npos) {
  std::string result;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    for (const std::string& line : folded(clean_text(text.substr(0, end)), columns))
      result += line + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace

LiveBlock::LiveBlock(LiveBlockOptions options) : options_(std::move(options)) {}

bool LiveBlock::redraw_due(Clock::time_point now) const {
  return !drew_ || now - last_drawing_ >= options_.redraw;
}
bool LiveBlock::line_due(Clock::time_point now) const {
  return !said_ || now - last_line_ >= options_.interval;
}

bool LiveBlock::due() const {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  return line_due(now) || (options_.mode == TerminalMode::live && redraw_due(now));
}

bool LiveBlock::update(const std::vector<std::string>& lines, std::string_view plain) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  const bool says = !plain.empty() && line_due(now);
  if (says) {
    said_ = true;
    last_line_ = now;
    const std::string line = clean_text(plain);
    if (options_.mode == TerminalMode::lines && options_.plain_lines)
      write(utc_time() + ' ' + line + '\n');
    if (options_.on_line) options_.on_line(line);
  }
  if (options_.mode == TerminalMode::live && redraw_due(now)) {
    drew_ = true;
    last_drawing_ = now;
    lines_ = lines;
    const std::string old_rows = erasure();  // by the widths that drawing() replaces
    write(old_rows + drawing());
  }
  return says;
}

void LiveBlock::print(std::string_view text) {
  const std::lock_guard lock(mutex_);
  write_above(clean_lines(text));
}

void LiveBlock::say(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const bool live = options_.mode == TerminalMode::live;
  write_above(live ? clean_lines(text, terminal_columns(options_.file_descriptor) - 1)
                   : clean_lines(text));
}

void LiveBlock::write_above(const std::string& text) {
  const std::string old_rows = erasure();
  write(old_rows + text + drawing());
}

void LiveBlock::clear() {
  const std::lock_guard lock(mutex_);
  if (options_.mode != TerminalMode::live) return;
  write(erasure());
  lines_.clear();
  drawn_widths_.clear();
}

// A terminal made narrower has wrapped what was drawn: each line then takes several rows. The first
// row goes by itself: what is erased from the first place of the screen on, tmux keeps in its
// history, redraw by redraw.
std::string LiveBlock::erasure() const {
  if (drawn_widths_.empty()) return {};
  const std::size_t columns = terminal_columns(options_.file_descriptor);
  std::size_t rows = 0;
  for (const std::size_t width : drawn_widths_)
    rows += std::max<std::size_t>(1, (width + columns - 1) / columns);
  const std::string to_second = rows > 1 ? fmt::format("\x1b[{}A", rows - 1) : "";
  return to_second + "\r\x1b[J\x1b[1A\x1b[2K";
}

std::string LiveBlock::drawing() {
  const std::size_t columns = terminal_columns(options_.file_descriptor);
  const std::size_t room = std::max<std::size_t>(2, terminal_rows(options_.file_descriptor)) - 1;
  drawn_widths_.clear();
  std::string text;
  for (std::size_t i = 0; i < std::min({lines_.size(), options_.most_lines, room}); ++i) {
    const std::string line = clean_text(lines_[i], columns - 1);
    drawn_widths_.push_back(text_width(line));
    text += line + '\n';
  }
  return text;
}

// One write for all of it: no half-drawn block. A stream that is gone ends the display, not the
// run.
void LiveBlock::write(const std::string& text) const {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(options_.file_descriptor, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace headrace::inline v1::app
