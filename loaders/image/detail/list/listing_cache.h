#pragma once

#include <headrace/loaders/image/listed_images.h>
#include <headrace/loaders/listing/internal/class_folders.h>
#include <headrace/loaders/listing/internal/file_table.h>
#include <headrace/loaders/listing/internal/record_values.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// Images and what is known of each. No masks: the table is empty.
struct ImageListing {
  FileTable images;
  FileTable masks;
  RecordValues values;
  std::string passed_over{};  ///< PassedOver::text() of the folders
};

/// Something a listing was made from, as it was then: a folder, or a manifest with its contents.
struct ListingProof {
  std::string path;
  std::int64_t changed_ns = 0;
  std::uint64_t bytes = 0;     ///< of a file; 0 for a folder
  std::uint32_t checksum = 0;  ///< CRC-32 of a file's contents

  bool is_file() const noexcept { return bytes != 0; }
  friend bool operator==(const ListingProof&, const ListingProof&) = default;
};

/// What a listing is made from, and what of it is left out.
struct ListingSeen {
  std::vector<ListingProof> proofs;
  PassedOver passed_over;
  bool follow_links = false;  ///< ListingOptions::follow_links
};

/// What `path` is now. Throws ConfigError when it cannot be read.
ListingProof folder_proof(const std::string& path);
ListingProof file_proof(const std::string& path);

/// A search for images that notes every folder and what it leaves out in `seen`, which outlives it.
FileSearch image_search(const std::string& root, std::string_view who, ListingSeen& seen);

/// What a listing is of.
struct ListingSubject {
  std::string name;        ///< for messages
  std::string settings{};  ///< what it depends on beside its files
};

/// The listing from options.cache while it is of `subject` and all it was made from is unchanged;
/// else `make`s it (which names what it is made from) and keeps it there. A cache that cannot be
/// read or written costs a line in the log, nothing more; what is left out has a line, kept or not.
std::shared_ptr<const ImageListing> cached_listing(
    const ListingOptions& options, ListingSubject subject,
    const std::function<ImageListing(ListingSeen&)>& make);

}  // namespace headrace::inline v1::detail
