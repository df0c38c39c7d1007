#pragma once

#include <headrace/loaders/file/read_file.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headrace::inline v1::detail {

/// The text of a manifest, read by pieces as it is taken, so that a wrong file of any size costs
/// little. A zero byte is refused with the piece that it is in.
class ManifestText {
 public:
  /// Of a row, its line end not counted.
  static constexpr std::size_t longest_row = std::size_t{1} << 20;

  /// Throws ConfigError for what is no file that can be read; `file` outlives it.
  explicit ManifestText(const std::string& file);

  /// The text from here on, as much as a row may take with its line end, or all that there is.
  /// Valid until it is called again. Throws ConfigError.
  std::string_view ahead();
  /// Goes behind so many bytes of it.
  void skip(std::size_t bytes) noexcept { begin_ += bytes; }
  /// Whether the text ends with what was last ahead.
  bool ends() const noexcept { return read_ == bytes_ && buffer_.size() - begin_ <= most_ahead; }

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::int64_t changed_ns() const noexcept { return changed_ns_; }
  /// CRC-32 of what was read.
  std::uint32_t checksum() const noexcept { return checksum_; }

 private:
  static constexpr std::size_t most_ahead = longest_row + 1;

  void read_piece();
  [[noreturn]] void refuse(const std::string& rule) const;

  const std::string& file_;
  FileDescriptor in_;
  std::uint64_t bytes_ = 0;
  std::int64_t changed_ns_ = 0;
  std::uint64_t read_ = 0;
  std::uint32_t checksum_ = 0;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what was not taken
};

}  // namespace headrace::inline v1::detail
