// A table that was made before a fork: both processes read the file's rows, or one is told why not.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_helper.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/support/forked_child.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace headrace::test {
namespace {

using P = H5::PredType;

constexpr std::int64_t fork_rows = 3000, fork_values = 16;
constexpr std::size_t fork_row_bytes = fork_values * 4;

/// The library is left to helpers while this lives.
struct LibraryIn {
  explicit LibraryIn(bool wanted) { use_hdf5_helper(wanted); }
  ~LibraryIn() { use_hdf5_helper(std::getenv("HEADRACE_TEST_HDF5_HELPER") != nullptr); }
};

struct ForkWay {
  const char* dataset;
  Residence residence;
  bool helper;
};

/// Everything that reads rows from a file: past the library, and through it on its thread and in a
/// helper.
constexpr ForkWay fork_ways[] = {{"/plain", Residence::pread, false},
                                 {"/packed", Residence::cached, false},
                                 {"/plain", Residence::library, false},
                                 {"/packed", Residence::library, true},
                                 {"/packed", Residence::resident, true}};

class ForkedTable {
 public:
  ForkedTable() : values_(noise(fork_rows * fork_row_bytes)) {
    const H5::H5File file(path().c_str(), H5F_ACC_TRUNC);
    write(file, {"plain", P::STD_I32LE, {fork_rows, fork_values}}, values_.data(), P::NATIVE_INT32);
    write(file, {"packed", P::STD_I32LE, {fork_rows, fork_values}, {10, fork_values}, 1},
          values_.data(), P::NATIVE_INT32);
  }

  std::filesystem::path path() const { return folder_ / "table.h5"; }
  std::unique_ptr<Hdf5Table> open(const ForkWay& way) const {
    const LibraryIn library(way.helper);
    return std::make_unique<Hdf5Table>(Hdf5TableOptions{.file = path(),
                                                        .fields = {{"x", way.dataset}},
                                                        .memory = 1_MiB,
                                                        .residence = way.residence});
  }
  /// Rows that are not the file's, of all of them in blocks from `first` on.
  std::int64_t wrong(const Hdf5Table& table, std::int64_t first) const {
    constexpr std::int64_t block = 50;
    std::int64_t wrong = 0;
    for (std::int64_t begin = 0; begin < fork_rows; begin += block) {
      std::vector<std::int64_t> indices;
      for (std::int64_t k = 0; k < block; ++k)
        indices.push_back((first + begin + 7 * k) % fork_rows);
      const std::vector<std::byte> got = gathered(table, indices)[0];
      const std::vector<std::byte> expected = pick(values_, fork_row_bytes, indices);
      for (std::size_t k = 0; k < indices.size(); ++k)
        wrong += std::equal(got.begin() + static_cast<std::ptrdiff_t>(k * fork_row_bytes),
                            got.begin() + static_cast<std::ptrdiff_t>((k + 1) * fork_row_bytes),
                            expected.begin() + static_cast<std::ptrdiff_t>(k * fork_row_bytes))
                     ? 0
                     : 1;
    }
    return wrong;
  }

 private:
  TemporaryFolder folder_;
  std::vector<std::byte> values_;
};

}  // namespace

TEST_CASE("both processes read a table that was made before the fork, at the same time" *
          doctest::skip(cannot_fork)) {
  const ForkedTable forked;
  for (const ForkWay& way : fork_ways) {
    CAPTURE(way.dataset);
    CAPTURE(static_cast<int>(way.residence));
    CAPTURE(way.helper);
    auto table = forked.open(way);
    CHECK(forked.wrong(*table, 0) == 0);
    ForkedChild child([&] {
      std::int64_t wrong = 0;
      for (int i = 0; i < 5; ++i)
        wrong += forked.wrong(*table, 1500 + i);
      table.reset();
      return std::to_string(wrong);
    });
    std::int64_t wrong = 0;
    for (int i = 0; i < 5; ++i)
      wrong += forked.wrong(*table, i);
    CHECK(wrong == 0);
    CHECK(child.said() == "0");
    CHECK(forked.wrong(*table, 0) == 0);
  }
}

