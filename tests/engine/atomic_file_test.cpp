#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/tests/support/peak_memory.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using headrace::read_whole_file;
using headrace::read_whole_text;
using headrace::remove_stale_temporaries;
using headrace::ResourceError;
using headrace::write_file_atomically;
using headrace::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

std::vector<std::byte> file_bytes(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

std::ptrdiff_t files_in(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

// A process number that no process has now.
pid_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

// As a process does that is killed while it writes `path`.
void leave_temporary(const std::filesystem::path& path) {
  const pid_t child = ::fork();
  if (child == 0)
    write_file_atomically(path, {.size = 3, .pieces = [](const auto&) { ::_exit(0); }});
  ::waitpid(child, nullptr, 0);
}

}  // namespace

TEST_CASE("a file is replaced whole and leaves nothing beside it") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  write_file_atomically(path, file_bytes("old"));
  write_file_atomically(path, file_bytes("newer"));
  CHECK((read_whole_file(path) == file_bytes("newer")));
  write_file_atomically(path, "");
  CHECK(read_whole_file(path).empty());
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a file is written of pieces, and read back differently it never gets its name") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  const std::vector<std::byte> piece(3 << 20, std::byte{5});
  int calls = 0;
  bool same = true;
  const headrace::FileContent content{.size = 2 * piece.size() + 3,
                                      .pieces = [&](const headrace::ByteSink& sink) {
                                        sink(piece);
                                        sink(file_bytes("abc"));
                                        if (++calls % 2 == 0 && !same)
                                          return sink(file_bytes(std::string(piece.size(), 'x')));
                                        sink(piece);
                                      }};
  write_file_atomically(path, content);
  const auto written = read_whole_file(path);
  CHECK(written.size() == content.size);
  CHECK((written[piece.size() + 2] == static_cast<std::byte>('c')));
  CHECK((written.back() == std::byte{5}));

  same = false;
  std::string message;
  try {
    write_file_atomically(path, content);
  } catch (const ResourceError& error) {
    message = error.what();
  }
  CHECK(message.find("reads back differently") != std::string::npos);
  CHECK((read_whole_file(path) == written));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("what the content throws goes on, and the old file stays") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  write_file_atomically(path, file_bytes("old"));
  const headrace::FileContent content{
      .size = 9, .pieces = [](const headrace::ByteSink&) { throw std::logic_error("no"); }};
  CHECK_THROWS_AS(write_file_atomically(path, content), std::logic_error);
  CHECK((read_whole_file(path) == file_bytes("old")));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a disk that takes no more keeps the old file and names the cause") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  write_file_atomically(path, file_bytes("old"));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 100;
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    write_file_atomically(path, std::vector<std::byte>(1000), {.who = "somebody"});
  } catch (const ResourceError& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  CHECK(message.find("File too large") != std::string::npos);
  CHECK(message.starts_with("[somebody] " + path.string()));
  CHECK((read_whole_file(path) == file_bytes("old")));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("what is read whole is small: a sparse file of 4 GB is refused at once") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "memory.json";
  write_file_atomically(path, "{}");
  CHECK(read_whole_text(path) == "{}");
  CHECK(read_whole_text(path, "somebody", 2) == "{}");
  CHECK_THROWS_AS(read_whole_text(path, "somebody", 1), ResourceError);
  CHECK(read_whole_text(folder.path() / "none").empty());
  std::filesystem::resize_file(path, std::uintmax_t{4} << 30);
  std::string message;
  CHECK(headrace::test::peak_growth([&] {
          try {
            read_whole_text(path, "somebody");
          } catch (const ResourceError& error) {
            message = error.what();
          }
        }) < 16 << 20);
  CHECK(message.starts_with("[somebody] " + path.string() +
                            ": must be at most 67108864 bytes, got 4294967296"));
}

TEST_CASE("a folder that is not there is named") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(write_file_atomically(folder.path() / "no" / "file", "x"), ResourceError);
  CHECK_THROWS_AS(read_whole_file(folder.path() / "no"), ResourceError);
  CHECK_THROWS_AS(read_whole_file(folder.path()), ResourceError);
}

TEST_CASE("a folder of the file's name stays and nothing is left beside it") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "taken");
  CHECK_THROWS_AS(write_file_atomically(folder.path() / "taken", "a"), ResourceError);
  CHECK(std::filesystem::is_directory(folder.path() / "taken"));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a process killed while it writes leaves the old file or the new one") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  const std::vector<std::byte> small(1 << 20, std::byte{1});
  const std::vector<std::byte> large(1 << 21, std::byte{2});
  write_file_atomically(path, small);
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        write_file_atomically(path, large);
        write_file_atomically(path, small);
      }
    }
    ::usleep(static_cast<useconds_t>(3000 + 1700 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto found = read_whole_file(path);
    CHECK((found == small || found == large));
  }
  remove_stale_temporaries(folder.path());
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("only temporary files that nobody writes any more are removed") {
  const TemporaryFolder folder;
  const auto touch = [&](const std::string& name) { std::ofstream(folder.path() / name) << "x"; };
  leave_temporary(folder.path() / "a");
  const fs::path stale = fs::directory_iterator(folder.path())->path();
  // As another machine that shares the folder names its own: no process here has the number.
  const std::string foreign = "b.tmp-" + std::to_string(ended_process()) + "-77-0";
  for (const std::string& name : {foreign, std::string("a.tmp-"), std::string("a.tmp-12x-0"),
                                  std::string("a.tmp-7"), std::string("a")})
    touch(name);
  auto removed = remove_stale_temporaries(folder.path());
  REQUIRE(removed.size() == 1);
  CHECK(removed[0] == stale);
  // What nobody has written to for days has no writer anywhere.
  for (const auto& entry : fs::directory_iterator(folder.path()))
    fs::last_write_time(entry.path(), fs::last_write_time(entry.path()) - std::chrono::hours(25));
  removed = remove_stale_temporaries(folder.path());
  REQUIRE(removed.size() == 1);
  CHECK(removed[0].filename() == foreign);
  CHECK(files_in(folder.path()) == 4);
}

TEST_CASE("what a killed process left is removed, and what is being written stays") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  leave_temporary(path);
  const headrace::FileContent content{.size = 3, .pieces = [&](const headrace::ByteSink& sink) {
                                        remove_stale_temporaries(folder.path());
                                        CHECK(files_in(folder.path()) == 1);
                                        sink(file_bytes("new"));
                                      }};
  write_file_atomically(path, content);
  CHECK((read_whole_file(path) == file_bytes("new")));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("of one folder's names no two are alike") {
  const std::string first = headrace::unique_word();
  CHECK(first != headrace::unique_word());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(headrace::unique_word() == headrace::unique_word() ? 1 : 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}
