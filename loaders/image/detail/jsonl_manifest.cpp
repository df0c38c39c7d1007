#include <headrace/loaders/image/detail/image_listing.h>
#include <headrace/loaders/image/detail/manifest_rows.h>

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::detail {
namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_line = std::size_t{1} << 20;
constexpr int deepest = 8;

Json parse_line(std::string_view text, const std::string& file, std::int64_t line) {
  if (text.size() > longest_line) refuse_line(file, line, "a line must be at most 1 MiB long");
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > deepest) refuse_line(file, line, "must not be nested deeper than 8 levels");
    return true;
  };
  Json row = Json::parse(text, shallow, false);
  if (row.is_discarded()) refuse_line(file, line, "must be a JSON object, got something else");
  if (!row.is_object())
    refuse_line(file, line, std::string("must be a JSON object, got ") + row.type_name());
  return row;
}

/// One key of a line: there in every line or in none.
class Column {
 public:
  explicit Column(const char* name) : name_(name) {}
  bool used() const noexcept { return used_; }

  const Json* find(const Json& row, const std::string& file, std::int64_t line) {
    const auto at = row.find(name_);
    const bool there = at != row.end() && !at->is_null();
    if (!seen_) {
      seen_ = true;
      used_ = there;
    }
    if (there == used_) return there ? &*at : nullptr;
    refuse_line(file, line,
                std::string(name_) + " must be " + (used_ ? "there" : "left out") +
                    " as in the first line");
  }

  /// Text, or a whole number as text. Kinds may not mix.
  std::string_view text(const Json& row, const std::string& file, std::int64_t line) {
    const Json* value = find(row, file, line);
    if (value == nullptr) return {};
    const bool number = value->is_number_integer();
    if (!number && !value->is_string()) {
      refuse_line(
          file, line,
          std::string(name_) + " must be text or a whole number, got " + value->type_name());
    }
    if (known_kind_ && number != number_) {
      refuse_line(file, line,
                  std::string(name_) + " must be " + (number_ ? "a number" : "text") +
                      " as in the lines before");
    }
    known_kind_ = true;
    number_ = number;
    text_ = number ? value->dump() : value->get_ref<const std::string&>();
    return text_;
  }

 private:
  const char* name_;
  bool seen_ = false;
  bool used_ = false;
  bool known_kind_ = false;
  bool number_ = false;
  std::string text_;
};

}  // namespace

ManifestColumns read_jsonl_manifest(std::string_view text, const std::string& file,
                                    const std::function<void(const ManifestRow&)>& take) {
  Column image("image");
  Column mask("mask");
  Column label("label");
  Column group("group");
  Column weight("weight");
  std::int64_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Json row = parse_line(one, file, line);
    if (!row.contains("image")) refuse_line(file, line, "image must be there");
    if (!row["image"].is_string()) {
      refuse_line(file, line, std::string("image must be a path, got ") + row["image"].type_name());
    }
    ManifestRow out{line, image.text(row, file, line), mask.text(row, file, line),
                    label.text(row, file, line), group.text(row, file, line)};
    if (const Json* value = weight.find(row, file, line)) {
      if (!value->is_number() || !is_weight(value->get<double>()))
        refuse_line(file, line, "weight must be a number from 0 on, got " + value->dump());
      out.weight = value->get<double>();
    }
    take(out);
  }
  return {mask.used(), label.used(), group.used(), weight.used()};
}

}  // namespace headrace::inline v1::detail
