// Packages are fetched with programs of the same names that stand before the system's on PATH.
#include <headrace/apps/feed/debian_package.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::TemporaryFolder;

/// A variable of the environment with another value, while it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// Programs of one's own and an empty cache, while it lives.
struct FakeDebian {
  TemporaryFolder folder;
  Variable path{"PATH", (folder / "bin").string() + ":" + std::getenv("PATH")};
  Variable cache{"XDG_CACHE_HOME", (folder / "cache").string()};

  FakeDebian() {
    fs::create_directories(folder / "bin");
    program("apt-get", "echo \"$2\" > \"$2_1_all.deb\"");
    program("dpkg-deb", "mkdir -p \"$3/usr/share/it\" && cp \"$2\" \"$3/usr/share/it/words\"");
  }
  void program(const std::string& name, const std::string& text) const {
    const fs::path file = folder / "bin" / name;
    std::ofstream(file) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(file, fs::perms::owner_all);
  }
};

std::string data_error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const headrace::DataError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a package is fetched and unpacked once, and only with the sum that is known of it") {
  const FakeDebian debian;
  int said = 0;
  const auto fetch = [&](const std::string& sum) {
    return app::debian_package("words", sum, [&](std::string_view) { ++said; });
  };
  const std::string wrong(64, '0');
  CHECK(contains(data_error_of([&] { fetch(wrong); }), "must have the SHA-256 " + wrong));
  CHECK(said == 1);
  const std::string right = "ff646650bc064e5981d37e75caf62e8551f146dff3b8967dd9cf36d263480e3a";
  CHECK(content_of(fetch(right) / "usr/share/it/words") == "words\n");
  CHECK(said == 2);
  debian.program("apt-get", "exit 1");
  CHECK(content_of(fetch(right) / "usr/share/it/words") == "words\n");
  CHECK(said == 2);
}

TEST_CASE("of a package the folder that is wanted is kept, and another's folder is left alone") {
  const FakeDebian debian;
  const fs::path target = app::cache_folder() / "it";
  app::fetch_debian_package({.name = "words", .folder = "usr/share/it"}, target);
  CHECK(content_of(target / "words") == "words\n");
  app::fetch_debian_package({.name = "others", .folder = "usr/share/it"}, target);
  CHECK(content_of(target / "words") == "words\n");
  CHECK(std::distance(fs::directory_iterator(app::cache_folder()), {}) == 1);
}

TEST_CASE("a folder that lacks a file is replaced by the package, and stays where there is none") {
  const FakeDebian debian;
  const fs::path target = app::cache_folder() / "it";
  fs::create_directories(target);
  std::ofstream(target / "mine") << "kept";
  const auto fetch = [&] {
    app::fetch_debian_package(
        {.name = "words",
         .folder = "usr/share/it",
         .complete = [](const fs::path& folder) { return fs::exists(folder / "words"); }},
        target);
  };
  debian.program("dpkg-deb", "exit 2");
  CHECK(contains(data_error_of(fetch), "dpkg-deb"));
  CHECK(content_of(target / "mine") == "kept");
  debian.program("dpkg-deb", "mkdir -p \"$3/usr/share/it\" && cp \"$2\" \"$3/usr/share/it/words\"");
  fetch();
  CHECK(content_of(target / "words") == "words\n");
  CHECK_FALSE(fs::exists(target / "mine"));
}

TEST_CASE("a package that cannot be fetched or unpacked leaves no target and says the way out") {
  const FakeDebian debian;
  const fs::path target = app::cache_folder() / "it";
  const auto fetch = [&] {
    app::fetch_debian_package(
        {.name = "words", .folder = "usr/share/it", .way_out = "ask a friend"}, target);
  };
  debian.program("dpkg-deb", "echo full; exit 2");
  CHECK(data_error_of(fetch) ==
        "[prepare] dpkg-deb -x of words must succeed, got exit 2 (full); ask a friend");
  debian.program("apt-get", "echo offline; exit 100");
  CHECK(data_error_of(fetch) ==
        "[prepare] apt-get download of words must succeed, got exit 100 (offline); ask a friend");
  debian.program("apt-get", "true");
  CHECK(contains(data_error_of(fetch), "must leave a package, got none"));
  CHECK(fs::is_empty(app::cache_folder()));
}
