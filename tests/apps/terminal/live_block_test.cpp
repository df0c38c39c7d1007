#include <headrace/apps/terminal/live_block.h>
#include <headrace/tests/apps/pseudo_terminal.h>
#include <headrace/tests/apps/screen.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sys/ioctl.h>
#include <unistd.h>

using namespace headrace::app;
using namespace std::chrono_literals;
using headrace::test::Ends;
using headrace::test::Environment;
using headrace::test::make_pipe;
using headrace::test::make_terminal;
using headrace::test::Screen;

TEST_CASE("ten thousand steps into a pipe are whole lines, few bytes and no escapes") {
  const Ends pipe = make_pipe();
  LiveBlock block(
      {.file_descriptor = pipe.write, .mode = terminal_mode(pipe.write), .interval = 20ms});
  std::string all;
  for (int step = 0; step < 10'000; ++step) {
    block.update({"epoch 1/3", "loss\r\x1b[1m0.4"},
                 "step " + std::to_string(step) + " loss\r\x1b[1m0.4");
    if (step % 500 == 0) all += pipe.drain();
  }
  for (int late = 0; late < 2; ++late) {
    std::this_thread::sleep_for(20ms);
    block.update({}, "step");
  }
  all += pipe.drain();
  CHECK(all.size() > 0);
  CHECK(all.size() < 100'000);
  CHECK(all.find('\r') == std::string::npos);
  CHECK(all.find('\x1b') == std::string::npos);
  CHECK(all.ends_with('\n'));
  CHECK(all.find("Z step 0 ") != std::string::npos);
  CHECK(std::count(all.begin(), all.end(), '\n') >= 3);  // it does go on speaking
}

TEST_CASE("at most one plain line an interval") {
  const Ends pipe = make_pipe();
  LiveBlock block({.file_descriptor = pipe.write, .mode = TerminalMode::lines, .interval = 1h});
  for (int step = 0; step < 100; ++step)
    block.update({}, "step");
  const std::string text = pipe.drain();
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK_FALSE(block.due());
}

TEST_CASE("a terminal shows one block of at most four lines, redrawn in place") {
  const Ends terminal = make_terminal(40);
  LiveBlock block({.file_descriptor = terminal.write, .mode = TerminalMode::live, .redraw = 0ms});
  Screen screen(40);
  for (int step = 0; step < 50; ++step) {
    block.update({"epoch 1", "step " + std::to_string(step), std::string(200, 'x'), "four", "five"},
                 "");
    screen.feed(terminal.drain());
  }
  const auto lines = screen.lines();
  REQUIRE(lines.size() == 4);
  CHECK(lines[1] == "step 49");
  CHECK(lines[3] == "four");
  CHECK_FALSE(screen.wrapped());
  CHECK(screen.unknown_escapes() == 0);
}

TEST_CASE("the cursor stands below the block and was never hidden") {
  const Ends terminal = make_terminal(40);
  std::string text;
  {
    LiveBlock block({.file_descriptor = terminal.write, .mode = TerminalMode::live, .redraw = 0ms});
    block.update({"one", "two"}, "");
    block.update({"one", "two"}, "");
    text = terminal.drain();
  }
  text += terminal.drain();
  Screen screen(40);
  screen.feed(text);
  CHECK(screen.row() == 2);
  CHECK(screen.column() == 0);
  CHECK(text.find("?25l") == std::string::npos);
}

TEST_CASE("no more than ten redraws a second") {
  const Ends terminal = make_terminal(40);
  LiveBlock block({.file_descriptor = terminal.write, .mode = TerminalMode::live});
  const auto start = std::chrono::steady_clock::now();
  std::ptrdiff_t drawn = 0;
  while (drawn < 4 && std::chrono::steady_clock::now() - start < 1min) {
    block.update({"one"}, "");
    const std::string text = terminal.drain();
    drawn += std::count(text.begin(), text.end(), '\n');
    std::this_thread::sleep_for(1ms);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(drawn == 4);
  CHECK(static_cast<double>(drawn) <= 10.0 * seconds + 1.0);
}

TEST_CASE("a line printed while the block stands appears above it") {
  const Ends terminal = make_terminal(40);
  LiveBlock block({.file_descriptor = terminal.write, .mode = TerminalMode::live, .redraw = 0ms});
  block.update({"block 1", "block 2"}, "");
  block.print("epoch table\nsecond row\n");
  Screen screen(40);
  screen.feed(terminal.drain());
  CHECK(screen.lines() ==
        std::vector<std::string>{"epoch table", "second row", "block 1", "block 2"});
  block.clear();
  screen.feed(terminal.drain());
  CHECK(screen.lines() == std::vector<std::string>{"epoch table", "second row"});
}

TEST_CASE("a terminal that becomes narrower is filled no wider than it is, and the old rows go") {
  const Ends terminal = make_terminal(40);
  LiveBlock block({.file_descriptor = terminal.write, .mode = TerminalMode::live, .redraw = 0ms});
  block.update({std::string(39, 'a'), "b"}, "");
  terminal.drain();
  const winsize narrow{.ws_row = 24, .ws_col = 20, .ws_xpixel = 0, .ws_ypixel = 0};
  REQUIRE(ioctl(terminal.read, TIOCSWINSZ, &narrow) == 0);
  block.update({std::string(39, 'a'), "b"}, "");
  const std::string text = terminal.drain();
  // 39 columns wrapped into two rows of 20, and one: three rows up.
  CHECK(text.starts_with("\x1b[2A\r\x1b[J\x1b[1A\x1b[2K"));
  Screen screen(20);
  screen.feed("\n\n\n" + text);
  CHECK_FALSE(screen.wrapped());
  CHECK(screen.lines().size() == 2);
}

TEST_CASE("a block at the top of the screen is redrawn without erasing the screen as a whole") {
  for (const std::size_t lines : {1U, 4U}) {
    const Ends terminal = make_terminal(40);
    LiveBlock block({.file_descriptor = terminal.write, .mode = TerminalMode::live, .redraw = 0ms});
    const std::vector<std::string> drawn(lines, "line");
    block.update(drawn, "");
    block.update(drawn, "");
    block.print("above");
    block.clear();
    Screen screen(40);
    screen.feed(terminal.drain());
    CHECK(screen.erased_whole() == 0);
    CHECK(screen.unknown_escapes() == 0);
    CHECK(screen.lines() == std::vector<std::string>{"above"});
    CHECK(screen.row() == 1);
  }
}

TEST_CASE("on a low terminal a block leaves a row for the cursor") {
  const Ends terminal = make_terminal(40);
  LiveBlock block({.file_descriptor = terminal.write, .mode = TerminalMode::live, .redraw = 0ms});
  for (const unsigned short rows : {3, 1}) {
    const winsize low{.ws_row = rows, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
    REQUIRE(ioctl(terminal.read, TIOCSWINSZ, &low) == 0);
    block.update({"one", "two", "three"}, "");
    Screen screen(40);
    screen.feed(terminal.drain());
    CHECK(screen.lines().size() == std::max(1, rows - 1));
    block.clear();
    terminal.drain();
  }
}

TEST_CASE("a message is broken at blanks on a terminal, and whole elsewhere") {
  const Ends terminal = make_terminal(12);
  const Ends pipe = make_pipe();
  for (const Ends* ends : {&terminal, &pipe})
    LiveBlock({.file_descriptor = ends->write,
               .mode = ends == &pipe ? TerminalMode::lines : TerminalMode::live})
        .say("one two three\n/a/path/that/is/long ok\n");
  CHECK(pipe.drain() == "one two three\n/a/path/that/is/long ok\n");
  CHECK(terminal.drain() == "one two\r\n  three\r\n/a/path/that/is/long\r\n  ok\r\n");
}

TEST_CASE("an empty plain line is not said and takes no other's time") {
  const Ends pipe = make_pipe();
  LiveBlock block({.file_descriptor = pipe.write, .mode = TerminalMode::lines, .interval = 1h});
  CHECK_FALSE(block.update({}, ""));
  CHECK(block.due());
  CHECK(block.update({}, "step"));
  CHECK_FALSE(block.update({}, "step"));
  CHECK(pipe.drain().ends_with("Z step\n"));
}

TEST_CASE("only a terminal that understands is drawn on") {
  const Ends terminal = make_terminal(80);
  const Ends pipe = make_pipe();
  const Environment no_ci("CI", nullptr);
  const Environment term("TERM", "xterm");
  CHECK(terminal_mode(terminal.write) == TerminalMode::live);
  CHECK(terminal_mode(pipe.write) == TerminalMode::lines);
  {
    const Environment dumb("TERM", "dumb");
    CHECK(terminal_mode(terminal.write) == TerminalMode::lines);
  }
  {
    const Environment ci("CI", "true");
    CHECK(terminal_mode(terminal.write) == TerminalMode::lines);
  }
  CHECK(terminal_columns(terminal.write) == 80);
  CHECK(terminal_columns(pipe.write) == 80);
}

TEST_CASE("text is as wide as the terminal, less where COLUMNS says so, and 100 elsewhere") {
  const Ends terminal = make_terminal(80);
  const Ends pipe = make_pipe();
  for (const char* nothing : {"", "0", "wide", "-5", "80x"}) {
    const Environment columns("COLUMNS", nothing);
    CAPTURE(nothing);
    CHECK(text_columns(terminal.write) == 80);
    CHECK(text_columns(pipe.write) == 100);
  }
  const Environment columns("COLUMNS", "60");
  CHECK(text_columns(terminal.write) == 60);
  CHECK(text_columns(pipe.write) == 60);
  const Environment more("COLUMNS", "200");
  CHECK(text_columns(terminal.write) == 80);  // what is wider would wrap
  CHECK(text_columns(pipe.write) == 200);
}

TEST_CASE("plain lines can be kept out of the stream and still reach the log") {
  const Ends pipe = make_pipe();
  std::vector<std::string> told;
  LiveBlock block({.file_descriptor = pipe.write,
                   .mode = TerminalMode::lines,
                   .plain_lines = false,
                   .on_line = [&](const std::string& line) { told.push_back(line); }});
  block.update({}, "step 1");
  CHECK(pipe.drain().empty());
  CHECK(told == std::vector<std::string>{"step 1"});
}

TEST_CASE("the log file is told each plain line in both modes") {
  const Ends terminal = make_terminal(40);
  const Ends pipe = make_pipe();
  for (const auto& [descriptor, mode] : {std::pair{terminal.write, TerminalMode::live},
                                         std::pair{pipe.write, TerminalMode::lines}}) {
    std::vector<std::string> told;
    LiveBlock block({.file_descriptor = descriptor,
                     .mode = mode,
                     .interval = 1h,
                     .on_line = [&](const std::string& line) { told.push_back(line); }});
    block.update({"x"}, "step 1");
    block.update({"x"}, "step 2");
    CHECK(told == std::vector<std::string>{"step 1"});
  }
}

TEST_CASE("a stream whose reader is gone does not stop the run") {
  Ends terminal = make_terminal(40);
  close(terminal.read);
  terminal.read = -1;
  LiveBlock block({.file_descriptor = terminal.write, .mode = TerminalMode::live, .redraw = 0ms});
  block.update({"one"}, "");
  block.print("two");
  CHECK(block.mode() == TerminalMode::live);
}
