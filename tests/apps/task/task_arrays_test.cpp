// Where arrays of a task lie, what their statistics are, and how they come in batches.
#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/find_arrays.h>
#include <headrace/apps/task/find_data.h>
#include <headrace/apps/task/pipelines.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/loaders/memory/table.h>
#include <headrace/tests/apps/classification/array_data.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::add_dataset;
using test::array_rows;
using test::write_array;

namespace {

std::vector<std::int64_t> first_rows(std::int64_t count) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

headrace::Table table_of(const std::vector<float>& values, const Shape& shape) {
  return headrace::Table({{app::array_field, Tensor::of(std::span<const float>(values), shape)}});
}

app::DataSet found(const std::filesystem::path& data) {
  return app::find_classes(data).train;
}

}  // namespace

TEST_CASE("statistics of arrays are NumPy's, by feature and by channel") {
  // NumPy 2.1: rows.mean(0), rows.std(0), and the same over all axes but the channels'.
  const app::ChannelStatistics features =
      app::statistics_of_arrays(table_of(array_rows(150, 4, 3), Shape{150, 4}), first_rows(150));
  REQUIRE(features.mean.size() == 4);
  CHECK(features.mean[0] == doctest::Approx(9.984393171897779));
  CHECK(features.mean[3] == doctest::Approx(10.014894017775854));
  CHECK(features.std[0] == doctest::Approx(8.197701104764036));
  CHECK(features.std[3] == doctest::Approx(8.191513652857578));
  const app::ChannelStatistics channels = app::statistics_of_arrays(
      table_of(array_rows(150, 24, 3), Shape{150, 2, 3, 4}), first_rows(150));
  REQUIRE(channels.mean.size() == 2);
  CHECK(channels.mean[1] == doctest::Approx(9.999979436873293));
  CHECK(channels.std[1] == doctest::Approx(8.19502665928645));
}

TEST_CASE("statistics leave out arrays that are not finite where a training leaves them out") {
  std::vector<float> values = array_rows(150, 4, 3);
  const auto of = [&](const std::vector<std::int64_t>& rows, BadSamples::Rule rule) {
    return app::statistics_of_arrays(table_of(values, Shape{150, 4}), rows, {.rule = rule});
  };
  std::vector<std::int64_t> others = first_rows(150);
  others.erase(others.begin());
  others.erase(others.begin() + 76);
  const auto wanted = of(others, BadSamples::Rule::fail);
  values[1] = std::numeric_limits<float>::infinity();
  values[4 * 77 + 3] = std::numeric_limits<float>::quiet_NaN();
  for (const auto rule : {BadSamples::Rule::replace, BadSamples::Rule::shrink}) {
    const auto found = of(first_rows(150), rule);
    CHECK(found.mean == wanted.mean);
    CHECK(found.std == wanted.std);
  }
  CHECK_THROWS_WITH_AS(of(first_rows(150), BadSamples::Rule::fail),
                       doctest::Contains("or set data.bad_samples.rule: replace"), DataError);
  CHECK_THROWS_AS(of({0, 77}, BadSamples::Rule::replace), DataError);
}

TEST_CASE("values that never vary are divided by 1, large ones keep their deviation") {
  std::vector<float> values;
  for (int i = 0; i < 100; ++i)
    values.insert(values.end(), {7.5F, 4'000'000.0F + static_cast<float>(i % 2)});
  const app::ChannelStatistics statistics =
      app::statistics_of_arrays(table_of(values, Shape{100, 2}), first_rows(100));
  CHECK(statistics.mean[0] == 7.5F);
  CHECK(statistics.std[0] == 1.0F);
  CHECK(statistics.std[1] == doctest::Approx(0.5));
}

TEST_CASE("datasets of an HDF5 file are chosen by name, else by size and type") {
  const test::TemporaryFolder root;
  {
    Hdf5Writer named(root / "named.h5");
    add_dataset<float>(named, "/extra", {6, 9}, std::vector<float>(54));
    add_dataset<float>(named, "/train/features", {6, 2}, array_rows(6, 2, 2));
    add_dataset<std::int64_t>(named, "/train/age", {6}, {1, 2, 3, 4, 5, 6});
    add_dataset<std::int64_t>(named, "/train/targets", {6}, {0, 1, 0, 1, 0, 1});
    add_dataset<std::int32_t>(named, "/train/patient", {6}, {0, 0, 1, 1, 2, 2});
    named.finish();
    Hdf5Writer plain(root / "plain.h5");
    add_dataset<std::uint8_t>(plain, "/kind", {6, 2}, {1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1});
    add_dataset<float>(plain, "/stuff", {6, 3, 4}, std::vector<float>(72));
    plain.finish();
    Hdf5Writer bare(root / "bare.h5");
    add_dataset<float>(bare, "/x", {6, 2}, array_rows(6, 2, 2));
    bare.finish();
  }
  const app::DataSet named = found(root / "named.h5");
  CHECK(named.source == app::RecordsIn::hdf5);
  CHECK(named.data == "/train/features");
  CHECK(named.labels == "/train/targets");
  CHECK(named.groups == "/train/patient");
  CHECK_FALSE(named.multi_label);
  const app::DataSet plain = found(root / "plain.h5");
  CHECK(plain.data == "/stuff");
  CHECK(plain.labels == "/kind");
  CHECK(plain.multi_label);
  CHECK_THROWS_WITH_AS(found(root / "bare.h5"), doctest::Contains("called labels or y; it has /x"),
                       ConfigError);
}

