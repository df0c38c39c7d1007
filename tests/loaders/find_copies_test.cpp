#include <headrace/engine/base/error.h>
#include <headrace/loaders/listing/internal/find_copies.h>
#include <headrace/loaders/listing/internal/kept_sums.h>
#include <headrace/tests/support/no_more_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using headrace::detail::CopySearch;
using headrace::detail::find_copies;
using headrace::detail::FoundCopies;
using headrace::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

using Sets = std::vector<std::vector<std::size_t>>;

/// Files that are searched, each a record, and how many were asked for.
struct Files {
  std::vector<std::vector<std::string>> records{};
  mutable std::atomic<std::size_t> opened = 0;

  void add(const fs::path& file) { records.push_back({file.native()}); }
  void write(const fs::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    add(file);
  }
  CopySearch search() const {
    return {.records = records.size(),
            .bytes =
                [this](std::size_t i) {
                  std::uint64_t bytes = 0;
                  for (const std::string& file : records[i])
                    bytes += fs::exists(file) ? fs::file_size(file) : 7;
                  return bytes;
                },
            .files =
                [this](std::size_t i) {
                  ++opened;
                  return records[i];
                }};
  }
};

/// Old enough to be known again by its time.
void settle(const Files& files) {
  const auto before = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& record : files.records)
    for (const std::string& file : record)
      fs::last_write_time(file, before);
}

std::string large(char middle) {
  std::string bytes(std::size_t{1} << 20, 'x');
  bytes[300'000] = middle;  // between the stretches that are looked at first
  return bytes;
}

}  // namespace

TEST_CASE("copies are found by path, link and bytes, and by nothing less") {
  const TemporaryFolder root;
  Files files;
  files.write(root / "a", "first");
  files.write(root / "b", "other");
  files.write(root / "c", "first");
  files.write(root / "longer", "first and more");
  files.add(root / "./a");
  fs::create_symlink("b", root / "link");
  files.add(root / "link");
  fs::create_hard_link(root / "longer", root / "hard");
  files.add(root / "hard");
  files.write(root / "large1", large('1'));
  files.write(root / "large2", large('2'));
  files.write(root / "large3", large('1'));
  files.write(root / "empty1", "");
  files.write(root / "empty2", "");
  files.add(root / "missing");
  files.add(root / "missing");
  const FoundCopies found = find_copies(files.search());
  CHECK(found.sets == Sets{{0, 2, 4}, {1, 5}, {3, 6}, {7, 9}});
  CHECK(found.forecast_s == 0.0);
}

TEST_CASE("a record of several files is a copy where all of them are") {
  const TemporaryFolder root;
  Files files;
  for (const char* name : {"zeros", "one", "two"})
    std::ofstream(root / name) << name << (name[0] == 'z' ? "" : "..");
  const auto record = [&](const char* a, const char* b) {
    files.records.push_back({(root / a).native(), (root / b).native()});
  };
  record("zeros", "one");
  record("zeros", "two");
  record("one", "zeros");
  record("zeros", "one");
  CHECK(find_copies(files.search()).sets == Sets{{0, 3}});
}

TEST_CASE("what was read once is kept, and read again where size or time differ") {
  const TemporaryFolder root;
  Files files;
  for (int i = 0; i < 4; ++i)
    files.write(root / std::to_string(i), i % 2 == 0 ? large('1') : large('2'));
  settle(files);
  CopySearch search = files.search();
  search.kept = root / "kept.sums";
  CHECK(find_copies(search).sets == Sets{{0, 2}, {1, 3}});

  // Other bytes under the same size and time are not looked at again, which shows that none are.
  const auto before = fs::last_write_time(files.records[3][0]);
  std::ofstream(files.records[3][0], std::ios::binary) << large('3');
  fs::last_write_time(files.records[3][0], before);
  CHECK(find_copies(search).sets == Sets{{0, 2}, {1, 3}});
  fs::last_write_time(files.records[3][0], before + std::chrono::seconds(1));
  CHECK(find_copies(search).sets == Sets{{0, 2}});

  for (const std::string& broken :
       {std::string(), std::string("nonsense"), std::string(200, 'x')}) {
    std::ofstream(search.kept, std::ios::binary) << broken;
    CHECK(find_copies(search).sets == Sets{{0, 2}});
  }
}

TEST_CASE("a look forecasts how long all take, and what was decided holds") {
  const TemporaryFolder root;
  Files files;
  for (int i = 0; i < 2000; ++i)
    files.write(root / std::to_string(i), std::to_string(1000 + i / 2));
  settle(files);
  CopySearch search = files.search();
  search.kept = root / "kept.sums";
  search.most_seconds = 120.0;
  double seconds = 0.0;
  double step = 50.0;
  search.clock = [&] { return seconds += step; };
  const FoundCopies slow = find_copies(search);
  CHECK(slow.sets.empty());
  CHECK(slow.forecast_s > 120.0);
  CHECK(slow.compared == 2000);
  CHECK(files.opened < 600);

  step = 0.0;  // a fast disk decides as the slow one did
  files.opened = 0;
  CHECK(find_copies(search).forecast_s == slow.forecast_s);
  CHECK(files.opened == 0);
  search.most_seconds = 0.0;
  CHECK(find_copies(search).sets.size() == 1000);
  search.most_seconds = 120.0;
  step = 50.0;
  CHECK(find_copies(search).sets.size() == 1000);

  files.write(root / "more", "1000");  // others are other data
  search.records = files.records.size();
  CHECK(find_copies(search).forecast_s > 120.0);
}

TEST_CASE("a stop ends the search without a word of copies") {
  const TemporaryFolder root;
  Files files;
  files.write(root / "a", "first");
  files.write(root / "b", "first");
  std::stop_source stop;
  stop.request_stop();
  CopySearch search = files.search();
  search.stop = stop.get_token();
  CHECK(find_copies(search).sets.empty());
}

TEST_CASE("where no file can be opened the search ends, and takes none for one of its own") {
  const TemporaryFolder root;
  Files files;
  files.write(root / "a", "same");
  files.write(root / "b", "same");
  {
    const headrace::test::NoMoreFiles limit;
    CHECK_THROWS_AS(find_copies(files.search()), headrace::ResourceError);
  }
  CHECK(find_copies(files.search()).sets == Sets{{0, 1}});
}
