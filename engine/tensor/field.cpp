#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/engine/tensor/internal/byte_count.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1 {

namespace {

auto find_in(auto& fields, std::string_view name) {
  return std::ranges::find(fields, name, &FieldSpec::name);
}

std::string list_names(const Schema& schema) {
  std::string text;
  for (const FieldSpec& field : schema) {
    if (!text.empty()) text += ", ";
    text += field.name;
  }
  return text.empty() ? "none" : text;
}

[[noreturn]] void refuse(std::string_view who, std::string_view name, const Schema& schema) {
  throw ConfigError("[" + std::string(who) + "] field \"" + std::string(name) +
                    "\" is needed, the fields are: " + list_names(schema));
}

}  // namespace

FieldSpec FieldSpec::fixed(std::string name, DType dtype, const Shape& shape) {
  return {.name = std::move(name), .dtype = dtype, .shape = shape, .kind = Kind::fixed};
}

FieldSpec FieldSpec::padded(std::string name, DType dtype, const Shape& largest, double fill) {
  return {.name = std::move(name),
          .dtype = dtype,
          .shape = largest,
          .kind = Kind::padded,
          .fill = fill};
}

FieldSpec FieldSpec::ragged(std::string name, DType dtype, std::int64_t largest_row) {
  return {.name = std::move(name), .dtype = dtype, .shape = {largest_row}, .kind = Kind::ragged};
}

FieldSpec FieldSpec::on_host(std::string name, DType dtype, const Shape& shape) {
  return {.name = std::move(name), .dtype = dtype, .shape = shape, .host_only = true};
}

std::size_t FieldSpec::row_bytes() const {
  return detail::byte_count(dtype, shape);
}

std::string to_string(const FieldSpec& field) {
  std::string text =
      field.name + ": " + std::string(name_of(field.dtype)) + " " + to_string(field.shape);
  if (field.kind == FieldSpec::Kind::padded) text += " padded";
  if (field.kind == FieldSpec::Kind::ragged) text += " ragged";
  if (field.host_only) text += " on the host";
  return text;
}

Schema::Schema(std::initializer_list<FieldSpec> fields) {
  for (const FieldSpec& field : fields) {
    if (find(field.name) != nullptr) {
      throw ConfigError("[schema] field \"" + field.name + "\" is given twice");
    }
    put(field);
  }
}

void Schema::put(FieldSpec field) {
  if (field.name.empty()) throw ConfigError("[schema] a field needs a name");
  const auto at = find_in(fields_, field.name);
  if (at == fields_.end()) {
    fields_.push_back(std::move(field));
  } else {
    *at = std::move(field);
  }
}

void Schema::remove(std::string_view name) {
  const auto at = find_in(fields_, name);
  if (at == fields_.end()) refuse("schema", name, *this);
  fields_.erase(at);
}

const FieldSpec* Schema::find(std::string_view name) const noexcept {
  const auto at = find_in(fields_, name);
  return at == fields_.end() ? nullptr : &*at;
}

const FieldSpec& Schema::at(std::string_view name, std::string_view who) const& {
  const FieldSpec* field = find(name);
  if (field == nullptr) refuse(who, name, *this);
  return *field;
}

FieldSpec Schema::at(std::string_view name, std::string_view who) && {
  const Schema& here = *this;
  return here.at(name, who);
}

std::string to_string(const Schema& schema) {
  std::string text = "{";
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (i > 0) text += ", ";
    text += to_string(schema[i]);
  }
  return text + "}";
}

}  // namespace headrace::inline v1