TEST_CASE("a table that other threads read when the process forks hangs no child" *
          doctest::skip(cannot_fork_at_work)) {
  const ForkedTable forked;
  for (const ForkWay& way : fork_ways) {
    CAPTURE(way.dataset);
    CAPTURE(static_cast<int>(way.residence));
    CAPTURE(way.helper);
    auto table = forked.open(way);
    std::atomic<bool> over{false};
    std::atomic<std::int64_t> wrong{0};
    std::thread reader([&] {
      for (std::int64_t i = 0; !over; ++i)
        wrong += forked.wrong(*table, i);
    });
    for (int i = 0; i < 8; ++i) {
      const std::string said = in_a_child([&] {
        const std::string read = std::to_string(forked.wrong(*table, 0));
        table.reset();
        return read;
      });
      // The library itself may have been at work: then nobody can use it in the child.
      const bool told = contains(said, "was forked while another thread of it was in the HDF5");
      CHECK((said == "0" || (told && !way.helper && way.residence == Residence::library)));
    }
    over = true;
    reader.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("a forked process opens tables of its own beside those of the other one" *
          doctest::skip(cannot_fork)) {
  const ForkedTable forked;
  for (const ForkWay& way : fork_ways) {
    CAPTURE(way.dataset);
    CAPTURE(way.helper);
    const auto before = forked.open(way);
    CHECK(in_a_child([&] {
            const auto table = forked.open(way);
            return std::to_string(forked.wrong(*table, 5));
          }) == "0");
    CHECK(forked.wrong(*before, 0) == 0);
  }
}

TEST_CASE("a file that is being written is left alone by a forked process" *
          doctest::skip(cannot_fork)) {
  const TemporaryFolder folder;
  const auto path = folder / "made.h5";
  auto writer = std::make_unique<Hdf5Writer>(path);
  writer->add("x", DType::int32, 40, {16});
  const Tensor half = Tensor::zeros(DType::int32, {20, 16});
  writer->append("x", half);
  const std::string said = in_a_child([&] {
    const std::string told = message_of<PipelineError>([&] { writer->append("x", half); }) + "; " +
                             message_of<PipelineError>([&] { writer->attribute("how", "made"); });
    writer.reset();
    return told;
  });
  CHECK(contains(said, "made.h5"));
  CHECK(contains(said, "; [hdf5] "));
  CHECK(contains(said, "make it after the fork"));
  writer->append("x", half);
  writer->finish();
  const Hdf5Table table({.file = path, .fields = {{"x", "/x"}}});
  CHECK(table.size() == 40);
  CHECK(gathered(table, scattered(40, 40))[0] == std::vector<std::byte>(40 * 16 * 4));
}

TEST_CASE("the end of a forked process writes nothing into a file in the making" *
          doctest::skip(cannot_fork_at_work)) {
  const TemporaryFolder folder;
  const auto path = folder / "made.h5";
  constexpr std::int64_t rows = 4000;
  const std::vector<std::byte> values = noise(rows * fork_row_bytes);
  const auto part = [&](std::int64_t first) {
    return Tensor::borrow(
        const_cast<std::byte*>(values.data()) + first * std::int64_t{fork_row_bytes}, DType::int32,
        {rows / 2, fork_values});
  };
  Hdf5Writer writer(path);
  writer.add("x", DType::int32, rows, {fork_values}, {.chunk_rows = 1});
  writer.append("x", part(0));
  int go[2];
  REQUIRE(::pipe(go) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(240);
    char word = 0;
    std::exit(::read(go[0], &word, 1) == 1 ? 0 : 1);  // the library ends there, too
  }
  writer.append("x", part(rows / 2));
  writer.attribute("how", "made");
  writer.finish();
  REQUIRE(::write(go[1], "x", 1) == 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  ::close(go[0]);
  ::close(go[1]);
  const Hdf5Table table(
      {.file = path, .fields = {{"x", "/x"}}, .residence = Residence::file, .attributes = {"*"}});
  REQUIRE(table.attributes().size() == 1);
  const auto indices = scattered(rows, 1000);
  CHECK(gathered(table, indices)[0] == pick(values, fork_row_bytes, indices));
}

TEST_CASE("a forked process leaves the file of a writer that was moved, whatever numbers are free" *
          doctest::skip(cannot_fork)) {
  const TemporaryFolder folder;
  const auto path = folder / "made.h5";
  std::array<int, 4> lower{};
  for (int& number : lower)
    REQUIRE((number = ::dup(STDERR_FILENO)) >= 0);
  Hdf5Writer first(path);
  for (const int number : lower)
    ::close(number);  // a file that is opened now has not the writer's number
  Hdf5Writer writer(std::move(first));
  writer.add("x", DType::int32, 20, {16});
  CHECK(in_a_child([&] {
          return message_of<PipelineError>([&] {
            writer.append("x", Tensor::zeros(DType::int32, {20, 16}));
          });
        }).find("made.h5") != std::string::npos);
  writer.append("x", Tensor::zeros(DType::int32, {20, 16}));
  writer.finish();
  CHECK(Hdf5Table({.file = path, .fields = {{"x", "/x"}}}).size() == 20);
}

TEST_CASE("a process that is forked while the library is at work is told not to use it" *
          doctest::skip(cannot_fork_at_work)) {
  const ForkedTable forked;
  const auto table = forked.open({"/plain", Residence::library, false});
  const auto thread = Hdf5Thread::shared();
  std::latch inside(1), forked_already(1);
  std::thread worker([&] {
    thread->run([&] {
      inside.count_down();
      forked_already.wait();
    });
  });
  inside.wait();
  ForkedChild child([&] {
    const std::string opening = message_of<PipelineError>([&] {
      forked.open({"/plain", Residence::library, false});
    });
    const std::string reading = message_of<PipelineError>([&] { forked.wrong(*table, 0); });
    const std::string rule = "was forked while another thread of it was in the HDF5 library";
    return std::to_string(contains(opening, rule)) + std::to_string(contains(reading, rule));
  });
  forked_already.count_down();
  worker.join();
  CHECK(child.said() == "11");
  CHECK(forked.wrong(*table, 0) == 0);
}

}  // namespace headrace::test
