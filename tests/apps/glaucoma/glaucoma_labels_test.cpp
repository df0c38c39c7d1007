#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
using headrace::DType;
using headrace::Shape;
using headrace::Tensor;
using headrace::test::contains;
using headrace::test::TemporaryFolder;

constexpr std::int64_t label_rows = 75;

/// Everything in training but the last fifteen records.
Tensor split() {
  Tensor values = Tensor::zeros(DType::uint8, {label_rows});
  for (std::int64_t i = 60; i < label_rows; ++i)
    values.data<std::uint8_t>()[i] = 1;
  return values;
}

/// The number `value`, 0 to 4, as an element; of a half the bits of 1 or 0.
template <class T>
T element(std::int64_t value) {
  return static_cast<T>(value);
}
template <>
headrace::float16_t element(std::int64_t value) {
  return {static_cast<std::uint16_t>(value == 0 ? 0 : 0x3c00)};
}
template <>
headrace::bfloat16_t element(std::int64_t value) {
  return {static_cast<std::uint16_t>(value == 0 ? 0 : 0x3f80)};
}

template <class T>
Tensor class_numbers(const Shape& shape) {
  Tensor labels = Tensor::empty(headrace::dtype_of<T>, shape);
  for (std::int64_t i = 0; i < label_rows; ++i)
    labels.data<T>()[i] = element<T>(i % 5);
  return labels;
}

template <class T>
Tensor one_hot(std::int64_t columns = 5) {
  Tensor labels = Tensor::empty(headrace::dtype_of<T>, {label_rows, columns});
  for (std::int64_t i = 0; i < label_rows * columns; ++i)
    labels.data<T>()[i] = element<T>(i % columns == i / columns % 5 ? 1 : 0);
  return labels;
}

app::GlaucomaConfig labels_config(const TemporaryFolder& folder, const Tensor& labels) {
  app::GlaucomaConfig config;
  config.data.file = folder.path() / "data.h5";
  config.training.batch = 10;
  config.threads.loader = 1;
  headrace::test::write_glaucoma_data(config.data.file, labels, split());
  return config;
}

/// Record i is of class i % 5, for whoever splits the file and for whoever loads it.
void check_classes(const Tensor& labels) {
  CAPTURE(name_of(labels.dtype()));
  CAPTURE(to_string(labels.shape()));
  const TemporaryFolder folder;
  const app::GlaucomaConfig config = labels_config(folder, labels);
  const app::GlaucomaRows found = app::read_glaucoma_rows(config.data.file, 42);
  REQUIRE(found.train.size() == 60);
  for (std::size_t i = 0; i < 60; ++i)
    CHECK(found.train_labels[i] == static_cast<std::int64_t>(i % 5));
  headrace::Loader loader = app::make_glaucoma_loader_job(config).build();
  for (const headrace::Batch& batch : loader.epoch(0)) {
    const std::vector<headrace::Origin> origins = batch.origins();
    for (std::size_t k = 0; k < origins.size(); ++k)
      CHECK(batch["label"].data<std::int64_t>()[k] == origins[k].index % 5);
  }
}

/// What is said of such labels before a loader is built; empty: nothing.
std::string labels_refusal(const Tensor& labels) {
  const TemporaryFolder folder;
  try {
    app::make_glaucoma_loader_job(labels_config(folder, labels));
  } catch (const headrace::DataError& error) {
    CHECK(contains(error.what(), "[glaucoma]"));
    CHECK(contains(error.what(), "data.h5"));
    CHECK(contains(error.what(), "/labels"));
    return error.what();
  }
  return {};
}

/// One-hot labels with one row of another kind.
std::string refusal_of_row(const std::array<float, 5>& row) {
  Tensor labels = one_hot<float>();
  for (std::size_t i = 0; i < 5; ++i)
    labels.data<float>()[5 * 62 + i] = row[i];  // of the test split
  return labels_refusal(labels);
}

}  // namespace

