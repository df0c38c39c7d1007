#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/read_file.h>
#include <headrace/loaders/image/detail/list_folder.h>
#include <headrace/loaders/image/detail/listing_cache.h>
#include <headrace/loaders/image/detail/manifest_rows.h>
#include <headrace/loaders/image/image_manifest.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;
using detail::refuse_line;

constexpr std::string_view who = "image manifest";
constexpr std::int32_t most_labels = 1'000'000;

/// Names, numbered as they are first seen and then anew in their order.
class Names {
 public:
  std::int32_t number(std::string_view name) {
    const auto [at, fresh] =
        numbers_.try_emplace(std::string(name), static_cast<std::int32_t>(numbers_.size()));
    return at->second;
  }
  std::size_t size() const noexcept { return numbers_.size(); }

  /// The names in order; `values` are changed to their places in it.
  std::vector<std::string> settle(std::vector<std::int32_t>& values) const {
    std::vector<std::string> names(numbers_.size());
    for (const auto& [name, number] : numbers_)
      names[static_cast<std::size_t>(number)] = name;
    std::vector<std::int32_t> order(names.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&names](std::int32_t a, std::int32_t b) {
      return names[static_cast<std::size_t>(a)] < names[static_cast<std::size_t>(b)];
    });
    std::vector<std::int32_t> place(names.size());
    std::vector<std::string> sorted;
    for (const std::int32_t old : order) {
      place[static_cast<std::size_t>(old)] = static_cast<std::int32_t>(sorted.size());
      sorted.push_back(names[static_cast<std::size_t>(old)]);
    }
    for (std::int32_t& value : values)
      value = place[static_cast<std::size_t>(value)];
    return sorted;
  }

  /// The number that each name is written as, by first-seen number; empty where one is none.
  std::vector<std::int32_t> whole_numbers() const {
    std::vector<std::int32_t> values(numbers_.size());
    for (const auto& [name, number] : numbers_) {
      std::int32_t value = -1;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
      if (error != std::errc() || end != name.data() + name.size() || value < 0 ||
          value >= most_labels)
        return {};
      values[static_cast<std::size_t>(number)] = value;
    }
    return values;
  }

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
};

/// Adds a manifest's files, each looked at once.
class Lister {
 public:
  Lister(const std::string& file, const std::string& root)
      : file_(file), root_(root), folder_(root.c_str()) {
    listing_.images.root = listing_.masks.root = root;
  }

  void take(const detail::ManifestRow& row) {
    add(listing_.images, "image", row.image, row.line);
    if (!row.mask.empty()) {
      add(listing_.masks, "mask", row.mask, row.line);
    } else {
      without_mask_ = row.line;
    }
    listing_.labels.push_back(label_names_.number(row.label));
    listing_.groups.push_back(group_names_.number(row.group));
    listing_.weights.push_back(static_cast<float>(row.weight));
    if (row.label.empty()) without_label_ = row.line;
  }

  detail::ImageListing finish(const detail::ManifestColumns& columns) {
    if (listing_.images.size() == 0) refuse_line(file_, 1, "must list an image, got none");
    if (columns.mask && without_mask_ != 0)
      refuse_line(file_, without_mask_, "mask must name a file, got nothing");
    if (!columns.mask) listing_.masks = {};
    if (columns.label && without_label_ != 0)
      refuse_line(file_, without_label_, "label must be a name or a number, got nothing");
    if (columns.label) {
      settle_labels();
    } else {
      listing_.labels = {};
    }
    if (columns.group) {
      listing_.group_names = group_names_.settle(listing_.groups);
    } else {
      listing_.groups = {};
    }
    if (!columns.weight) listing_.weights = {};
    return std::move(listing_);
  }

 private:
  void settle_labels() {
    const std::vector<std::int32_t> numbers = label_names_.whole_numbers();
    if (numbers.empty()) {
      listing_.classes = label_names_.settle(listing_.labels);
      return;
    }
    for (std::int32_t& label : listing_.labels)
      label = numbers[static_cast<std::size_t>(label)];
    const std::int32_t largest = *std::max_element(numbers.begin(), numbers.end());
    for (std::int32_t label = 0; label <= largest; ++label)
      listing_.classes.push_back(std::to_string(label));
  }

