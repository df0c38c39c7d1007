#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/library/library_lists.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t most_attribute_bytes = std::size_t{1} << 20;
constexpr int most_attributes = 256;

/// The text of a string attribute, of fixed or variable length.
std::optional<std::string> text_of(const H5::Attribute& attribute, const H5::DataType& type) {
  if (attribute.getSpace().getSimpleExtentNpoints() != 1) return std::nullopt;
  if (H5Tis_variable_str(type.getId()) <= 0 && type.getSize() > most_attribute_bytes)
    return std::nullopt;
  std::string text;
  attribute.read(type, text);
  text.resize(std::min(text.size(), most_attribute_bytes));
  text.resize(std::strlen(text.c_str()));
  return text;
}

/// The texts of an array of strings, of fixed or variable length; empty where it is another or too
/// large.
std::vector<std::string> texts_of(const H5::Attribute& attribute, const H5::DataType& type) {
  const H5::DataSpace space = attribute.getSpace();
  if (space.getSimpleExtentNdims() != 1) return {};
  const auto count = static_cast<std::size_t>(space.getSimpleExtentNpoints());
  const std::size_t size = type.getSize();
  if (count == 0 || count > most_attribute_bytes / std::max<std::size_t>(size, 1)) return {};
  std::vector<std::string> texts;
  std::vector<char> bytes(count * size);
  attribute.read(type, bytes.data());
  if (H5Tis_variable_str(type.getId()) <= 0) {
    for (std::size_t i = 0; i < count; ++i)
      texts.emplace_back(&bytes[i * size], strnlen(&bytes[i * size], size));
    return texts;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const char* text = nullptr;
    std::memcpy(&text, &bytes[i * size], sizeof text);
    texts.emplace_back(text == nullptr ? "" : text);
  }
  H5Dvlen_reclaim(type.getId(), space.getId(), H5P_DEFAULT, bytes.data());
  return texts;
}

std::optional<Tensor> numbers_of(const H5::Attribute& attribute, const H5::DataType& type) {
  const H5::DataSpace space = attribute.getSpace();
  const int rank = space.getSimpleExtentNdims();
  if (!space.isSimple() || rank < 0 || rank > Shape::max_rank) return std::nullopt;
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  if (rank > 0) space.getSimpleExtentDims(extents.data());
  std::optional<Hdf5Element> element;
  try {
    element = element_of(type.getId());
  } catch (const DataError&) {
    return std::nullopt;  // a type that no field can have either
  }
  if (!element->extents.empty()) return std::nullopt;
  std::size_t bytes = size_of(element->dtype);
  std::vector<std::int64_t> shape;
  for (const hsize_t extent : extents) {
    if (extent == 0 || extent > most_attribute_bytes / bytes) return std::nullopt;
    bytes *= extent;
    shape.push_back(static_cast<std::int64_t>(extent));
  }
  Tensor value = Tensor::empty(element->dtype, Shape(std::span<const std::int64_t>(shape)));
  attribute.read(type, value.raw());
  normalise(value.raw(), bytes / size_of(element->dtype), element->dtype, element->swap);
  return value;
}

std::optional<Hdf5Attribute> read_one(const H5::Attribute& attribute, const std::string& object) {
  const H5::DataType type = attribute.getDataType();
  Hdf5Attribute read{.object = object, .name = attribute.getName()};
  if (type.getClass() == H5T_STRING) {
    if (auto text = text_of(attribute, type))
      read.text = std::move(*text);
    else
      read.texts = texts_of(attribute, type);
    if (read.text.empty() && read.texts.empty()) return std::nullopt;
    return read;
  }
  auto value = numbers_of(attribute, type);
  if (!value) return std::nullopt;
  read.value = std::move(*value);
  return read;
}

void read_of(const H5::H5Object& from, const std::string& object,
             const std::vector<std::string>& names, std::vector<Hdf5Attribute>& attributes) {
  const auto add = [&](const H5::Attribute& attribute) {
    if (auto read = read_one(attribute, object)) attributes.push_back(std::move(*read));
  };
  for (const std::string& name : names) {
    if (name != "*") {
      if (from.attrExists(name)) add(from.openAttribute(name));
      continue;
    }
    const int count = std::min(from.getNumAttrs(), most_attributes);
    for (int i = 0; i < count; ++i)
      add(from.openAttribute(static_cast<unsigned>(i)));
  }
}

}  // namespace

std::vector<Hdf5Attribute> read_attributes(const Hdf5File& file, const AttributeRequest& request) {
  std::vector<Hdf5Attribute> attributes;
  try {
    file.thread().run([&] {
      for (const std::string& object : request.objects) {
        if (object == "/")
          read_of(file.library().openGroup("/"), object, request.names, attributes);
        else
          read_of(open_dataset(file, object), object, request.names, attributes);
      }
    });
  } catch (const DataError& error) {
    throw DataError("[hdf5] " + printable(file.path().native()) +
                    ": its attributes cannot be read, " + error.what());
  }
  return attributes;
}

}  // namespace headrace::inline v1::detail
