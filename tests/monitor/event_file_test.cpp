#include <headrace/engine/base/error.h>
#include <headrace/monitor/detail/event_record.h>
#include <headrace/monitor/event_file.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <sys/resource.h>

using namespace headrace;
using monitor::EventFile;
using test::content_of;

namespace fs = std::filesystem;

namespace {

std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(16 * digit(hex[i]) + digit(hex[i + 1]));
  return bytes;
}

template <class Number>
Number number_at(const std::string& bytes, std::size_t at) {
  Number number{};
  REQUIRE(at + sizeof number <= bytes.size());
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// The messages of a file whose records are whole.
std::vector<std::string> messages_of(const fs::path& file) {
  const std::string bytes = content_of(file);
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = number_at<std::uint64_t>(bytes, at);
    const std::string message = bytes.substr(at + 12, length);
    const std::string record = monitor::detail::record_of(message);
    CHECK(bytes.substr(at, record.size()) == record);
    messages.push_back(message);
    at += record.size();
  }
  return messages;
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files{fs::directory_iterator(folder), {}};
  std::sort(files.begin(), files.end());
  return files;
}

// No file may grow beyond so many bytes while this lives: as if the disk were full.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit small{bytes, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace

// Files of torch.utils.tensorboard.SummaryWriter (PyTorch 2.11.0, TensorBoard 2.21.0):
// add_scalar("train/loss", 0.5, 3), purge_step=4, and add_image("pic", black 3 x 2 pixels, 5).
TEST_CASE("records are byte for byte those of PyTorch's SummaryWriter") {
  using monitor::detail::record_of;
  CHECK(record_of(monitor::detail::scalar_event(
            {.wall_time = std::bit_cast<double>(0x41dac1329c279eb5U), .step = 3}, "train/loss",
            0.5)) == from_hex("200000000000000029eda95009b59e279c32c1da4110032a130a110a0a747261696e"
                              "2f6c6f7373150000003fb9296f52"));
  CHECK(record_of(monitor::detail::restart_event(
            {.wall_time = std::bit_cast<double>(0x41dac1329c31fad3U), .step = 4})) ==
        from_hex("0f000000000000006d532b0909d3fa319c32c1da4110043a020801f07ff556"));
  const std::string png = from_hex(
      "89504e470d0a1a0a0000000d49484452000000030000000208020000001216f14d0000000b49444154789c6360c0"
      "0400001400017dfe1eee0000000049454e44ae426082");
  CHECK(record_of(monitor::detail::image_event(
            {.wall_time = std::bit_cast<double>(0x41dac1329c3182abU), .step = 5}, "pic",
            std::as_bytes(std::span(png.data(), png.size())))) ==
        from_hex("620000000000000079fd606f09ab82319c32c1da4110052a550a530a03706963224c0802100318"
                 "032244") +
            png + from_hex("6ce42521"));
}

TEST_CASE("an event file says its version, then what was written, once it is flushed") {
  const test::TemporaryFolder folder;
  EventFile file(folder.path() / "tb/run");
  CHECK(file.path().parent_path() == folder.path() / "tb/run");
  CHECK(file.path().filename().string().starts_with("events.out.tfevents."));
  REQUIRE(messages_of(file.path()).size() == 1);
  CHECK(messages_of(file.path()).front().substr(9) ==
        "\x1a\x0d"
        "brain.Event:2");
  file.scalar("train/loss", 1, 0.25);
  CHECK(messages_of(file.path()).size() == 1);
  file.flush();
  const std::vector<std::string> messages = messages_of(file.path());
  REQUIRE(messages.size() == 2);
  const std::string at_zero = monitor::detail::scalar_event({.step = 1}, "train/loss", 0.25);
  CHECK(messages.back().substr(9) == at_zero.substr(9));  // all but the time
}

TEST_CASE("what was written is flushed when the interval is over, and at the end") {
  const test::TemporaryFolder folder;
  {
    EventFile file(folder.path(), {.flush_every = std::chrono::milliseconds(0)});
    file.scalar("a", 1, 1.0);
    CHECK(messages_of(file.path()).size() == 2);
  }
  {
    EventFile file(folder.path());
    file.scalar("a", 1, 1.0);
  }
  CHECK(messages_of(files_of(folder.path()).back()).size() == 3);
}

TEST_CASE("a process that goes on has a file behind those of before, which voids their steps") {
  const test::TemporaryFolder folder;
  std::vector<fs::path> made;
  for (const std::int64_t first : {0, 7, 300})
    made.push_back(EventFile(folder.path(), {.first_step = first}).path());
  CHECK(files_of(folder.path()) == made);
  CHECK(messages_of(made[0]).size() == 1);
  for (std::size_t i = 1; i < made.size(); ++i) {
    const std::vector<std::string> messages = messages_of(made[i]);
    REQUIRE(messages.size() == 2);
    CHECK(messages[1].substr(9) ==
          monitor::detail::restart_event({.step = i == 1 ? 7 : 300}).substr(9));
  }
}

TEST_CASE("a picture must be a PNG file") {
  const test::TemporaryFolder folder;
  EventFile file(folder.path());
  CHECK_THROWS_WITH_AS(file.image("pic", 1, std::vector<std::byte>(40)),
                       doctest::Contains("pic: must be a PNG file, got 40 bytes"), ConfigError);
}

TEST_CASE("a full disk is warned of once, and nothing is thrown") {
  const test::TemporaryFolder folder;
  std::vector<std::string> warnings;
  const monitor::EventFileOptions options{
      .flush_every = std::chrono::milliseconds(0),
      .warn = [&](const std::string& line) { warnings.push_back(line); }};
  {
    EventFile file(folder.path(), options);
    const SmallFiles full(100);
    for (int step = 0; step < 10; ++step)
      file.scalar("train/loss", step, 0.5);
    file.flush();
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].starts_with("[event file] " + file.path().string()));
    CHECK(warnings[0].find("File too large") != std::string::npos);
  }
  CHECK(warnings.size() == 1);
}

TEST_CASE("a folder that cannot be made is warned of once, and nothing is thrown") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "tb") << "a file";
  std::vector<std::string> warnings;
  EventFile file(folder.path() / "tb" / "run",
                 {.warn = [&](const std::string& line) { warnings.push_back(line); }});
  file.scalar("a", 1, 1.0);
  file.flush();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("Not a directory") != std::string::npos);
}
