#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using headrace::detail::content_sample;
using headrace::detail::content_sum;
using headrace::detail::file_stamp;
using headrace::detail::mark_of_files;
using headrace::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

fs::path written(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

std::string noise(std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint32_t state = 1;
  for (char& byte : text)
    byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

}  // namespace

TEST_CASE(
    "a byte that differs in head, middle or tail is seen, one between only by the sum of all") {
  const TemporaryFolder folder;
  const std::string bytes = noise(1 << 20);
  const fs::path file = written(folder.path() / "a", bytes);
  const fs::path other = folder.path() / "b";
  written(other, bytes);
  CHECK(content_sample(other) == content_sample(file));
  CHECK(content_sum(other) == content_sum(file));
  for (const std::size_t place : {0UL, 65535UL, bytes.size() / 2, bytes.size() - 1, 200'000UL}) {
    std::string changed = bytes;
    changed[place] = static_cast<char>(changed[place] ^ 1);
    written(other, changed);
    CAPTURE(place);
    CHECK((content_sample(other) == content_sample(file)) == (place == 200'000UL));
    CHECK(content_sum(other) != content_sum(file));
  }
}

TEST_CASE("short files are looked at whole, and their length counts") {
  const TemporaryFolder folder;
  const std::string bytes = noise(3 * 65536);
  const auto first = content_sample(written(folder.path() / "a", bytes));
  std::string changed = bytes;
  changed[70'000] = static_cast<char>(changed[70'000] ^ 1);
  CHECK(content_sample(written(folder.path() / "b", changed)) != first);
  CHECK(content_sample(written(folder.path() / "c", "")) !=
        content_sample(written(folder.path() / "d", std::string(1, '\0'))));
  CHECK(content_sample(written(folder.path() / "e", std::string(2, '\0'))) !=
        content_sample(folder.path() / "d"));
}

TEST_CASE("a stamp holds size and time and follows links; what is not there is named") {
  const TemporaryFolder folder;
  const fs::path file = written(folder.path() / "a", "12345");
  fs::create_symlink(file, folder.path() / "link");
  const auto before = file_stamp(file);
  CHECK(before.bytes == 5);
  CHECK(file_stamp(folder.path() / "link") == before);
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::nanoseconds(4'000'000));
  CHECK(file_stamp(file).modified_ns - before.modified_ns == 4'000'000);
  CHECK_THROWS_WITH_AS(file_stamp(folder.path() / "none"),
                       doctest::Contains("none: cannot be read: No such file"),
                       headrace::ConfigError);
}

TEST_CASE(
    "a mark of many files tells another time, sampled content and lack of one, on any threads") {
  const TemporaryFolder folder;
  std::vector<fs::path> files;
  for (int i = 0; i < 200; ++i)
    files.push_back(written(folder.path() / std::to_string(i), "content " + std::to_string(i)));
  const auto mark = [&](int threads) {
    return mark_of_files(
        files.size(), [&](std::size_t i) { return files[i]; }, threads);
  };
  const auto before = mark(1);
  CHECK(mark(4) == before);
  const auto time = fs::last_write_time(files[0]);
  written(files[0], "CONTENT 0");
  fs::last_write_time(files[0], time);
  const auto other_content = mark(1);
  CHECK(other_content != before);
  fs::last_write_time(files[101], time + std::chrono::seconds(1));
  const auto other_time = mark(1);
  CHECK(other_time != other_content);
  fs::remove(files[150]);
  CHECK(mark(1) != other_time);
}

TEST_CASE("what was changed is named with both sizes and times, and is nothing to pass over") {
  headrace::detail::require_unchanged("a", {5, 1}, {5, 1});
  CHECK_THROWS_WITH_AS(
      headrace::detail::require_unchanged("a", {5, 1'000'000'001}, {7, 86'400'000'000'000}),
      doctest::Contains("a: must stay as it is while it is read, was 5 bytes of 1970-01-01 "
                        "00:00:01.000000001 UTC, is 7 bytes of 1970-01-02 00:00:00.000000000 UTC;"),
      headrace::PipelineError);
}

TEST_CASE("a file that ends before its length is told from a whole one") {
  // The kernel gives its settings a page each, and less to read.
  const fs::path setting = "/sys/kernel/mm/transparent_hugepage/enabled";
  if (!fs::exists(setting)) return headrace::test::skip("needs /sys");
  REQUIRE(fs::file_size(setting) > 1000);
  CHECK_THROWS_WITH_AS(content_sum(setting), doctest::Contains("bytes, ends after"),
                       headrace::DataError);
}
