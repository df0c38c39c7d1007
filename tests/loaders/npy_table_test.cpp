#include <headrace/engine/base/error.h>
#include <headrace/loaders/npy/npy_table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/npy_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;

namespace {

using Labels = std::vector<std::int64_t>;

/// Features float32 [3, 2] of 0, 1, ... 5.
struct Data {
  Data() {
    test::write_array<float>(root / "x.npy", "3, 2", std::vector<float>{0, 1, 2, 3, 4, 5});
    options = {.features = root / "x.npy", .labels = root / "y.npy"};
  }
  template <class T>
  void labels(const std::string& shape, const std::vector<T>& values) const {
    test::write_array<T>(root / "y.npy", shape, values);
  }
  template <class E = ConfigError>
  std::string refusal() const {
    return test::message_of<E>([this] { NpyTable table(options); });
  }
  test::TemporaryFolder root;
  NpyTableOptions options;
};

}  // namespace

TEST_CASE("rows of an array get labels from another") {
  const Data data;
  data.labels<std::int32_t>("3,", {2, 0, 2});
  const NpyTable table(data.options);
  CHECK(table.size() == 3);
  CHECK(table.classes() == std::vector<std::string>{"0", "1", "2"});
  CHECK(table.labels() == Labels{2, 0, 2});
  CHECK(table.fields().at("features") == FieldSpec::fixed("features", DType::float32, Shape{2}));
  CHECK(table.fields().at("label") == FieldSpec::fixed("label", DType::int64, Shape{}));
  const std::vector<std::int64_t> indices{2, 0, 1, 2};
  CHECK(test::gathered(table, indices) == test::one_by_one(table, indices));
  Sample sample;
  table.read(1, sample);
  CHECK(sample["features"].values<float>()[1] == 3);
  CHECK(sample["label"].item<std::int64_t>() == 0);
}

TEST_CASE("flags are one-hot, or any number of classes where that is asked for") {
  Data data;
  data.labels<float>("3, 2", {0, 1, 1, 0, 0, 1});
  data.options.classes = {"cat", "dog"};
  const NpyTable one(data.options);
  CHECK(one.labels() == Labels{1, 0, 1});
  CHECK(one.classes() == data.options.classes);
  data.labels<std::uint8_t>("3, 2", {0, 1, 1, 1, 0, 0});
  CHECK(
      contains(data.refusal<DataError>(), "y.npy: row 1 must hold one 1, got 2; set multi_label"));
  data.options.multi_label = true;
  const NpyTable several(data.options);
  CHECK(several.multi_label());
  CHECK(several.label_set(1) == Labels{0, 1});
  CHECK(several.label_set(2).empty());
  CHECK(several.fields().at("labels") == FieldSpec::fixed("labels", DType::uint8, Shape{2}));
  const std::vector<std::int64_t> indices{1, 0};
  CHECK(test::gathered(several, indices) == test::one_by_one(several, indices));
}

TEST_CASE("arrays that do not fit together are refused") {
  Data data;
  CHECK(contains(data.refusal(), "y.npy: there is no such file"));
  data.labels<std::int64_t>("2,", {0, 1});
  CHECK(contains(data.refusal(), "columns need one length"));
  data.labels<std::int64_t>("3,", {0, -1, 1});
  CHECK(contains(data.refusal<DataError>(), "y.npy: row 1 must hold whole numbers from 0 on"));
  data.labels<double>("3,", {0, 0.5, 1});
  CHECK(contains(data.refusal<DataError>(), "row 1 must hold whole numbers from 0 on, got 0.5"));
  data.labels<std::uint16_t>("3,", {0, 1, 1});
  CHECK(contains(data.refusal(), "labels must be bool, uint8, int32, int64"));
  data.labels<std::uint8_t>("3, 2", {0, 2, 1, 0, 1, 0});
  CHECK(contains(data.refusal<DataError>(), "row 0 must hold 0 and 1, got 2"));
  data.labels<std::uint8_t>("3, 1, 1", {0, 1, 1});
  CHECK(contains(data.refusal(), "labels must be [records] or [records, classes], got [3, 1, 1]"));
  data.labels<std::uint8_t>("3, 1", {1, 1, 1});
  data.options.classes = {"a", "b"};
  CHECK(contains(data.refusal(), "must have a column for each of the 2 classes, got 1"));
  data.labels<std::uint8_t>("3,", {0, 1, 2});
  CHECK(contains(data.refusal(), "must have labels of the 2 classes, got 3"));
  data.options.multi_label = true;
  CHECK(contains(data.refusal(), "with multi_label must be flags [records, classes], got [3]"));
  test::write_npy(data.root / "y.npy",
                  "{'descr': '|b1', 'fortran_order': False, 'shape': (3, 1), }", "\1\2\1");
  data.options.classes.clear();
  CHECK(contains(data.refusal<DataError>(), "row 1 must hold 0 and 1, got 2"));
}