  /// The path below the root, or a ConfigError.
  std::string_view inside(const char* column, std::string_view path, std::int64_t line) const {
    const auto refuse = [&](const std::string& rule) {
      refuse_line(
          file_, line,
          std::string(column) + " \"" + detail::printable(path.substr(0, 200)) + "\": " + rule);
    };
    if (path.empty()) refuse("must name a file, got nothing");
    if (path.size() >= 4096 || path.find('\0') != std::string_view::npos)
      refuse("must be a path of at most 4095 bytes without a zero");
    if (path.starts_with('/')) {
      if (!path.starts_with(root_ + "/"))
        refuse("must lie below " + detail::printable(root_) + "; give the folder of all as root");
      path.remove_prefix(root_.size() + 1);
    }
    for (std::string_view rest = path; !rest.empty();) {
      const std::size_t end = std::min(rest.find('/'), rest.size());
      if (rest.substr(0, end) == "..")
        refuse("must not go up by \"..\"; write the path without it");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return path;
  }

  void add(detail::FileTable& files, const char* column, std::string_view written,
           std::int64_t line) {
    const std::string path(inside(column, written, line));
    const auto refuse = [&](const std::string& rule) {
      refuse_line(file_, line, std::string(column) + " " + detail::printable(path) + ": " + rule);
    };
    const std::size_t slash = path.find_last_of('/');
    if (slash != std::string::npos) check_folder(path.substr(0, slash));
    struct stat status {};
    if (::fstatat(folder_.number(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      refuse("cannot be found: " + detail::error_text());
    if (S_ISLNK(status.st_mode)) {
      detail::check_link(root_ + "/" + path, root_, who);
      if (::fstatat(folder_.number(), path.c_str(), &status, 0) != 0)
        refuse("cannot be found: " + detail::error_text());
    }
    if (!S_ISREG(status.st_mode)) refuse("must be a regular file");
    files.add(path, static_cast<std::uint64_t>(status.st_size));
  }

  /// Links on the way may not leave the root either.
  void check_folder(const std::string& folder) {
    if (folder == last_folder_) return;
    last_folder_ = folder;
    if (!folders_.insert(folder).second) return;
    std::error_code error;
    const std::string target = fs::canonical(root_ + "/" + folder, error).native();
    if (!error && target != root_ && !target.starts_with(root_ + "/")) {
      throw ConfigError("[image manifest] " + detail::printable(folder) +
                        ": link leaves the folder, to " + detail::printable(target) +
                        "; give the folder of all as root");
    }
  }

  const std::string& file_;
  std::string root_;
  detail::FileDescriptor folder_;
  detail::ImageListing listing_;
  Names label_names_;
  Names group_names_;
  std::int64_t without_mask_ = 0;
  std::int64_t without_label_ = 0;
  std::string last_folder_;
  std::unordered_set<std::string> folders_;
};

std::string read_text(const std::string& file, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  const detail::FileDescriptor in(file.c_str());
  if (in.number() < 0 || detail::pread_all(in.number(), reinterpret_cast<std::byte*>(text.data()),
                                           bytes, 0) != static_cast<std::int64_t>(bytes))
    throw ConfigError("[image manifest] " + detail::printable(file) + ": cannot be read");
  return text;
}

detail::ImageListing list(const std::string& file, const std::string& root,
                          std::vector<detail::ListingProof>& proofs) {
  proofs.push_back(detail::file_proof(file));
  const std::string text = read_text(file, proofs.back().bytes);
  Lister lister(file, root);
  const auto take = [&lister](const detail::ManifestRow& row) { lister.take(row); };
  const std::string extension = fs::path(file).extension().native();
  if (extension == ".csv") return lister.finish(detail::read_csv_manifest(text, ',', file, take));
  if (extension == ".tsv") return lister.finish(detail::read_csv_manifest(text, '\t', file, take));
  if (extension == ".jsonl") return lister.finish(detail::read_jsonl_manifest(text, file, take));
  throw ConfigError("[image manifest] " + detail::printable(file) +
                    ": must be called .csv, .tsv or .jsonl");
}

std::string canonical_file(const fs::path& file) {
  std::error_code error;
  const fs::path path = fs::canonical(file, error);
  if (error || !fs::is_regular_file(path)) {
    throw ConfigError("[image manifest] " + detail::printable(file.native()) +
                      ": must be a file of rows");
  }
  return path.native();
}

std::shared_ptr<const detail::ImageListing> listing_of(const std::string& file,
                                                       const ImageManifestOptions& options) {
  const fs::path root = options.root.empty() ? fs::path(file).parent_path() : options.root;
  const std::string below = detail::canonical_folder(root, who, "the folder of the images");
  return detail::cached_listing(
      options.listing,
      "image manifest " + detail::printable(file) + " below " + detail::printable(below),
      [&](std::vector<detail::ListingProof>& proofs) { return list(file, below, proofs); });
}

}  // namespace

ImageManifest::ImageManifest(const fs::path& file, const ImageManifestOptions& options)
    : ListedImages("image manifest " + detail::printable(canonical_file(file)),
                   listing_of(canonical_file(file), options)) {}

}  // namespace headrace::inline v1
