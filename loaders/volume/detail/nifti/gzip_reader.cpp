#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/nifti/gzip_reader.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <string>

#include <zlib.h>

namespace headrace::inline v1::detail {

struct GzipReader::State {
  z_stream stream{};
  bool ended = false;  ///< the last member has
  std::array<std::byte, std::size_t{256} << 10> stored;
};

GzipReader::GzipReader(const VoxelFile& file)
    : file_(file), state_(std::make_unique_for_overwrite<State>()) {
  constexpr int gzip_only = 15 + 16;
  if (::inflateInit2(&state_->stream, gzip_only) != Z_OK) throw std::bad_alloc();
}

GzipReader::~GzipReader() {
  ::inflateEnd(&state_->stream);
}

bool GzipReader::is_gzip(std::span<const std::byte> start) noexcept {
  return start.size() >= 2 && start[0] == std::byte{0x1f} && start[1] == std::byte{0x8b};
}

std::uint64_t GzipReader::most_bytes(std::uint64_t stored) noexcept {
  constexpr std::uint64_t deflate_ratio = 1032;
  return stored > std::numeric_limits<std::uint64_t>::max() / deflate_ratio
             ? std::numeric_limits<std::uint64_t>::max()
             : stored * deflate_ratio;
}

/// Reads on; false at the file's end.
bool GzipReader::fill() {
  z_stream& stream = state_->stream;
  if (stream.avail_in > 0) return true;
  const std::size_t got = file_.read_some(state_->stored, place_);
  place_ += got;
  stream.next_in = reinterpret_cast<Bytef*>(state_->stored.data());
  stream.avail_in = static_cast<uInt>(got);
  return got > 0;
}

/// Behind a member: whether another begins. Zeros may follow the last.
bool GzipReader::next_member() {
  z_stream& stream = state_->stream;
  bool padded = false;
  while (fill()) {
    if (*stream.next_in == 0) {
      padded = true;
      ++stream.next_in, --stream.avail_in;
      continue;
    }
    if (padded || *stream.next_in != 0x1f)
      file_.fail("must end with its gzip data, got other bytes behind them; copy the file again");
    ::inflateReset(&stream);
    return true;
  }
  state_->ended = true;
  return false;
}

std::size_t GzipReader::read_some(std::span<std::byte> to) {
  z_stream& stream = state_->stream;
  std::size_t done = 0;
  while (!state_->ended && done < to.size()) {
    if (!fill()) file_.fail("ends inside its gzip data; the file is truncated, copy it again");
    const std::size_t now = std::min(to.size() - done, std::size_t{1} << 30);
    stream.next_out = reinterpret_cast<Bytef*>(to.data() + done);
    stream.avail_out = static_cast<uInt>(now);
    const int code = ::inflate(&stream, Z_NO_FLUSH);
    done += now - stream.avail_out;
    if (code == Z_STREAM_END) {
      next_member();
    } else if (code == Z_MEM_ERROR) {
      throw ResourceError("[gzip] " + file_.name() + ": no memory to unpack it");
    } else if (code != Z_OK) {
      file_.fail(std::string("its gzip data are damaged (") +
                 (stream.msg != nullptr ? stream.msg : "no progress") + "); copy the file again");
    }
  }
  return done;
}

void GzipReader::read(std::span<std::byte> to) {
  const std::size_t got = read_some(to);
  if (got == to.size()) return;
  file_.fail("must unpack to " + std::to_string(to.size() - got) +
             " bytes more; the file is truncated, copy it again");
}

void GzipReader::skip(std::uint64_t bytes) {
  std::array<std::byte, 4096> passed;
  while (bytes > 0) {
    const std::size_t now = std::min<std::uint64_t>(bytes, passed.size());
    read(std::span(passed).first(now));
    bytes -= now;
  }
}

void GzipReader::require_end() {
  std::byte more{};
  if (read_some({&more, 1}) > 0)
    file_.fail("unpacks to more bytes than its shape and type say; copy the file again");
}

}  // namespace headrace::inline v1::detail
