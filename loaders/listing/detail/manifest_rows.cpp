#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/detail/manifest_rows.h>

#include <algorithm>
#include <set>

#include <libdeflate.h>

#include <sys/stat.h>

namespace headrace::inline v1::detail {

ManifestText::ManifestText(const std::string& file) : file_(file), in_(file.c_str()) {
  struct stat status {};
  if (in_.number() < 0 || ::fstat(in_.number(), &status) != 0 || !S_ISREG(status.st_mode))
    refuse("must be a file that can be read");
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  changed_ns_ =
      static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

std::string_view ManifestText::ahead() {
  if (buffer_.size() - begin_ < most_ahead && read_ < bytes_) read_piece();
  return std::string_view(buffer_).substr(begin_, most_ahead);
}

void ManifestText::read_piece() {
  constexpr std::size_t piece = 4 * most_ahead;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t before = buffer_.size();
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece, bytes_ - read_));
  buffer_.resize(before + wanted);
  auto* to = reinterpret_cast<std::byte*>(buffer_.data() + before);
  if (pread_all(in_.number(), to, wanted, read_) != static_cast<std::int64_t>(wanted))
    refuse("cannot be read");
  if (read_ == 0 && (buffer_.starts_with("\xff\xfe") || buffer_.starts_with("\xfe\xff")))
    refuse("must be UTF-8, is UTF-16 by its first bytes; save it as UTF-8");
  if (const auto zero = buffer_.find('\0', before); zero != std::string::npos) {
    refuse("must be text, got a zero at byte " + std::to_string(read_ + zero - before) +
           "; save it as UTF-8");
  }
  checksum_ = libdeflate_crc32(checksum_, to, wanted);
  read_ += wanted;
}

void ManifestText::refuse(const std::string& rule) const {
  throw ConfigError("[manifest] " + printable(file_) + ": " + rule);
}

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
  [[noreturn]] void missing(const std::string& what, const std::string& name,
                            const char* way_out = "") const {
    refuse("column " + what + " must be there, got " + joined(there_) + suggestion(name, there_) +
           way_out);
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

std::string find_path(const ManifestRequest& request, std::span<const std::string> there,
                      Finder& finder) {
  if (!request.columns.path.empty()) return finder.need(request.columns.path);
  std::string names;
  for (const std::string& name : request.path_names) {
    std::string found = finder.find(name);
    if (!found.empty()) return found;
    names += (names.empty() ? "" : " or ") + detail::quoted(name);
  }
  if (std::ranges::any_of(there, [](const std::string& one) {
        return one.find_first_of("/\\.") != std::string::npos;
      }))
    finder.refuse("the first line must name the columns (" + request.path_names.front() +
                  ",label), got " + joined(there));
  finder.missing(names, request.path_names.front(),
                 "; or say which it is (columns.path, --image-column)");
}

}  // namespace

ManifestColumns find_columns(const ManifestRequest& request, std::span<const std::string> there,
                             std::int64_t line) {
  const ManifestColumns& wanted = request.columns;
  Finder finder(request, there, line);
  ManifestColumns found;
  found.path = find_path(request, there, finder);
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

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

void refuse_line(const std::string& file, std::int64_t line, const std::string& rule) {
  throw ConfigError("[manifest] " + printable(file) + ":" + std::to_string(line) + ": " + rule);
}

std::string suggestion(std::string_view written, std::span<const std::string> names) {
  const auto name = nearest_name(written, names);
  return name ? "; did you mean " + detail::quoted(*name) + "?" : std::string();
}

}  // namespace headrace::inline v1::detail
