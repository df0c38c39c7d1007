// What stands beside the records of an HDF5 file: names, numbers in one column, MATLAB's arrays.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_records.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <H5Cpp.h>
#include <doctest/doctest.h>

using namespace headrace;
using test::contains;

namespace {

using P = H5::PredType;
using Labels = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// An HDF5 file beside the tests of which datasets are written.
struct LabelledFile {
  explicit LabelledFile(hsize_t user_block = 0) {
    H5::FileCreatPropList layout;
    if (user_block > 0) layout.setUserblock(user_block);
    const H5::H5File file(options.table.file.c_str(), H5F_ACC_TRUNC, layout);
  }

  /// float64, of MATLAB where it has a class.
  void numbers(const char* path, const std::vector<hsize_t>& extents,
               const std::vector<double>& values, const char* matlab = "") const {
    const H5::H5File file(options.table.file.c_str(), H5F_ACC_RDWR);
    test::write(file, {path, P::IEEE_F64LE, extents}, values.data(), P::NATIVE_DOUBLE);
    name_class(file, path, matlab);
  }

  /// Strings of `bytes` bytes each, padded with NULs or spaces, or (0) of variable length.
  void strings(const char* path, const std::vector<hsize_t>& extents, const Names& texts,
               std::size_t bytes, char padding = '\0') const {
    const H5::H5File file(options.table.file.c_str(), H5F_ACC_RDWR);
    const H5::StrType type(P::C_S1, bytes > 0 ? bytes : H5T_VARIABLE);
    std::vector<const char*> pointers;
    std::string packed;
    for (std::string text : texts) {
      pointers.push_back(texts[pointers.size()].c_str());
      text.resize(bytes, padding);
      packed += text;
    }
    const void* values = bytes > 0 ? static_cast<const void*>(packed.data()) : pointers.data();
    test::write(file, {path, type, extents}, values, type);
  }

  /// MATLAB's char array [records, length], which lies turned in the file.
  void chars(const char* path, const std::vector<std::u16string>& texts) const {
    const H5::H5File file(options.table.file.c_str(), H5F_ACC_RDWR);
    std::u16string stored;
    for (std::size_t at = 0; at < texts.front().size(); ++at)
      for (const std::u16string& text : texts)
        stored += text[at];
    test::write(file, {path, P::STD_U16LE, {texts.front().size(), texts.size()}}, stored.data(),
                P::NATIVE_UINT16);
    name_class(file, path, "char");
  }

  template <class E = ConfigError>
  std::string refusal() const {
    return test::message_of<E>([this] { Hdf5Records records(options); });
  }

  test::TemporaryFolder root;
  Hdf5RecordsOptions options{.data = "/x", .labels = "/y", .table = {.file = root / "a.h5"}};

 private:
  static void name_class(const H5::H5File& file, const char* path, const std::string& matlab) {
    if (matlab.empty()) return;
    const H5::StrType type(P::C_S1, matlab.size());
    file.openDataSet(path)
        .createAttribute("MATLAB_class", type, H5::DataSpace())
        .write(type, matlab.data());
  }
};

std::vector<double> values_of(const Hdf5Records& records, std::int64_t row) {
  Sample sample;
  records.read(row, sample);
  const auto values = sample["features"].values<double>();
  return {values.begin(), values.end()};
}

const std::vector<double> six{0, 1, 2, 3, 4, 5};

}  // namespace

TEST_CASE("strings of fixed and of variable length are class names where they stand as labels") {
  const LabelledFile file;
  file.numbers("/x", {3, 2}, six);
  file.strings("/fixed", {3}, {"owl", "a cat", "owl"}, 5);
  file.strings("/spaces", {3}, {"owl", "a cat", "owl"}, 8, ' ');
  file.strings("/any", {3}, {"owl", "a cat", "owl"}, 0);
  file.strings("/column", {3, 1}, {"owl", "a cat", "owl"}, 5);
  file.strings("/any_column", {3, 1}, {"owl", "a cat", "owl"}, 0);
  file.strings("/patient", {3}, {"p7", "p7", "p1"}, 0);
  for (const char* labels : {"/fixed", "/spaces", "/any", "/column", "/any_column"}) {
    CAPTURE(labels);
    Hdf5RecordsOptions options = file.options;
    options.labels = labels;
    options.groups = "/patient";
    const Hdf5Records records(options);
    CHECK(records.classes() == Names{"a cat", "owl"});
    CHECK(records.labels() == Labels{1, 0, 1});
    CHECK(records.groups() == Labels{1, 1, 0});
    options.classes = {"owl", "dog", "a cat"};
    CHECK(Hdf5Records(options).labels() == Labels{0, 2, 0});
  }
}

