#include <headrace/apps/feed/hdf5_text.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <string>
#include <vector>

#include <H5Cpp.h>
#include <doctest/doctest.h>

namespace {

using headrace::app::read_hdf5_text;
using headrace::test::TemporaryFolder;

void write_attribute(const H5::H5File& file, const char* name, const H5::StrType& type,
                     const H5::DataSpace& space, const void* values) {
  const H5::Attribute attribute = file.createAttribute(name, type, space);
  if (values != nullptr) attribute.write(type, values);
}

std::string text_refusal(const std::filesystem::path& file, const char* name) {
  try {
    read_hdf5_text(file, name);
  } catch (const headrace::DataError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE(
    "a text attribute is read, whether of variable or of fixed length, alone or in an array") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "texts.h5";
  const H5::StrType any_length(H5::PredType::C_S1, H5T_VARIABLE);
  const H5::StrType six(H5::PredType::C_S1, 6);
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const char* text = "one text";
    const hsize_t one = 1;
    write_attribute(file, "variable", any_length, H5::DataSpace(), static_cast<const void*>(&text));
    write_attribute(file, "of one", any_length, H5::DataSpace(1, &one),
                    static_cast<const void*>(&text));
    write_attribute(file, "fixed", six, H5::DataSpace(), "sixsix");
    const int number = 3;
    file.createAttribute("number", H5::PredType::NATIVE_INT, H5::DataSpace())
        .write(H5::PredType::NATIVE_INT, &number);
  }
  CHECK(read_hdf5_text(path, "variable") == "one text");
  CHECK(read_hdf5_text(path, "of one") == "one text");
  CHECK(read_hdf5_text(path, "fixed") == "sixsix");
  CHECK_FALSE(read_hdf5_text(path, "number"));
  CHECK_FALSE(read_hdf5_text(path, "none"));
}

TEST_CASE("an array of texts, or none at all, is refused with how many came") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "texts.h5";
  const H5::StrType any_length(H5::PredType::C_S1, H5T_VARIABLE);
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const std::vector<const char*> many(64, "text");
    const hsize_t count = many.size();
    write_attribute(file, "many", any_length, H5::DataSpace(1, &count), many.data());
    const H5::StrType two(H5::PredType::C_S1, 2);
    write_attribute(file, "fixed", two, H5::DataSpace(1, &count), std::string(128, 'x').data());
    write_attribute(file, "empty", any_length, H5::DataSpace(H5S_NULL), nullptr);
  }
  CHECK(text_refusal(path, "many") ==
        "[hdf5] " + path.string() +
            ": attribute \"many\" must be one text, got 64; write it as "
            "a scalar");
  CHECK(text_refusal(path, "fixed").find("must be one text, got 64") != std::string::npos);
  CHECK(text_refusal(path, "empty").find("must be one text, got 0") != std::string::npos);
}