TEST_CASE("files of labels are found beside those of features, and folders of arrays by theirs") {
  const test::TemporaryFolder root;
  const std::vector<std::int64_t> labels{0, 1, 0, 1};
  for (const auto& [data, label] :
       {std::pair{"a/X.npy", "a/y.npy"}, std::pair{"b/train_x.npy", "b/train_y.npy"},
        std::pair{"c/features.npy", "c/labels.npy"},
        std::pair{"d/voices.npy", "d/voices_labels.npy"}}) {
    CAPTURE(data);
    write_array<float>(root / data, "4, 2", array_rows(4, 2, 2));
    write_array<std::int64_t>(root / label, "4,", labels);
    CHECK(found(root / data).labels == (root / label).native());
    CHECK(found((root / data).parent_path()).file == root / data);
  }
  write_array<float>(root / "alone/x.npy", "4, 2", array_rows(4, 2, 2));
  CHECK_THROWS_WITH_AS(found(root / "alone/x.npy"), doctest::Contains("a file of labels beside it"),
                       ConfigError);
  test::write_spectrograms(root / "parts/train", 4, 2, 3);
  test::write_spectrograms(root / "parts/test", 4, 2, 3);
  const app::FoundData parts = app::find_classes(root / "parts");
  CHECK(parts.train.source == app::RecordsIn::npy);
  REQUIRE(parts.test.has_value());
  CHECK(parts.test->folder.filename() == "test");
}

TEST_CASE("tables that fit are kept in memory, larger ones are read; both are the same records") {
  const test::TemporaryFolder root;
  {
    Hdf5Writer writer(root / "a.h5");
    add_dataset<float>(writer, "/x", {40, 3}, array_rows(40, 3, 2));
    std::vector<std::int64_t> labels;
    for (int i = 0; i < 40; ++i)
      labels.push_back(i % 2);
    add_dataset<std::int64_t>(writer, "/y", {40}, labels);
    writer.finish();
    write_array<float>(root / "x.npy", "40, 3", array_rows(40, 3, 2));
    write_array<std::int64_t>(root / "y.npy", "40,", labels);
  }
  for (const app::DataSet& set : {found(root / "a.h5"), found(root / "x.npy")}) {
    app::TaskData data{.train = set};
    app::TaskRecords kept = app::open_records(data, false, 1);
    CHECK(kept.resident_bytes() == 480);
    CHECK(kept.train.source->blocking());
    app::load(kept);
    CHECK_FALSE(kept.train.source->blocking());
    CHECK(kept.test.source == kept.train.source);
    data.resident = app::Bytes{400};
    app::TaskRecords read = app::open_records(data, false, 1);
    CHECK(read.resident_bytes() == 0);
    app::load(read);
    CHECK(read.train.source->blocking());
    Sample a;
    Sample b;
    for (std::int64_t row = 0; row < 40; ++row) {
      kept.train.source->read(row, a);
      read.train.source->read(row, b);
      CHECK(a["array"].values<float>()[2] == b["array"].values<float>()[2]);
    }
  }
}