TEST_CASE("class numbers of any integer type are the classes, [N] and [N, 1]") {
  for (const Shape& shape : {Shape{label_rows}, Shape{label_rows, 1}}) {
    check_classes(class_numbers<std::uint8_t>(shape));
    check_classes(class_numbers<std::int8_t>(shape));
    check_classes(class_numbers<std::uint16_t>(shape));
    check_classes(class_numbers<std::int16_t>(shape));
    check_classes(class_numbers<std::uint32_t>(shape));
    check_classes(class_numbers<std::int32_t>(shape));
    check_classes(class_numbers<std::uint64_t>(shape));
    check_classes(class_numbers<std::int64_t>(shape));
  }
}

TEST_CASE("one-hot rows of any type are their classes") {
  check_classes(one_hot<bool>());
  check_classes(one_hot<std::uint8_t>());
  check_classes(one_hot<std::int8_t>());
  check_classes(one_hot<std::uint16_t>());
  check_classes(one_hot<std::int16_t>());
  check_classes(one_hot<std::uint32_t>());
  check_classes(one_hot<std::int32_t>());
  check_classes(one_hot<std::uint64_t>());
  check_classes(one_hot<std::int64_t>());
  check_classes(one_hot<headrace::float16_t>());
  check_classes(one_hot<headrace::bfloat16_t>());
  check_classes(one_hot<float>());
  check_classes(one_hot<double>());
}

TEST_CASE("labels of another shape or kind are refused with what came and a way out") {
  const std::string seven = labels_refusal(one_hot<std::uint8_t>(7));
  CHECK(contains(seven, "[N, 5]"));
  CHECK(contains(seven, "uint8 [75, 7]"));
  CHECK(contains(seven, "convert"));
  CHECK(contains(labels_refusal(one_hot<float>(2)), "float32 [75, 2]"));
  CHECK(contains(labels_refusal(class_numbers<float>({label_rows})), "float32 [75]"));
  CHECK(contains(labels_refusal(class_numbers<double>({label_rows, 1})), "float64 [75, 1]"));
  CHECK(contains(labels_refusal(class_numbers<std::uint8_t>({label_rows, 1, 1})),
                 "uint8 [75, 1, 1]"));
}

TEST_CASE("a class number outside 0 to 4 is refused with its record, of the test split too") {
  Tensor labels = class_numbers<std::int64_t>({label_rows});
  for (const std::int64_t wrong :
       {std::int64_t{5}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    labels.data<std::int64_t>()[62] = wrong;
    const std::string said = labels_refusal(labels);
    CHECK(contains(said, "/labels[62]"));
    CHECK(contains(said, "got " + std::to_string(wrong)));
  }
  Tensor large = class_numbers<std::uint64_t>({label_rows, 1});
  large.data<std::uint64_t>()[7] = std::numeric_limits<std::uint64_t>::max();
  CHECK(contains(labels_refusal(large), "got 18446744073709551615"));
}

TEST_CASE("a row that is not one-hot is refused with its record and its values") {
  const std::string none = refusal_of_row({0, 0, 0, 0, 0});
  CHECK(contains(none, "/labels[62]"));
  CHECK(contains(none, "got [0, 0, 0, 0, 0]"));
  CHECK(contains(refusal_of_row({0, 1, 0, 1, 0}), "got [0, 1, 0, 1, 0]"));
  CHECK(contains(refusal_of_row({0, 0.25F, 0, 0.75F, 0}), "got [0, 0.25, 0, 0.75, 0]"));
  CHECK(contains(refusal_of_row({0, 1, -1, 0, 0}), "got [0, 1, -1, 0, 0]"));
  const float nothing = std::numeric_limits<float>::quiet_NaN();
  CHECK(contains(refusal_of_row({0, 1, 0, nothing, 0}), "nan"));
  CHECK(contains(refusal_of_row({nothing, nothing, nothing, nothing, nothing}), "nan"));
}

TEST_CASE("the program says of wrong labels what they must be, and ends as for data") {
  const TemporaryFolder folder;
  headrace::test::write_glaucoma_data(folder.path() / "data.h5", one_hot<std::uint8_t>(7), split());
  std::ofstream(folder.path() / "job.yaml") << "kind: glaucoma\ndata: {file: data.h5}\n";
  const auto bench = headrace::test::run_headrace(folder.path(), {"bench", "loader", "job.yaml"});
  CHECK(bench.status == 3);
  CHECK(contains(bench.err, "uint8 [75, 7]"));
}
