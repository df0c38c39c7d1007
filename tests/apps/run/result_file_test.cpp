#include <headrace/apps/run/result_file.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using headrace::ConfigError;
using headrace::app::ResultFile;
using headrace::test::content_of;
using headrace::test::TemporaryFolder;

ResultFile file(const fs::path& path, const fs::path& other = {}) {
  return ResultFile(path, "[test] --json", {other});
}

}  // namespace

TEST_CASE("a result goes behind a link, which stays one, also where it leads to nothing yet") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "kept");
  const fs::path link = folder.path() / "link.json";
  fs::create_symlink("kept/result.json", link);
  for (const char* text : {"first", "second"}) {
    file(link).write(text);
    CHECK(fs::is_symlink(link));
    CHECK(content_of(folder.path() / "kept/result.json") == text);
  }
}

TEST_CASE("a result is written into a pipe or a device, which stays what it is") {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  file(pipe).write("text");
  std::array<char, 8> got{};
  CHECK(::read(reader, got.data(), got.size()) == 4);
  CHECK(std::string(got.data()) == "text");
  ::close(reader);
  CHECK(fs::is_fifo(pipe));
  const fs::path device = folder.path() / "null";
  fs::create_symlink("/dev/null", device);
  file(device).write("text");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(fs::is_symlink(device));
}

TEST_CASE("a result takes the place of no other file of the command, by any name of it") {
  const TemporaryFolder folder;
  const fs::path config = folder.path() / "job.yaml";
  std::ofstream(config) << "kind: loader\n";
  fs::create_symlink("job.yaml", folder.path() / "link.yaml");
  for (const fs::path& path :
       {config, folder.path() / "link.yaml", folder.path() / "." / "job.yaml"})
    CHECK_THROWS_AS(file(path, config), ConfigError);
  const fs::path later = folder.path() / "later.yaml";
  CHECK_THROWS_AS(file(later, later), ConfigError);
  CHECK_NOTHROW(file(later, config));
  CHECK_NOTHROW(file("/dev/null", "/dev/null"));
}

TEST_CASE("a result that could not be written is refused before there is one") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(file(folder.path() / "nowhere/x.json"), ConfigError);
  CHECK_THROWS_AS(file(folder.path()), ConfigError);
  CHECK_NOTHROW(file("").write("text"));
  CHECK_FALSE(file(folder.path() / "x.json").is_there());
}
