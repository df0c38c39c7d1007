#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_datasets.h>
#include <headrace/loaders/hdf5/hdf5_records.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <array>
#include <string>
#include <vector>

#include <H5Cpp.h>
#include <doctest/doctest.h>

using namespace headrace;
using test::contains;

namespace {

using Labels = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// Features float32 [4, 2], labels by number, one-hot and by flags, and groups.
struct Data {
  Data() {
    Hdf5Writer writer(root / "a.h5");
    add<float>(writer, "/x", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
    add<std::int8_t>(writer, "/y", {4}, {1, 0, 2, 1});
    add<float>(writer, "/one_hot", {4, 2}, {0, 1, 1, 0, 0, 1, 1, 0});
    add<std::uint8_t>(writer, "/flags", {4, 3}, {1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1});
    add<std::int32_t>(writer, "/patient", {4}, {9, 9, 4, 4});
    add<std::int64_t>(writer, "/short", {3}, {0, 1, 2});
    writer.attribute("/y", "class_names", "cat, dog,owl");
    writer.finish();
    options = {.data = "/x", .labels = "/y", .table = {.file = root / "a.h5"}};
  }
  template <class T>
  static void add(Hdf5Writer& writer, const std::string& path, const Shape& shape,
                  const std::vector<T>& values) {
    writer.add(path, dtype_of<T>, shape[0], shape.row());
    writer.append(path, Tensor::of<T>(values, shape));
  }
  template <class E = ConfigError>
  std::string refusal() const {
    return test::message_of<E>([this] { Hdf5Records records(options); });
  }
  test::TemporaryFolder root;
  Hdf5RecordsOptions options;
};

}  // namespace

TEST_CASE("datasets of features and labels are records, in memory or in the file") {
  Data data;
  data.options.groups = "/patient";
  const std::vector<std::int64_t> indices{3, 0, 1, 3};
  for (const Residence residence : {Residence::resident, Residence::file}) {
    data.options.table.residence = residence;
    const Hdf5Records records(data.options);
    CHECK(records.size() == 4);
    CHECK(records.labels() == Labels{1, 0, 2, 1});
    CHECK(records.classes() == Names{"cat", "dog", "owl"});
    CHECK(records.groups() == Labels{1, 1, 0, 0});
    CHECK(records.fields().at("features").shape == Shape{2});
    CHECK(test::gathered(records, indices) == test::one_by_one(records, indices));
    Sample sample;
    records.read(2, sample);
    CHECK(sample["features"].values<float>()[1] == 5);
    CHECK(sample["label"].item<std::int64_t>() == 2);
    CHECK(contains(records.origin(2), "a.h5:/x[2]"));
  }
}

TEST_CASE("rows of flags are one label or several, and none may be there") {
  Data data;
  data.options.labels = "/one_hot";
  CHECK(Hdf5Records(data.options).labels() == Labels{1, 0, 1, 0});
  CHECK(Hdf5Records(data.options).classes() == Names{"class0", "class1"});
  data.options.labels = "/flags";
  CHECK(contains(data.refusal<DataError>(), "a.h5:/flags: row 0 must hold one 1, got 2"));
  data.options.multi_label = true;
  const Hdf5Records several(data.options);
  CHECK(several.multi_label());
  CHECK(several.label_set(3) == Labels{0, 1, 2});
  data.options.labels.clear();
  CHECK(Hdf5Records(data.options).classes().empty());
}

TEST_CASE("an array of strings names the classes, too") {
  const Data data;
  for (const bool variable : {true, false}) {
    H5::H5File file((data.root / "a.h5").string(), H5F_ACC_RDWR);
    H5::Group root = file.openGroup("/");
    if (root.attrExists("class_names")) root.removeAttr("class_names");
    const hsize_t count = 2;
    const H5::DataSpace space(1, &count);
    const H5::StrType type(H5::PredType::C_S1, variable ? H5T_VARIABLE : std::size_t{4});
    H5::Attribute attribute = root.createAttribute("class_names", type, space);
    const std::array<const char*, 2> pointers{"left", "right, too"};
    const std::array<char, 8> packed{'l', 'e', 'f', 't', 'u', 'p', 0, 0};
    attribute.write(type, variable ? static_cast<const void*>(pointers.data()) : packed.data());
    attribute.close();
    root.close();
    file.close();
    Hdf5RecordsOptions options = data.options;
    options.labels = "/one_hot";
    CHECK(Hdf5Records(options).classes() ==
          (variable ? Names{"left", "right, too"} : Names{"left", "up"}));
  }
}

TEST_CASE("each dataset of a file says what it is, or why it cannot be read") {
  const Data data;
  {
    const H5::H5File file((data.root / "a.h5").string(), H5F_ACC_RDWR);
    H5::CompType pair(std::size_t{8});
    pair.insertMember("a", 0, H5::PredType::STD_I32LE);
    const std::vector<char> zeros(64);
    test::write(file, {"/pair", pair, {4}}, zeros.data(), pair);
    test::write(file, {"/one", H5::PredType::STD_U8LE, {}}, zeros.data(),
                H5::PredType::NATIVE_UINT8);
    const H5::StrType text(H5::PredType::C_S1, 8);
    test::write(file, {"/names", text, {4}}, zeros.data(), text);
  }
  const auto said = [&](const std::string& path) {
    return to_string(hdf5_dataset_facts(data.root / "a.h5", {path}).front());
  };
  CHECK(said("/x") == "float32 [4, 2]");
  CHECK(said("/names") == "strings [4]");
  CHECK(said("/pair") == "datatype is compound");
  CHECK(said("/one") == "has no axis of rows");
}

TEST_CASE("datasets that are not there or do not fit together are refused by name") {
  Data data;
  data.options.labels = "/shot";
  CHECK(contains(data.refusal(), "\"/shot\""));
  data.options.labels = "/short";
  CHECK(contains(data.refusal(), "must have a row for each of 3 labels, got 4"));
  data.options.labels = "/x";
  CHECK(contains(data.refusal<DataError>(), "a.h5:/x: row 1 must hold 0 and 1, got 2"));
  data.options.labels = "/y";
  data.options.classes = {"a", "b"};
  CHECK(contains(data.refusal<DataError>(), "a.h5:/y: row 2 must hold a label of the 2 classes"));
  data.options.classes = {"dog", "cat", "owl"};
  CHECK(Hdf5Records(data.options).classes() == data.options.classes);
  data.options.classes_fixed = true;
  CHECK(contains(data.refusal<DataError>(), "class_names must be the classes that are wanted"));
}
