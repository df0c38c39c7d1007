#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/file/read_file.h>
#include <headrace/loaders/image/detail/list/listing_cache.h>
#include <headrace/loaders/image/detail/list/listing_check.h>
#include <headrace/loaders/image/image_formats.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/loaders/listing/internal/label_names.h>
#include <headrace/loaders/listing/internal/listing_file.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include <libdeflate.h>

#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

// A folder that changed while it was listed may change again without its time showing it.
constexpr std::int64_t too_fresh_ns = 100'000'000;
// Files of a kept listing whose sizes are looked at; of more that would take as long as to list.
constexpr std::size_t most_looked_at = 200'000;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::int64_t changed_ns(const struct stat& status) {
  return static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

FileTable read_files(ListingReader& in) {
  FileTable files;
  files.root = in.text();
  files.paths = in.text();
  files.path_end = in.values<std::uint64_t>(files.paths.size());
  files.bytes = in.values<std::uint64_t>(files.path_end.size());
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < files.path_end.size(); ++i) {
    if (files.path_end[i] <= before || files.path_end[i] > files.paths.size())
      throw UnusableListing("its paths are broken");
    before = files.path_end[i];
  }
  if (files.bytes.size() != files.path_end.size())
    throw UnusableListing("its tables differ in length");
  for (const std::uint64_t bytes : files.bytes)
    files.largest = std::max(files.largest, bytes);
  return files;
}

void write_files(ListingWriter& out, const FileTable& files) {
  out.text(files.root);
  out.text(files.paths);
  out.values(files.path_end);
  out.values(files.bytes);
}

void check_numbers(const std::vector<std::int32_t>& numbers, std::size_t below) {
  for (const std::int32_t number : numbers) {
    if (number < 0 || static_cast<std::size_t>(number) >= below)
      throw UnusableListing("its labels are broken");
  }
}

std::vector<DataSplit> read_splits(ListingReader& in, std::size_t records) {
  std::vector<DataSplit> splits;
  for (const std::uint8_t value : in.values<std::uint8_t>(records)) {
    if (value > static_cast<std::uint8_t>(DataSplit::test))
      throw UnusableListing("its splits are broken");
    splits.push_back(static_cast<DataSplit>(value));
  }
  return splits;
}

void check_sets(const RecordValues& values) {
  std::uint64_t before = 0;
  for (const std::uint64_t end : values.set_end) {
    if (end < before) throw UnusableListing("its labels are broken");
    before = end;
  }
  if (before != values.set_classes.size()) throw UnusableListing("its labels are broken");
}

RecordValues read_values(ListingReader& in, std::size_t records) {
  RecordValues values;
  values.classes = in.texts(most_labels);
  values.labels = in.values<std::int32_t>(records);
  values.set_classes = in.values<std::int32_t>(SIZE_MAX);
  values.set_end = in.values<std::uint64_t>(records);
  values.weights = in.values<float>(records);
  values.group_names = in.texts(records);
  values.groups = in.values<std::int32_t>(records);
  values.splits = read_splits(in, records);
  check_sets(values);
  check_numbers(values.labels,
                values.multi_label() ? values.set_end.size() : values.classes.size());
  check_numbers(values.set_classes, values.classes.size());
  check_numbers(values.groups, values.group_names.size());
  return values;
}

void write_values(ListingWriter& out, const RecordValues& values) {
  out.texts(values.classes);
  out.values(values.labels);
  out.values(values.set_classes);
  out.values(values.set_end);
  out.values(values.weights);
  out.texts(values.group_names);
  out.values(values.groups);
  out.values(values.splits);
}

ImageListing read_listing(ListingReader& in) {
  ImageListing listing;
  listing.images = read_files(in);
  listing.masks = read_files(in);
  listing.values = read_values(in, listing.images.size());
  listing.passed_over = printable(in.text(std::size_t{1} << 16));
  in.finish();
  return listing;
}

/// What a listing is of: the data set, and the extensions that were looked for.
std::string key_of(const ListingSubject& subject) {
  std::string key = subject.name + "\n" + subject.settings + "\n";
  for (const ImageFormat& format : image_formats()) {
    for (const std::string_view extension : format.extensions)
      key += extension;
  }
  return key;
}

// Of files that were overwritten in place, which changes no folder's time.
void require_sizes(const FileTable& files) {
  in_parallel(files.size(), [&files](std::size_t i) {
    const std::string path = files.root + '/' + std::string(files.path(i));
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 &&
        static_cast<std::uint64_t>(status.st_size) == files.bytes[i])
      return;
    throw UnusableListing(printable(path) + " has changed");
  });
}

