#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace headrace;
using namespace headrace::test;

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t file_records = 40;
constexpr std::int64_t batch_rows = 4;
constexpr std::int64_t victim = 37;  ///< far behind what is read ahead when it changes
constexpr int side = 8;

Pixels pixels_of(std::int64_t index) {
  return picture(side, side, 3, static_cast<unsigned>(index + 1));
}

void put(const fs::path& file, const Bytes& bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

/// A folder of small pictures, record k in file k.
struct Pictures {
  TemporaryFolder folder;
  fs::path root = folder / "pictures";

  Pictures() {
    fs::create_directories(root / "cat");
    ::chmod((folder / "").c_str(), 0755);
    for (std::int64_t k = 0; k < file_records; ++k)
      restore(k);
  }
  fs::path file(std::int64_t k) const { return root / "cat" / (std::to_string(100 + k) + ".png"); }
  void restore(std::int64_t k) const {
    fs::remove_all(file(k));
    put(file(k), encode_png({.width = side, .height = side}, pixels_of(k), std::size_t{3} * side));
  }
};

struct Change {
  const char* name;
  const char* says;  ///< part of the message
  std::function<void(const fs::path&)> make;
};

/// Changes of a file; what each must be called.
std::vector<Change> changes() {
  return {
      {"deleted", "No such file", [](const fs::path& file) { fs::remove(file); }},
      {"truncated", "bytes as when it was listed",
       [](const fs::path& file) { fs::resize_file(file, fs::file_size(file) / 2); }},
      {"emptied", "bytes as when it was listed",
       [](const fs::path& file) { fs::resize_file(file, 0); }},
      {"replaced by a larger picture", "bytes as when it was listed",
       [](const fs::path& file) {
         put(file, encode_png({.width = 9, .height = 9}, picture(9, 9, 3), 27));
       }},
      {"overwritten in its length", "PNG",
       [](const fs::path& file) {
         Bytes noise(fs::file_size(file), std::byte{0x5a});
         std::copy_n("\x89PNG\r\n\x1a\n", 8, reinterpret_cast<char*>(noise.data()));
         put(file, noise);
       }},
      {"a folder in its place", "no regular file",
       [](const fs::path& file) {
         fs::remove(file);
         fs::create_directory(file);
       }},
      {"a pipe in its place", "no regular file",
       [](const fs::path& file) {
         fs::remove(file);
         ::mkfifo(file.c_str(), 0644);
       }},
      {"a link to itself", "Too many levels",
       [](const fs::path& file) {
         fs::remove(file);
         fs::create_symlink(file, file);
       }},
      {"forbidden", "Permission denied",
       [](const fs::path& file) { fs::permissions(file, fs::perms::none); }},
  };
}

/// root reads what is forbidden: for the time of this object the process is somebody else.
class Unprivileged {
 public:
  Unprivileged() : root_(::geteuid() == 0) {
    if (root_ && ::seteuid(65534) != 0) throw std::runtime_error("cannot leave root");
  }
  ~Unprivileged() {
    if (root_ && ::seteuid(0) != 0) std::abort();
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  bool root_;
};

Loader loader_of(const Pictures& pictures, BadSamples rule) {
  return Pipeline::from(ImageFolder(pictures.root))
      .on_bad_sample(std::move(rule))
      .then(DecodeImage{.crop = WholeImage{.height = side, .width = side}})
      .batch({.size = batch_rows})
      .build({.prefetch = 1, .runtime = Runtime({.threads = 2, .io_threads = 2})});
}

/// Which records' pictures stand in the batch; -1 where a row is none.
std::vector<std::int64_t> shown(const Batch& batch) {
  std::vector<std::int64_t> found;
  for (std::int64_t row = 0; row < batch.size(); ++row) {
    const std::string bytes = bytes_of(batch["image"].row(row));
    found.push_back(-1);
    for (std::int64_t k = 0; k < file_records; ++k) {
      const Pixels pixels = pixels_of(k);
      if (bytes == std::string(pixels.begin(), pixels.end())) found.back() = k;
    }
  }
  return found;
}

/// An epoch in whose beginning the files change.
struct Ran {
  std::vector<std::vector<std::int64_t>> batches;
  std::vector<bool> valid;  ///< of the last batch but one, in which the victim stands... or stood
  std::vector<std::int64_t> origins;
  std::optional<DataError> error;
  std::string message;
};

Ran run(Loader& loader, const std::function<void()>& change) {
  Ran ran;
  try {
    for (Batch& batch : loader.epoch(0)) {
      if (batch.number() == 0) change();
      ran.batches.push_back(shown(batch));
      if (batch.number() != victim / batch_rows) continue;
      for (const Origin& origin : batch.origins())
        ran.origins.push_back(origin.index);
      if (!batch.has("valid")) continue;
      for (bool valid : batch["valid"].values<bool>())
        ran.valid.push_back(valid);
    }
  } catch (const DataError& error) {
    ran.error = error;
    ran.message = error.what();
  } catch (const Error& error) {
    ran.message = error.what();
  }
  return ran;
}

void check_others(const Ran& ran) {
  for (std::size_t b = 0; b < ran.batches.size(); ++b) {
    for (std::size_t row = 0; row < ran.batches[b].size(); ++row) {
      const auto record =
          static_cast<std::int64_t>(b) * batch_rows + static_cast<std::int64_t>(row);
      if (record != victim) CHECK(ran.batches[b][row] == record);
    }
  }
}

void check_whole(Loader& loader) {
  std::int64_t place = 0;
  for (Batch& batch : loader.epoch(1))
    for (std::int64_t record : shown(batch))
      CHECK(record == place++);
  CHECK(place == file_records);
}

}  // namespace

TEST_CASE("a file that changes in the middle of an epoch fails it in its place, by name") {
  headrace::test::Watchdog watchdog("changed files, rule fail");
  for (const Change& change : changes()) {
    CAPTURE(change.name);
    const Pictures pictures;
    Loader loader = loader_of(pictures, {});
    {
      std::optional<Unprivileged> other;
      const Ran ran = run(loader, [&] {
        change.make(pictures.file(victim));
        other.emplace();
      });
      CAPTURE(ran.message);
      CHECK(static_cast<std::int64_t>(ran.batches.size()) == victim / batch_rows);
      check_others(ran);
      REQUIRE(ran.error.has_value());
      CHECK(ran.error->origin().index == victim);
      CHECK(ran.error->origin().file == "cat/137.png");
      CHECK(ran.message.find(change.says) != std::string::npos);
      CHECK(ran.message.find("137.png") != std::string::npos);
    }
    pictures.restore(victim);
    check_whole(loader);
  }
}

TEST_CASE("a file that changes in the middle of an epoch is replaced by rule, and written down") {
  headrace::test::Watchdog watchdog("changed files, rule replace");
  for (const Change& change : changes()) {
    CAPTURE(change.name);
    const Pictures pictures;
    const fs::path log = pictures.folder / "bad_samples.jsonl";
    Loader loader = loader_of(pictures, {.rule = BadSamples::Rule::replace, .log = log});
    ::chmod((pictures.folder / "").c_str(), 0777);
    {
      std::optional<Unprivileged> other;
      const Ran ran = run(loader, [&] {
        change.make(pictures.file(victim));
        other.emplace();
      });
      CHECK(ran.message.empty());
      CHECK(ran.batches.size() == file_records / batch_rows);
      check_others(ran);
      REQUIRE(ran.origins.size() == batch_rows);
      const std::int64_t instead = ran.batches[victim / batch_rows][victim % batch_rows];
      CHECK(instead >= 0);
      CHECK(instead != victim);
      CHECK(ran.origins[victim % batch_rows] == instead);
      CHECK(loader.stats().bad_samples == 1);
    }
    std::ifstream lines(log);
    std::string line;
    REQUIRE(std::getline(lines, line));
    CHECK(line.find("137.png") != std::string::npos);
    CHECK(line.find(change.says) != std::string::npos);
    pictures.restore(victim);
    check_whole(loader);
  }
}

TEST_CASE("a file that changes in the middle of an epoch is marked absent by rule") {
  headrace::test::Watchdog watchdog("changed files, rule shrink");
  for (const Change& change : changes()) {
    CAPTURE(change.name);
    const Pictures pictures;
    Loader loader = loader_of(pictures, {.rule = BadSamples::Rule::shrink});
    {
      std::optional<Unprivileged> other;
      const Ran ran = run(loader, [&] {
        change.make(pictures.file(victim));
        other.emplace();
      });
      CHECK(ran.message.empty());
      check_others(ran);
      CHECK(ran.batches[victim / batch_rows][victim % batch_rows] == -1);
      REQUIRE(ran.valid.size() == batch_rows);
      for (std::int64_t row = 0; row < batch_rows; ++row)
        CHECK(ran.valid[static_cast<std::size_t>(row)] == (row != victim % batch_rows));
    }
    pictures.restore(victim);
    check_whole(loader);
  }
}

TEST_CASE(
    "a folder that goes away uses up the budget of bad samples and ends the run; back, it "
    "serves again") {
  headrace::test::Watchdog watchdog("a folder that goes away");
  const Pictures pictures;
  Loader loader = loader_of(pictures, {.rule = BadSamples::Rule::replace, .most = 3});
  const fs::path away = pictures.folder / "away";
  const Ran ran = run(loader, [&] { fs::rename(pictures.root, away); });
  CHECK_FALSE(ran.error.has_value());
  CHECK(ran.message.find("at most 3 bad samples are allowed") != std::string::npos);
  CHECK(ran.batches.size() < file_records / batch_rows);
  fs::rename(away, pictures.root);
  CHECK(loader.stats().slabs_on_loan == 0);
  check_whole(loader);
}

namespace {

struct Numbers {
  TemporaryFolder folder;
  fs::path file = folder / "numbers.h5";

  Numbers() {
    write(file, 0);
    // A file system may stamp what follows within some milliseconds with the same time.
    fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(1));
  }
  static void write(const fs::path& to, float shift) {
    std::vector<float> values;
    for (std::int64_t k = 0; k < file_records * 4; ++k)
      values.push_back(static_cast<float>(k) + shift);
    Hdf5Writer writer(to);
    writer.add("/values", DType::float32, file_records, Shape{4});
    writer.append("/values", Tensor::of(std::span<const float>(values), Shape{file_records, 4}));
    writer.finish();
  }
  Loader loader(BadSamples::Rule rule = BadSamples::Rule::fail) const {
    return Pipeline::from(Hdf5Table({.file = file,
                                     .fields = {{.dataset = "/values"}},
                                     .residence = Residence::pread}))
        .on_bad_sample({.rule = rule})
        .batch({.size = batch_rows})
        .build({.prefetch = 1, .runtime = Runtime({.threads = 2, .io_threads = 2})});
  }
};

/// Rows that came before an error; every value is checked.
std::pair<std::int64_t, std::string> numbers(Loader& loader, const std::function<void()>& change) {
  std::int64_t place = 0;
  try {
    for (Batch& batch : loader.epoch(0)) {
      if (batch.number() == 0) change();
      for (float value : batch["values"].values<float>())
        CHECK(value == static_cast<float>(place++));
    }
  } catch (const DataError& error) {
    return {place / 4, error.what()};
  }
  return {place / 4, ""};
}

}  // namespace

