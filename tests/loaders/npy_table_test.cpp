#include <headrace/engine/base/error.h>
#include <headrace/loaders/npy/npy_table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/npy_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;
using namespace std::string_literals;

namespace {

using Labels = std::vector<std::int64_t>;

/// Features float32 [3, 2] of 0, 1, ... 5.
struct TableFiles {
  TableFiles() {
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
  const TableFiles data;
  data.labels<std::int32_t>("3,", {2, 0, 2});
  const NpyTable table(data.options);
  CHECK(table.size() == 3);
  CHECK(table.classes() == std::vector<std::string>{"class0", "class1", "class2"});
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
  TableFiles data;
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
  TableFiles data;
  CHECK(contains(data.refusal(), "y.npy: there is no such file"));
  data.labels<std::int64_t>("2,", {0, 1});
  CHECK(contains(data.refusal(), "must have a row for each of 2 labels, got 3"));
  data.labels<std::int64_t>("3,", {0, -1, 1});
  CHECK(contains(data.refusal<DataError>(), "y.npy: row 1 must hold whole numbers from 0 on"));
  data.labels<double>("3,", {0, 0.5, 1});
  CHECK(contains(data.refusal<DataError>(), "row 1 must hold whole numbers from 0 on, got 0.5"));
  data.labels<float>("3,", {0, std::nanf(""), 1});
  CHECK(contains(data.refusal<DataError>(), "row 1 must hold whole numbers from 0 on, got nan"));
  test::write_npy(data.root / "y.npy", "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }",
                  "\0\0\0\0\0\0"s);
  CHECK(contains(data.refusal(), "must be booleans, integers, float32 or float64, got float16"));
  data.labels<std::uint8_t>("3, 2", {0, 2, 1, 0, 1, 0});
  CHECK(contains(data.refusal<DataError>(), "row 0 must hold 0 and 1, got 2"));
  data.labels<std::uint8_t>("3, 1, 1", {0, 1, 1});
  CHECK(contains(data.refusal(), "must be [records] or [records, classes], got [3, 1, 1]"));
  data.labels<std::uint8_t>("3, 3", {1, 0, 0, 0, 1, 0, 0, 1, 0});
  data.options.classes = {"a", "b"};
  CHECK(contains(data.refusal(), "must have a column for each of the 2 classes, got 3"));
  data.labels<std::uint8_t>("3, 1", {0, 1, 2});
  CHECK(contains(data.refusal<DataError>(), "row 2 must hold a label of the 2 classes"));
  data.labels<std::uint8_t>("3,", {0, 1, 2});
  CHECK(contains(data.refusal<DataError>(),
                 "row 2 must hold a label of the 2 classes, 0 to 1, got 2"));
  data.options.multi_label = true;
  CHECK(contains(data.refusal(), "of multi_label must be flags [records, classes], got [3]"));
  test::write_npy(data.root / "y.npy",
                  "{'descr': '|b1', 'fortran_order': False, 'shape': (3, 1), }", "\1\2\1");
  data.options.classes.clear();
  CHECK(contains(data.refusal<DataError>(), "row 1 must hold 0 and 1, got 2"));
}

TEST_CASE("rows that stay in their file are the same rows, and groups go with them") {
  TableFiles data;
  data.labels<std::int16_t>("3,", {1, 0, 1});
  test::write_array<std::int64_t>(data.root / "g.npy", "3,", std::vector<std::int64_t>{40, 7, 40});
  data.options.groups = data.root / "g.npy";
  const NpyTable held(data.options);
  data.options.in_memory = false;
  const NpyTable file(data.options);
  CHECK(file.blocking());
  CHECK(file.resident_bytes() < held.resident_bytes());
  const std::vector<std::int64_t> indices{2, 0, 1, 2};
  CHECK(test::gathered(file, indices) == test::gathered(held, indices));
  CHECK(test::one_by_one(file, indices) == test::gathered(held, indices));
  CHECK(contains(file.origin(1), "x.npy[1]"));
  CHECK(file.groups() == Labels{1, 0, 1});
  CHECK(file.group_names() == std::vector<std::string>{"7", "40"});
  test::write_array<float>(data.root / "g.npy", "2,", std::vector<float>{0, 1});
  CHECK(contains(data.refusal(), "must have a row for each of 2 groups, got 3"));
}

TEST_CASE("records may have no labels") {
  TableFiles data;
  data.options.labels.clear();
  const NpyTable table(data.options);
  CHECK(table.classes().empty());
  CHECK(table.label(0) == -1);
  const std::vector<std::int64_t> indices{1, 2};
  CHECK(test::gathered(table, indices) == test::one_by_one(table, indices));
}
