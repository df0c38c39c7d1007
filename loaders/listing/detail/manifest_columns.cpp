#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/detail/manifest_rows.h>

#include <algorithm>
#include <set>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t longest_list = 400;

std::string joined(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) {
    if (text.size() > longest_list) return text + ", ...";
    text += (text.empty() ? "" : ", ") + printable(name, longest_list);
  }
  return text;
}

/// Takes names out of the columns that are there.
class Finder {
 public:
  Finder(const ManifestRequest& request, std::span<const std::string> there, std::int64_t line)
      : request_(request), there_(there), line_(line) {}

  /// The name if it is there, else empty.
  std::string find(const std::string& name) {
    const auto count = std::count(there_.begin(), there_.end(), name);
    if (count == 0) return {};
    if (count > 1) refuse("column " + detail::quoted(name) + " must stand there once");
    if (!taken_.insert(name).second)
      refuse("column " + detail::quoted(name) + " must stand for one thing, is asked for twice");
    return name;
  }
  std::string need(const std::string& name) {
    std::string found = find(name);
    if (found.empty()) missing(detail::quoted(name), name);
    return found;
  }
  std::string wanted(const std::string& name, const std::string& otherwise) {
    return name.empty() ? find(otherwise) : need(name);
  }
  [[noreturn]] void missing(const std::string& what, const std::string& name) const {
    refuse("column " + what + " must be there, got " + joined(there_) + suggestion(name, there_));
  }
  [[noreturn]] void refuse(const std::string& rule) const {
    refuse_line(request_.file, line_, rule);
  }

 private:
  const ManifestRequest& request_;
  std::span<const std::string> there_;
  std::int64_t line_;
  std::set<std::string> taken_;
};

std::string find_path(const ManifestRequest& request, Finder& finder) {
  if (!request.columns.path.empty()) return finder.need(request.columns.path);
  std::string names;
  for (const std::string& name : request.path_names) {
    std::string found = finder.find(name);
    if (!found.empty()) return found;
    names += (names.empty() ? "" : " or ") + detail::quoted(name);
  }
  finder.missing(names, request.path_names.front());
}

}  // namespace

ManifestColumns find_columns(const ManifestRequest& request, std::span<const std::string> there,
                             std::int64_t line) {
  const ManifestColumns& wanted = request.columns;
  Finder finder(request, there, line);
  ManifestColumns found;
  found.path = find_path(request, finder);
  if (request.masks) found.mask = finder.wanted(wanted.mask, "mask");
  if (!wanted.labels.empty() && !(wanted.label.empty() && wanted.label_separator.empty()))
    finder.refuse("labels come from one column (label) or from several (labels), both are named");
  if (wanted.labels.empty()) found.label = finder.wanted(wanted.label, "label");
  if (found.label.empty() && !wanted.label_separator.empty()) finder.missing("\"label\"", "label");
  found.label_separator = wanted.label_separator;
  for (const std::string& name : wanted.labels)
    found.labels.push_back(finder.need(name));
  found.group = finder.wanted(wanted.group, "group");
  found.weight = finder.wanted(wanted.weight, "weight");
  found.split = finder.wanted(wanted.split, "split");
  return found;
}

void refuse_line(const std::string& file, std::int64_t line, const std::string& rule) {
  throw ConfigError("[manifest] " + printable(file) + ":" + std::to_string(line) + ": " + rule);
}

std::string suggestion(std::string_view written, std::span<const std::string> names) {
  const auto name = nearest_name(written, names);
  return name ? "; did you mean " + detail::quoted(*name) + "?" : std::string();
}

}  // namespace headrace::inline v1::detail