TEST_CASE("an open HDF5 file goes on when its name goes away, and fails when its bytes change") {
  headrace::test::Watchdog watchdog("changed HDF5 files");
  for (bool renamed : {false, true}) {
    const Numbers data;
    Loader loader = data.loader();
    const auto [came, message] = numbers(loader, [&] {
      fs::remove(data.file);
      if (!renamed) return;
      Numbers::write(data.folder / "other.h5", 1000.0F);
      fs::rename(data.folder / "other.h5", data.file);
    });
    CHECK(came == file_records);
    CHECK(message.empty());
  }
  const std::pair<const char*, std::function<void(const fs::path&)>> harms[] = {
      {"was changed after it was opened", [](const fs::path& file) { fs::resize_file(file, 64); }},
      {"was changed after it was opened",
       [](const fs::path& file) {
         std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
         out.seekp(-4, std::ios::end);
         out.write("\0\0\0", 3);
       }},
  };
  using enum BadSamples::Rule;
  for (const auto& [says, harm] : harms)
    for (const BadSamples::Rule rule : {fail, replace, shrink}) {  // no rule hides it
      const Numbers data;
      Loader loader = data.loader(rule);
      const auto [came, message] = numbers(loader, [&, &harm = harm] { harm(data.file); });
      CAPTURE(message);
      CHECK(came < file_records);
      CHECK(message.find(says) != std::string::npos);
      CHECK(message.find("numbers.h5") != std::string::npos);
    }
}
