#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::test::contains;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::run_program;
using headrace::test::TemporaryFolder;

using Words = std::vector<std::string>;

// The libraries that start with a program, as the loader of programs lists them.
std::string libraries_of(const std::filesystem::path& program) {
  const TemporaryFolder folder;
  const Finished finished = run_program(
      "/usr/bin/env", {"LD_TRACE_LOADED_OBJECTS=1", program.string()}, {.folder = folder.path()});
  REQUIRE(contains(finished.out, "libstdc++.so"));
  return finished.out;
}

}  // namespace

TEST_CASE("headrace starts without LibTorch, the program that trains with it") {
  const std::filesystem::path program = HEADRACE_PROGRAM;
  const std::string libraries = libraries_of(program);
  CHECK_FALSE(contains(libraries, "libtorch"));
  CHECK_FALSE(contains(libraries, "libc10"));
  CHECK_FALSE(contains(libraries, "libcuda"));
  const std::filesystem::path trains = program.parent_path() / "headrace-train";
  if (std::filesystem::exists(trains)) CHECK(contains(libraries_of(trains), "libtorch"));
}

TEST_CASE("an unknown command is a mistake, whatever follows it, and the nearest one is named") {
  const TemporaryFolder folder;
  struct Mistake {
    Words words;
    std::string must_be;  ///< of the message
    std::string meant;    ///< likewise
  };
  const std::string first = "headrace must be followed by one of new, train, predict, evaluate, ";
  const std::string pack =
      "headrace pack must be followed by one of table, images, volumes, verify, ";
  const std::vector<Mistake> mistakes{
      {{"nonsense"}, first, "got \"nonsense\"; see headrace --help"},
      {{"nonsense", "--help"}, first, "got \"nonsense\"; see headrace --help"},
      {{"--help", "nonsense"}, first, "got \"nonsense\""},
      {{"nonsense", "--version"}, first, "got \"nonsense\""},
      {{"nonsense", "train", "--help"}, first, "got \"nonsense\""},
      {{"trian", "x.yaml"}, first, "got \"trian\"; did you mean headrace train?"},
      {{"trian", "x.yaml", "--set", "a=b", "--help"}, first, "did you mean headrace train?"},
      {{"verfiy", "x.pack"}, first, "did you mean headrace pack verify?"},
      {{"pack", "nonsense", "--help"}, pack, "got \"nonsense\"; see headrace pack --help"},
      {{"pack", "tabel", "a.h5", "b.h5"}, pack, "did you mean headrace pack table?"},
      {{"prepare", "nonsense"},
       "prepare must be followed by one of ",
       "see headrace prepare --help"},
      {{"bench", "laoder", "x.yaml"},
       "must be followed by one of loader, ",
       "headrace bench loader?"},
  };
  for (const Mistake& mistake : mistakes) {
    const Finished finished = run_headrace(folder.path(), mistake.words);
    CAPTURE(finished.out);
    CAPTURE(finished.err);
    CHECK(finished.status == 2);
    CHECK(finished.out.empty());
    CHECK(contains(finished.err, mistake.must_be));
    CHECK(contains(finished.err, mistake.meant));
  }
}

TEST_CASE("help and the version are no mistakes, at every level") {
  const TemporaryFolder folder;
  const std::vector<Words> questions{{"--help"},          {"-h"},
                                     {"train", "--help"}, {"--help", "train"},
                                     {"pack", "--help"},  {"pack", "table", "--help"},
                                     {"--version"},       {"prepare", "--help"}};
  for (const Words& words : questions) {
    const Finished finished = run_headrace(folder.path(), words);
    CAPTURE(words.front());
    CHECK(finished.status == 0);
    CHECK_FALSE(finished.out.empty());
    CHECK(finished.err.empty());
  }
}

TEST_CASE("a log level that is none is refused with the list before anything is read") {
  const TemporaryFolder folder;
  const Finished finished =
      run_headrace(folder.path(), {"train", "no.yaml", "--log-level", "loud"});
  CHECK(finished.status == 2);
  for (const char* word : {"--log-level", "trace", "debug", "info", "warn", "error", "loud"})
    CHECK_MESSAGE(contains(finished.err, word), finished.err);
}

TEST_CASE("other mistakes keep their own words") {
  const TemporaryFolder folder;
  CHECK(run_headrace(folder.path(), {}).status == 2);
  CHECK(contains(run_headrace(folder.path(), {"pack"}).err, "subcommand is required"));
  CHECK(run_headrace(folder.path(), {"--hlep"}).status == 2);
  CHECK(contains(run_headrace(folder.path(), {"train", "--hlep"}).err, "--hlep"));
  CHECK(contains(run_headrace(folder.path(), {"pack", "table", "a", "b", "more"}).err, "more"));
}