ImageListing load(const std::string& cache, const ListingSubject& subject) {
  ListingReader in(cache);
  const std::string key = key_of(subject);
  if (in.text(std::max(key.size(), std::size_t{1} << 20)) != key)
    throw UnusableListing("it is of another data set");
  std::vector<ListingProof> proofs(in.count(32));
  for (ListingProof& then : proofs) {
    then.path = in.text();
    then.changed_ns = static_cast<std::int64_t>(in.number());
    then.bytes = in.number();
    then.checksum = static_cast<std::uint32_t>(in.number());
    struct stat status {};
    if (::stat(then.path.c_str(), &status) != 0 || changed_ns(status) != then.changed_ns)
      throw UnusableListing(printable(then.path) + " has changed");
    if (S_ISDIR(status.st_mode) == then.is_file())
      throw UnusableListing(printable(then.path) + " has changed");
    if (!then.is_file()) continue;
    if (static_cast<std::uint64_t>(status.st_size) != then.bytes || file_proof(then.path) != then)
      throw UnusableListing(printable(then.path) + " has changed");
  }
  ImageListing listing = read_listing(in);
  check_listing(listing, proofs);
  if (listing.images.size() > most_looked_at) return listing;
  require_sizes(listing.images);
  require_sizes(listing.masks);
  return listing;
}

void save(const std::string& cache, const ListingSubject& subject,
          const std::vector<ListingProof>& proofs, const ImageListing& listing) {
  ListingWriter out(cache);
  out.text(key_of(subject));
  out.number(proofs.size());
  for (const ListingProof& proof : proofs) {
    out.text(proof.path);
    out.number(static_cast<std::uint64_t>(proof.changed_ns));
    out.number(proof.bytes);
    out.number(proof.checksum);
  }
  write_files(out, listing.images);
  write_files(out, listing.masks);
  write_values(out, listing.values);
  out.text(listing.passed_over);
  out.finish();
}

}  // namespace

ListingProof folder_proof(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw ConfigError("[listing] " + printable(path) + ": cannot be listed: " + error_text());
  }
  return {path, changed_ns(status), 0, 0};
}

ListingProof file_proof(const std::string& path) {
  const FileDescriptor file(path.c_str());
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw ConfigError("[listing] " + printable(path) + ": must be a file that can be read");
  }
  ListingProof proof{path, changed_ns(status), static_cast<std::uint64_t>(status.st_size), 0};
  std::vector<std::byte> block(1 << 20);
  for (std::uint64_t at = 0;;) {
    const std::int64_t got = pread_all(file.number(), block.data(), block.size(), at);
    if (got < 0) {
      throw ConfigError("[listing] " + printable(path) + ": cannot be read: " + error_text());
    }
    if (got == 0) return proof;
    proof.checksum = libdeflate_crc32(proof.checksum, block.data(), static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
}

FileSearch image_search(const std::string& root, std::string_view who, ListingSeen& seen) {
  return {.root = root,
          .who = who,
          .what = "an image",
          .is_wanted = has_image_extension,
          .on_folder =
              [&seen](const std::string& folder) { seen.proofs.push_back(folder_proof(folder)); },
          .is_wanted_start = begins_as_image,
          .passed_over = &seen.passed_over,
          .follow_links = seen.follow_links};
}

std::shared_ptr<const ImageListing> cached_listing(
    const ListingOptions& options, ListingSubject subject,
    const std::function<ImageListing(ListingSeen&)>& make) {
  if (options.follow_links) subject.settings += "\nlinks are followed";
  const auto say = [&options](LogLevel level, const std::string& line) {
    if (options.log) options.log(level, line);
  };
  const auto say_passed_over = [&](const ImageListing& listing) {
    if (!listing.passed_over.empty())
      say(LogLevel::info, subject.name + ": " + listing.passed_over);
  };
  const std::string cache = options.cache.native();
  const bool exists = !cache.empty() && ::access(cache.c_str(), F_OK) == 0;
  if (exists) {
    try {
      auto kept = std::make_shared<const ImageListing>(load(cache, subject));
      say_passed_over(*kept);
      return kept;
    } catch (const UnusableListing& reason) {
      say(LogLevel::warning, subject.name + ": the cached listing " + printable(cache) +
                                 " is made anew: " + reason.what());
    }
  }
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t start_ns = now_ns();
  ListingSeen seen{.proofs = {}, .passed_over = {}, .follow_links = options.follow_links};
  auto listing = std::make_shared<ImageListing>(make(seen));
  listing->passed_over = seen.passed_over.text();
  listing->images.shrink_to_fit();
  listing->masks.shrink_to_fit();
  listing->values.shrink_to_fit();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  say(LogLevel::info, subject.name + ": listed " + std::to_string(listing->images.size()) +
                          " images in " + std::to_string(took.count()) + " ms");
  say_passed_over(*listing);
  if (cache.empty()) return listing;
  for (const ListingProof& proof : seen.proofs) {
    if (proof.is_file() || proof.changed_ns < start_ns - too_fresh_ns) continue;
    say(LogLevel::info, subject.name + ": the listing is not kept: " + printable(proof.path) +
                            " changed a moment ago");
    return listing;
  }
  try {
    save(cache, subject, seen.proofs, *listing);
  } catch (const UnusableListing& reason) {
    say(LogLevel::warning, subject.name + ": the listing cannot be kept as " + printable(cache) +
                               ": " + reason.what());
  }
  return listing;
}

}  // namespace headrace::inline v1::detail
