#include <headrace/loaders/image/detail/list/listing_check.h>
#include <headrace/loaders/listing/internal/listing_file.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace headrace::inline v1::detail {
namespace {

void check_lengths(const ImageListing& listing) {
  const std::size_t size = listing.images.size();
  const auto fits = [size](std::size_t count) { return count == 0 || count == size; };
  const RecordValues& values = listing.values;
  if (size == 0 || !fits(listing.masks.size()) || !fits(values.labels.size()) ||
      !fits(values.weights.size()) || !fits(values.groups.size()) || !fits(values.splits.size()))
    throw UnusableListing("its tables differ in length");
}

bool goes_up(std::string_view path) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (path.substr(0, end) == "..") return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

void check_paths(const FileTable& files) {
  // Every path has one dot: find() would stop at each.
  const bool dots = ::memmem(files.paths.data(), files.paths.size(), "..", 2) != nullptr;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < files.size(); begin = files.path_end[i++]) {
    if (files.paths[begin] == '/' || (dots && goes_up(files.path(i))))
      throw UnusableListing("its paths leave their folder");
  }
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

/// Files of one folder follow each other: it is looked up once.
void check_folders(const FileTable& files, const std::unordered_set<std::string>& listed) {
  std::optional<std::string_view> last;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string_view folder = folder_of(files.path(i));
    if (folder == last) continue;
    last = folder;
    if (!listed.contains(files.root + (folder.empty() ? "" : "/") + std::string(folder)))
      throw UnusableListing("it has files of a folder that was not listed");
  }
}

void check_labels(const ImageListing& listing) {
  const std::vector<std::int32_t>& labels = listing.values.labels;
  std::string_view last;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string_view path = listing.images.path(i);
    const std::string_view name = path.substr(0, path.find('/'));
    if (i > 0 && name == last && labels[i] == labels[i - 1]) continue;
    last = name;
    if (listing.values.classes[static_cast<std::size_t>(labels[i])] != name)
      throw UnusableListing("its labels are not those of its folders");
  }
}

}  // namespace

void check_listing(const ImageListing& listing, const std::vector<ListingProof>& proofs) {
  check_lengths(listing);
  check_paths(listing.images);
  check_paths(listing.masks);
  if (proofs.empty()) throw UnusableListing("it does not say what it was made from");
  // A manifest says itself what is in it: its contents are proven.
  if (std::ranges::any_of(proofs, &ListingProof::is_file)) return;
  std::unordered_set<std::string> listed;
  for (const ListingProof& proof : proofs)
    listed.insert(proof.path);
  check_folders(listing.images, listed);
  check_folders(listing.masks, listed);
  if (!listing.values.multi_label()) check_labels(listing);
}

}  // namespace headrace::inline v1::detail