TEST_CASE("strings that cannot be labels are refused with their row or shape, and are no records") {
  LabelledFile file;
  file.numbers("/x", {3, 2}, six);
  file.strings("/y", {3}, {"owl", "", "cat"}, 3);
  file.strings("/row", {1, 3}, {"owl", "cat", "cat"}, 3);
  file.strings("/short", {2}, {"owl", "cat"}, 3);
  CHECK(contains(file.refusal<DataError>(), "a.h5:/y: row 1 must hold a name, got an empty text"));
  file.options.labels = "/row";
  CHECK(contains(file.refusal(), "a.h5:/row: strings must be [records], got [1, 3]"));
  file.options.labels = "/short";
  CHECK(contains(file.refusal(), "must have a row for each of 2 labels, got 3"));
  file.options.classes = {"owl", "dog"};
  CHECK(contains(file.refusal<DataError>(),
                 "row 1 must hold the name of one of the 2 classes, got \"cat\""));
  file.options.classes = {"cat", "cat", "owl"};
  CHECK(contains(file.refusal(), "must have classes of different names"));
  file.options.multi_label = true;
  CHECK(contains(file.refusal(), "of multi_label must be flags [records, classes], got strings"));
  file.options = {.data = "/short", .table = file.options.table};
  CHECK(contains(file.refusal(), "a.h5:/short: records must be numbers, got strings [2]"));
}

TEST_CASE("groups in one column are groups") {
  LabelledFile file;
  file.numbers("/x", {3, 2}, six);
  file.numbers("/y", {3, 1}, {1, 0, 1});
  file.numbers("/patient", {3, 1}, {9, 4, 9});
  file.options.groups = "/patient";
  const Hdf5Records records(file.options);
  CHECK(records.labels() == Labels{1, 0, 1});
  CHECK(records.groups() == Labels{1, 0, 1});
}

TEST_CASE("what MATLAB wrote behind its user block is read with its axes turned") {
  LabelledFile file(512);
  // x(record, channel, bin) = 100 record + 10 channel + bin of [3, 2, 4], y and patient [3, 1].
  std::vector<double> stored;
  for (int bin = 0; bin < 4; ++bin)
    for (int channel = 0; channel < 2; ++channel)
      for (int record = 0; record < 3; ++record)
        stored.push_back(100 * record + 10 * channel + bin);
  file.numbers("/x", {4, 2, 3}, stored, "double");
  file.numbers("/y", {1, 3}, {2, 0, 1}, "double");
  file.numbers("/patient", {1, 3}, {7, 7, 5}, "double");
  file.numbers("/flags", {2, 3}, {0, 1, 0, 1, 0, 1}, "logical");
  file.chars("/names", {u"a\u00e9\u20ac  ", u"\U0001F600   ", u"a\u00e9\u20ac  "});
  file.options.groups = "/patient";
  const Hdf5Records records(file.options);
  REQUIRE(records.size() == 3);
  CHECK(records.fields().at("features").shape == Shape{2, 4});
  CHECK(values_of(records, 2) == std::vector<double>{200, 201, 202, 203, 210, 211, 212, 213});
  CHECK(records.labels() == Labels{2, 0, 1});
  CHECK(records.groups() == Labels{1, 1, 0});
  CHECK(contains(records.origin(2), "a.h5:/x[2]"));
  CHECK(records.resident_bytes() >= 24 * sizeof(double));
  const std::vector<std::int64_t> indices{2, 0, 2};
  CHECK(test::gathered(records, indices) == test::one_by_one(records, indices));

  file.options.labels = "/flags";
  CHECK(Hdf5Records(file.options).labels() == Labels{1, 0, 1});
  file.options.labels = "/names";
  CHECK(Hdf5Records(file.options).classes() == Names{"a\xc3\xa9\xe2\x82\xac", "\xf0\x9f\x98\x80"});
  CHECK(Hdf5Records(file.options).labels() == Labels{0, 1, 0});
  file.options.table.memory = 300;
  CHECK(contains(file.refusal<ResourceError>(), "needs one file and 384 bytes of memory"));
}

TEST_CASE("what fits as it is stored is not turned, and what fits both ways is refused") {
  LabelledFile file;
  file.numbers("/x", {3, 2}, six, "double");
  file.numbers("/y", {3, 1}, {1, 0, 1}, "double");
  const Hdf5Records records(file.options);
  CHECK(values_of(records, 1) == std::vector<double>{2, 3});
  CHECK(records.labels() == Labels{1, 0, 1});
  file.numbers("/square", {3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, "double");
  file.options.data = "/square";
  CHECK(contains(file.refusal(),
                 "a.h5:/square: was written by MATLAB and must have as many records as "
                 "/y along its first or its last axis, got [3, 3] and [3, 1], which fit "
                 "both ways"));
  file.options.labels.clear();
  file.options.record = Shape{3};
  CHECK(contains(file.refusal(), "along its first or its last axis, got [3, 3]"));
  file.options.data = "/x";
  CHECK(values_of(Hdf5Records(file.options), 1) == std::vector<double>{1, 3, 5});
  file.options.record = Shape{2};
  CHECK(values_of(Hdf5Records(file.options), 1) == std::vector<double>{2, 3});
  file.options.record = Shape{4};
  CHECK(contains(file.refusal(), "its records must be [4] along its first or its last axis"));
}

TEST_CASE("labels that are no numbers of one row each, or no chars, are refused by what they are") {
  LabelledFile file;
  file.numbers("/x", {3, 2}, six);
  file.numbers("/y", {3, 1}, {1, 0, 1}, "char");
  CHECK(contains(file.refusal(), "a.h5:/y: chars must be uint16 [records, chars], got float64"));
  file.numbers("/none", {0, 2}, {});
  file.numbers("/none_of_them", {0}, {});
  file.options.data = "/none";
  file.options.labels = "/none_of_them";
  CHECK(contains(file.refusal(), "must hold numbers, one row for each record, got no row"));
}
