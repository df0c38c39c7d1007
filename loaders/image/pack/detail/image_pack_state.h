#pragma once

#include <headrace/engine/sample/sample.h>
#include <headrace/loaders/file/read_file.h>
#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/listing/internal/record_values.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// A pack's index and how its records are read.
struct ImagePack::State {
  /// One file of a record.
  struct File {
    const char* field;
    std::uint64_t offset;
    std::uint32_t bytes;
    std::uint32_t checksum;
  };

  /// What stays in memory of an entry.
  struct Place {
    std::uint64_t offset;
    std::uint64_t name_first;
    std::uint32_t name_bytes;
    std::uint32_t image_bytes;
    std::uint32_t mask_bytes;
    std::uint32_t image_checksum;
    std::uint32_t mask_checksum;
    std::uint32_t width;
    std::uint32_t height;
    Content content;

    File image() const noexcept { return {"image", offset, image_bytes, image_checksum}; }
    File mask() const noexcept { return {"mask", offset + image_bytes, mask_bytes, mask_checksum}; }
  };

  State(const std::filesystem::path& name, const ImagePackOptions& wanted)
      : path(name.native()), options(wanted), file(open_file(name, wanted)) {}

  std::string path;
  ImagePackOptions options;
  detail::FileDescriptor file;
  detail::PackHeader header;
  detail::RecordValues values;
  std::string paths;
  std::vector<Place> places;
  std::uint64_t largest_image = 0;
  std::uint64_t largest_mask = 0;
  std::size_t largest_working = 0;
  std::int64_t skipped = 0;

  /// The file, or its copy on the stage.
  static detail::FileDescriptor open_file(const std::filesystem::path& name,
                                          const ImagePackOptions& options);
  void open();
  [[noreturn]] void call_failed(const char* what) const;
  void check_sections(std::uint64_t file_bytes) const;
  void read_at(std::uint64_t offset, void* to, std::size_t bytes) const;
  void read_names();
  void set_label_sets(const std::vector<std::string>& sets);
  void read_index();
  void add_values(const detail::PackEntry& entry);
  void add(const detail::PackEntry& entry, std::uint64_t& name_first, std::uint64_t& data_first);
  void check(const detail::PackEntry& entry, std::uint64_t name_first,
             std::uint64_t data_first) const;
  static Tensor& make(const File& file, Sample& sample);
  bool is_right(const File& wanted, const Tensor& tensor) const;
  void read_file(const File& wanted, Sample& sample) const;
  bool read_file_now(const File& wanted, Sample& sample) const;
  std::size_t working_bytes(const Place& place) const noexcept {
    return place.image_bytes + std::size_t{place.mask_bytes} +
           std::size_t{place.width} * place.height * 4;
  }
};

}  // namespace headrace::inline v1
