#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
using app::GlaucomaRows;
using headrace::DType;
using headrace::Tensor;
using headrace::test::contains;
using headrace::test::TemporaryFolder;

/// Records of each class, mixed: 97 in all.
constexpr std::array<std::int64_t, 5> counts{40, 7, 26, 3, 21};
constexpr std::int64_t records = 97;

/// One-hot labels of the original: float64, and no split beside them.
Tensor mixed_labels() {
  Tensor labels = Tensor::zeros(DType::float64, {records, 5});
  std::array<std::int64_t, 5> left = counts;
  std::size_t next = 0;
  for (std::int64_t i = 0; i < records; ++i) {
    while (left[next % 5] == 0)
      ++next;
    --left[next % 5];
    labels.data<double>()[5 * i + static_cast<std::int64_t>(next++ % 5)] = 1.0;
  }
  return labels;
}

class OriginalFile {
 public:
  OriginalFile() { headrace::test::write_glaucoma_data(path(), labels_); }

  std::filesystem::path path() const { return folder_.path() / "original.h5"; }
  const std::filesystem::path& folder() const { return folder_.path(); }
  GlaucomaRows rows(std::uint64_t seed) const { return app::read_glaucoma_rows(path(), seed); }
  std::size_t class_of(std::int64_t record) const {
    std::size_t place = 0;
    while (labels_.data<double>()[5 * record + static_cast<std::int64_t>(place)] == 0.0)
      ++place;
    return place;
  }

 private:
  TemporaryFolder folder_;
  Tensor labels_ = mixed_labels();
};

}  // namespace

TEST_CASE("a file without a split gives a fifth of every class to the test, each record once") {
  const OriginalFile file;
  const GlaucomaRows rows = file.rows(42);
  std::vector<int> seen(records, 0);
  std::array<double, 5> test{};
  for (const std::int64_t record : rows.test) {
    ++seen.at(static_cast<std::size_t>(record));
    test[file.class_of(record)] += 1.0;
  }
  REQUIRE(rows.train.size() == rows.train_labels.size());
  for (std::size_t i = 0; i < rows.train.size(); ++i) {
    ++seen.at(static_cast<std::size_t>(rows.train[i]));
    CHECK(rows.train_labels[i] == static_cast<std::int64_t>(file.class_of(rows.train[i])));
  }
  CHECK(seen == std::vector<int>(records, 1));
  for (std::size_t c = 0; c < 5; ++c) {
    const double ideal = static_cast<double>(counts[c]) / 5.0;
    CHECK(test[c] > ideal - 1.0);
    CHECK(test[c] < ideal + 1.0);
  }
}

TEST_CASE("the drawn split follows from the seed alone, in the order of the file") {
  const OriginalFile file;
  const OriginalFile again;
  const GlaucomaRows rows = file.rows(42);
  CHECK(again.rows(42).test == rows.test);
  CHECK(again.rows(42).train == rows.train);
  CHECK(file.rows(43).test != rows.test);
  CHECK(file.rows(43).test.size() == rows.test.size());
  for (std::size_t i = 1; i < rows.test.size(); ++i)
    CHECK(rows.test[i - 1] < rows.test[i]);
  // Held, so that a later release tests on the same records.
  CHECK(rows.test == std::vector<std::int64_t>{0,  2,  4,  6,  13, 14, 16, 17, 22, 30,
                                               32, 38, 52, 55, 56, 84, 85, 86, 90, 92});
}

TEST_CASE("a job on a file without a split trains on the rest, says so and leaves the file alone") {
  const OriginalFile file;
  const std::string before = headrace::test::content_of(file.path());
  app::GlaucomaConfig config;
  config.data.file = file.path();
  config.training.batch = 7;
  config.threads.loader = 2;
  const GlaucomaRows rows = file.rows(config.seed);
  headrace::Loader loader = app::make_glaucoma_loader_job(config).build();
  CHECK(loader.batches_per_epoch() == static_cast<std::int64_t>(rows.train.size()) / 7);
  for (const headrace::Batch& batch : loader.epoch(0)) {
    const std::vector<headrace::Origin> origins = batch.origins();
    for (std::size_t k = 0; k < origins.size(); ++k) {
      const std::int64_t record = rows.train.at(static_cast<std::size_t>(origins[k].index));
      CHECK(batch["label"].data<std::int64_t>()[k] ==
            static_cast<std::int64_t>(file.class_of(record)));
    }
  }

  std::ofstream(file.folder() / "job.yaml") << "kind: glaucoma\ndata: {file: original.h5}\n";
  const auto bench = headrace::test::run_headrace(file.folder(), {"bench", "loader", "job.yaml"});
  CHECK_MESSAGE(bench.status == 0, bench.err);
  CHECK(contains(bench.err, "original.h5 has no split: " + std::to_string(rows.test.size()) +
                                " of its 97 records"));
  CHECK(headrace::test::content_of(file.path()) == before);
}