TEST_CASE("a last axis of one is the channel of a spectrogram, in batches and statistics") {
  const test::TemporaryFolder root;
  const auto records =
      std::make_shared<const headrace::Table>(table_of(array_rows(8, 12, 2), Shape{8, 3, 4, 1}));
  CHECK(app::record_shape(*records, {}) == Shape{3, 4});
  CHECK(app::record_shape(*records, {.frames = 2}) == Shape{3, 2});
  CHECK(app::channels_of(Shape{3, 4, 1}) == 3);  // of one frame
  CHECK(app::channels_of(Shape{3, 4, 2}) == 3);
  CHECK(app::statistics_of_arrays(*records, first_rows(8)).mean.size() == 1);
  app::TaskFeed feed{.seed = 4, .arrays = true, .middle = -1.0};
  feed.task.augment = app::augment_list("[spec_augment]");
  for (const std::int64_t frames : {4, 2}) {
    feed.task.array.frames = frames;
    for (Pipeline pipeline : {app::evaluation_pipeline(records, feed, 4, Device::cpu()),
                              app::training_pipeline(records, {}, feed, 4, Device::cpu())}) {
      Loader loader = std::move(pipeline).build();
      CHECK(loader.next().batch["array"].shape() == Shape{4, 3, frames});
    }
  }
  Loader loader = app::evaluation_pipeline(records, {.arrays = true}, 8, Device::cpu()).build();
  const NextBatch whole = loader.next();
  CHECK(whole.batch["array"].row(5).values<float>()[7] == array_rows(8, 12, 2)[5 * 12 + 7]);

  test::write_array<float>(root / "one.npy", "3, 4, 1", array_rows(1, 12, 2));
  test::write_array<float>(root / "many.npy", "5, 3, 4, 1", array_rows(5, 12, 2));
  CHECK(app::open_unlabelled_arrays(root / "one.npy", {}, Shape{3, 4})->size() == 1);
  CHECK(app::open_unlabelled_arrays(root / "many.npy", {}, Shape{3, 4})->size() == 5);
}

TEST_CASE("pictures whose colours come last are not taken for channels of three frames") {
  const auto refused = [](const Shape& record, const app::ArraySettings& array = {}) {
    std::vector<std::int64_t> extents{2};
    extents.insert(extents.end(), record.extents().begin(), record.extents().end());
    const Table records = table_of(array_rows(2, record.elements(), 2), Shape(extents));
    try {
      app::record_shape(records, array);
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused({5, 6, 3}).find("got [5, 6, 3], whose channels seem to come last; write it as [3, "
                                "5, 6]") != std::string::npos);
  CHECK(refused({32, 32, 4}) != "");
  for (const Shape& record : {Shape{3, 5, 6}, Shape{4, 40, 3}, Shape{5, 40, 5}, Shape{5, 4, 3}})
    CHECK(refused(record).empty());
  CHECK(refused({5, 6, 3}, {.frames = 3}).empty());
}

TEST_CASE("frames of records to test on may differ before their one channel") {
  const test::TemporaryFolder root;
  const auto write = [&](const std::string& part, int record, int frames) {
    std::vector<float> values;
    for (int place = 0; place < 2 * frames; ++place)
      values.push_back(test::array_value(record, place, 2));
    const char* label = record % 2 == 0 ? "a" : "b";
    write_array<float>(root / part / label / (std::to_string(record) + ".npy"),
                       "2, " + std::to_string(frames) + ", 1", values);
  };
  for (int record = 0; record < 40; ++record) {
    write("train", record, 3);
    write("test", 40 + record, 3 + record % 3);
  }
  const app::TaskRecords records =
      app::open_records({.train = {.source = app::RecordsIn::npy, .folder = root / "train"},
                         .test = {.source = app::RecordsIn::npy, .folder = root / "test"}},
                        false, 1);
  CHECK(app::record_shape(*records.train.source, {.frames = 4}) == Shape{2, 4});
  CHECK(app::record_shape(*records.test.source, {.frames = 4}) == Shape{2, 4});
}

TEST_CASE("batches of arrays hold windows of frames in training and the middle in evaluation") {
  std::vector<float> values;
  for (int record = 0; record < 8; ++record)
    for (int frame = 0; frame < 9; ++frame)
      values.push_back(static_cast<float>(frame));
  const auto records = std::make_shared<const headrace::Table>(table_of(values, Shape{8, 1, 9}));
  app::TaskFeed feed{.seed = 4, .arrays = true, .middle = -1.0};
  feed.task.array.frames = 5;
  const auto first_of = [](Pipeline pipeline) {
    Loader loader = std::move(pipeline).build();
    const NextBatch next = loader.next();
    const Tensor batch = next.batch["array"];
    CHECK(batch.shape() == Shape{4, 1, 5});
    std::vector<float> first;
    for (std::int64_t row = 0; row < 4; ++row)
      first.push_back(batch.row(row).values<float>()[0]);
    return first;
  };
  CHECK(first_of(app::evaluation_pipeline(records, feed, 4, Device::cpu())) ==
        std::vector<float>{2, 2, 2, 2});
  const std::vector<float> trained =
      first_of(app::training_pipeline(records, {}, feed, 4, Device::cpu()));
  CHECK(trained != std::vector<float>{2, 2, 2, 2});
  feed.task.array.frames = 9;
  feed.task.augment = app::augment_list("[spec_augment]");
  feed.middle.reset();
  CHECK_THROWS_WITH_AS(app::training_pipeline(records, {}, feed, 4, Device::cpu()),
                       doctest::Contains("needs a fill"), ConfigError);
}
