// Which datasets of an HDF5 file are taken for records and labels, and why others are not.
#include <headrace/apps/task/find_arrays.h>
#include <headrace/apps/task/find_data.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/classification/array_data.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <string>
#include <vector>

#include <H5Cpp.h>
#include <doctest/doctest.h>

using namespace headrace;
using test::add_dataset;
using test::array_rows;

namespace {

using P = H5::PredType;

/// A file with 6 records of 2 values, called x.
struct SearchedFile {
  SearchedFile() {
    Hdf5Writer writer(path);
    add_dataset<float>(writer, "/x", {6, 2}, array_rows(6, 2, 2));
    writer.finish();
  }
  void add(const char* name, const H5::DataType& type, const std::vector<hsize_t>& extents) const {
    const H5::H5File file(path.c_str(), H5F_ACC_RDWR);
    const std::vector<char> zeros(4096);
    test::write(file, {name, type, extents}, zeros.data(), type);
  }
  void fill(const char* name, const std::vector<hsize_t>& extents,
            const std::vector<double>& values) const {
    const H5::H5File file(path.c_str(), H5F_ACC_RDWR);
    test::write(file, {name, P::IEEE_F32LE, extents}, values.data(), P::NATIVE_DOUBLE);
  }
  // Of variable length.
  void strings(const char* name, const std::vector<const char*>& texts) const {
    const H5::H5File file(path.c_str(), H5F_ACC_RDWR);
    const H5::StrType type(P::C_S1, H5T_VARIABLE);
    test::write(file, {name, type, {texts.size()}}, texts.data(), type);
  }
  app::DataSet found() const { return app::find_classes(path).train; }
  std::string reasons() const {
    try {
      found();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  test::TemporaryFolder root;
  std::filesystem::path path = root / "a.h5";
};

void says(const std::string& text, const char* part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool said = text.find(part) != std::string::npos;
  CHECK(said);
}

}  // namespace

TEST_CASE("who is behind each record is no label, however that is called") {
  const SearchedFile file;
  file.add("/Subject IDs", P::STD_I32LE, {6});
  says(file.reasons(), "/Subject IDs: int32 [6]: groups");
  file.add("/y", P::STD_I32LE, {6});
  CHECK(file.found().groups == "/Subject IDs");
}

TEST_CASE("each dataset that is no labels has its reason, as it lies in the file") {
  const SearchedFile file;
  H5::CompType pair(std::size_t{8});
  pair.insertMember("a", 0, P::STD_I32LE);
  pair.insertMember("b", 4, P::STD_I32LE);
  file.add("/y", P::IEEE_F64LE, {1, 6});
  file.add("/age", P::IEEE_F32LE, {6});
  file.add("/pair", pair, {6});
  file.add("/scan", H5::StrType(P::C_S1, 8), {6});
  file.add("/stack", P::STD_U8LE, {6, 2, 3});
  file.add("/few", P::STD_U8LE, {5});
  file.add("/scalar", P::STD_U8LE, {});
  const std::string text = file.reasons();
  says(text, "called labels or y; it has ");
  says(text, "/y: float64 [1, 6]: labels must be [6]");
  says(text, "/age: float32 [6]: fractions are labels only where they are called so");
  says(text, "/pair: datatype is compound;");
  says(text, "/scan: strings [6]: strings are labels only where they are called so");
  says(text, "/stack: uint8 [6, 2, 3]: labels must be [6] or flags [6, classes]");
  says(text, "/few: uint8 [5]: labels must be [6]");
  says(text, "/scalar: has no axis of rows;");
  says(text, "/x: float32 [6, 2]: the records;");
}

TEST_CASE("each dataset that is no record has its reason, and strings are none") {
  const test::TemporaryFolder root;
  {
    const H5::H5File file((root / "a.h5").string(), H5F_ACC_TRUNC);
    const std::vector<char> zeros(4096);
    const H5::StrType text(P::C_S1, 40);
    test::write(file, {"/x", text, {6}}, zeros.data(), text);
    test::write(file, {"/y", P::STD_I64LE, {6}}, zeros.data(), P::NATIVE_INT64);
    test::write(file, {"/deep", P::STD_U8LE, {6, 2, 2, 2, 2}}, zeros.data(), P::NATIVE_UINT8);
    test::write(file, {"/labels", P::STD_U8LE, {6, 2}}, zeros.data(), P::NATIVE_UINT8);
  }
  std::string reasons;
  try {
    app::find_classes(root / "a.h5");
  } catch (const ConfigError& error) {
    reasons = error.what();
  }
  says(reasons, "must have a dataset of records");
  says(reasons, "/x: strings [6]: strings are no records");
  says(reasons, "/y: int64 [6]: records must be [records, values] or more");
  says(reasons, "/deep: uint8 [6, 2, 2, 2, 2]: records must be at most");
  says(reasons, "/labels: uint8 [6, 2]: called as labels or groups are");
}

TEST_CASE("a column of numbers is one label a record, in HDF5 and in .npy") {
  const SearchedFile file;
  file.fill("/y", {6, 1}, {0, 1, 0, 1, 2, 1});
  CHECK(file.found().labels == "/y");
  CHECK_FALSE(file.found().multi_label);
  const SearchedFile two;
  two.fill("/y", {6, 1}, {0, 1, 0, 1, 1, 1});
  CHECK_FALSE(two.found().multi_label);
  test::write_array<float>(two.root / "x.npy", "6, 2", array_rows(6, 2, 2));
  test::write_array<std::int64_t>(two.root / "y.npy", "6, 1",
                                  std::vector<std::int64_t>{0, 1, 0, 1, 1, 1});
  CHECK_FALSE(app::find_classes(two.root / "x.npy").train.multi_label);
}

TEST_CASE("strings are labels and groups by their names, and never records by their size") {
  const SearchedFile file;
  file.add("/file_names", H5::StrType(P::C_S1, 400), {6});
  file.strings("/labels", {"cat", "dog", "cat", "dog", "owl", "owl"});
  file.add("/patient", H5::StrType(P::C_S1, 8), {6});
  const app::DataSet found = file.found();
  CHECK(found.data == "/x");
  CHECK(found.labels == "/labels");
  CHECK(found.groups == "/patient");
  const SearchedFile wide;
  {
    const H5::H5File other(wide.path.c_str(), H5F_ACC_RDWR);
    REQUIRE(H5Lmove(other.getId(), "/x", other.getId(), "/values", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  }
  wide.add("/notes", H5::StrType(P::C_S1, 40), {6, 10});
  wide.add("/kind", P::STD_U8LE, {6});
  CHECK(wide.found().data == "/values");
  CHECK(wide.found().labels == "/kind");
}

TEST_CASE("datasets of one file that say for which part they are, are those parts") {
  const test::TemporaryFolder root;
  const auto file_of = [&](const char* name, const std::vector<std::string>& records) {
    Hdf5Writer writer(root / name);
    for (const std::string& data : records) {
      std::string labels = data;
      labels.replace(labels.find_last_of('x'), 1, "y");
      add_dataset<float>(writer, data, {6, 2}, array_rows(6, 2, 2));
      if (data.find("bare") == std::string::npos)
        add_dataset<float>(writer, labels, {6}, {0, 1, 0, 1, 0, 1});
    }
    writer.finish();
    return app::find_classes(root / name);
  };
  const app::FoundData flat = file_of("flat.h5", {"/x_test", "/x_train", "/x_val", "/x_old"});
  CHECK(flat.train.data == "/x_train");
  CHECK(flat.train.labels == "/y_train");
  REQUIRE(flat.validation);
  CHECK(flat.validation->labels == "/y_val");
  REQUIRE(flat.test);
  CHECK(flat.test->data == "/x_test");
  CHECK(app::describe_choice(flat).back() == "left out: /x_old float32 [6, 2], /y_old float32 [6]");
  const app::FoundData groups = file_of("groups.h5", {"/test/x", "/train/x"});
  CHECK(groups.train.data == "/train/x");
  REQUIRE(groups.test);
  CHECK(groups.test->labels == "/test/y");
  CHECK_FALSE(groups.validation);
  const app::FoundData beside = file_of("beside.h5", {"/x", "/x_test", "/bare_x_val"});
  CHECK(beside.train.data == "/x");
  CHECK(beside.test->data == "/x_test");
  CHECK_FALSE(beside.validation);
  const app::FoundData shared = file_of("shared.h5", {"/bare_x_train", "/x", "/x_test"});
  CHECK(shared.train.data == "/x");  // the others have no labels that say so
  {
    Hdf5Writer writer(root / "plain.h5");
    add_dataset<float>(writer, "/x_train", {6, 2}, array_rows(6, 2, 2));
    add_dataset<float>(writer, "/labels", {6}, {0, 1, 0, 1, 0, 1});
    writer.finish();
  }
  const app::DataSet plain = app::find_classes(root / "plain.h5").train;
  CHECK(plain.data == "/x_train");
  CHECK(plain.labels == "/labels");
  const app::FoundData alone = file_of("alone.h5", {"/val/x"});
  CHECK(alone.train.data == "/val/x");
  CHECK_FALSE(alone.validation);
}
