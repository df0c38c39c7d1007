#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/detail/manifest_text.h>

#include <algorithm>

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

}  // namespace headrace::inline v1::detail