TEST_CASE("a file's own split may be of any integers, and of nothing else") {
  const TemporaryFolder folder;
  const auto with_split = [&](const Tensor& split) {
    headrace::test::write_glaucoma_data(folder.path() / "data.h5", mixed_labels(), split);
    return app::read_glaucoma_rows(folder.path() / "data.h5", 42);
  };
  Tensor wide = Tensor::zeros(DType::int64, {records});
  Tensor real = Tensor::zeros(DType::float32, {records});
  for (std::int64_t i = 90; i < records; ++i)
    wide.data<std::int64_t>()[i] = std::int64_t{1} << 40;
  CHECK(with_split(wide).test.size() == 7);
  CHECK(with_split(wide).test.front() == 90);
  try {
    with_split(real);
    FAIL("a split of floating-point numbers was taken");
  } catch (const headrace::DataError& error) {
    CHECK(contains(error.what(), "/split"));
    CHECK(contains(error.what(), "float32 [97]"));
  }
}

namespace {

/// Two records in a row are of one patient.
Tensor pairs_of_records() {
  Tensor patients = Tensor::empty(DType::int64, {records});
  for (std::int64_t i = 0; i < records; ++i)
    patients.data<std::int64_t>()[i] = (std::int64_t{1} << 33) + i / 2;
  return patients;
}

std::set<std::int64_t> patients_at(const std::vector<std::int64_t>& rows) {
  std::set<std::int64_t> patients;
  for (const std::int64_t row : rows)
    patients.insert(row / 2);
  return patients;
}

std::size_t in_both(const std::set<std::int64_t>& a, const std::set<std::int64_t>& b) {
  return static_cast<std::size_t>(
      std::ranges::count_if(a, [&](std::int64_t one) { return b.contains(one); }));
}

}  // namespace

TEST_CASE("a patient's two records are on one side of the drawn split, and in one fold") {
  const TemporaryFolder folder;
  headrace::test::write_glaucoma_data(folder.path() / "data.h5", mixed_labels(), {},
                                      pairs_of_records());
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const GlaucomaRows rows = app::read_glaucoma_rows(folder.path() / "data.h5", seed);
    CHECK(rows.train.size() + rows.test.size() == records);
    CHECK(in_both(patients_at(rows.train), patients_at(rows.test)) == 0);
    CHECK(rows.test.size() >= 12);
    CHECK(rows.test.size() <= 25);
    REQUIRE(rows.train_patients.size() == rows.train.size());
    const auto folds = app::folds_of_patients(rows, 5, seed);
    std::set<std::int64_t> seen;
    std::size_t all = 0;
    for (const auto& fold : folds) {
      std::vector<std::int64_t> own;
      for (const std::int64_t place : fold)
        own.push_back(rows.train.at(static_cast<std::size_t>(place)));
      CHECK(in_both(patients_at(own), seen) == 0);
      seen.merge(patients_at(own));
      all += own.size();
    }
    CHECK(all == rows.train.size());
    CHECK_THROWS_AS(app::folds_of_patients(rows, 60, seed), headrace::ConfigError);
  }
}

TEST_CASE("patients on both sides of a file's own split are told, and patients are integers") {
  const TemporaryFolder folder;
  Tensor split = Tensor::zeros(DType::uint8, {records});
  for (std::int64_t i = 89; i < records; ++i)
    split.data<std::uint8_t>()[i] = 1;
  headrace::test::write_glaucoma_data(folder.path() / "data.h5", mixed_labels(), split,
                                      pairs_of_records());
  std::ofstream(folder.path() / "job.yaml") << "kind: glaucoma\ndata: {file: data.h5}\n";
  const auto bench = headrace::test::run_headrace(folder.path(), {"bench", "loader", "job.yaml"});
  CHECK_MESSAGE(contains(bench.err, "/split divides 1 of /patients, that of record 89 for one"),
                bench.err);
  headrace::test::write_glaucoma_data(folder.path() / "real.h5", mixed_labels(), split,
                                      Tensor::zeros(DType::float32, {records}));
  CHECK_THROWS_WITH_AS(app::read_glaucoma_rows(folder.path() / "real.h5", 1),
                       doctest::Contains("/patients must be integers [N]"), headrace::DataError);
}
