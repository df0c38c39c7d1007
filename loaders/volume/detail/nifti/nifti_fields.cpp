#include <headrace/loaders/internal/byte_order.h>
#include <headrace/loaders/volume/detail/nifti/nifti_fields.h>

#include <cstring>
#include <string_view>

namespace headrace::inline v1::detail {
namespace {

/// Numbers at places of a header whose length is checked.
class Reader {
 public:
  Reader(const std::byte* start, bool swap) : start_(start), swap_(swap) {}

  template <class T>
  T get(std::size_t at) const noexcept {
    T value;
    std::memcpy(&value, start_ + at, sizeof value);
    if (swap_) reverse_bytes(&value, 1, sizeof value);
    return value;
  }
  template <class T, class To, std::size_t n>
  void all(std::size_t at, std::array<To, n>& to) const noexcept {
    for (std::size_t i = 0; i < n; ++i)
      to[i] = static_cast<To>(get<T>(at + i * sizeof(T)));
  }

 private:
  const std::byte* start_;
  bool swap_;
};

void read_1(const Reader& reader, NiftiFields& fields) noexcept {
  reader.all<std::int16_t>(40, fields.dim);
  fields.datatype = reader.get<std::int16_t>(70);
  fields.bitpix = reader.get<std::int16_t>(72);
  reader.all<float>(76, fields.pixdim);
  fields.offset = static_cast<double>(reader.get<float>(108));
  fields.slope = static_cast<double>(reader.get<float>(112));
  fields.inter = static_cast<double>(reader.get<float>(116));
  fields.qform = reader.get<std::int16_t>(252);
  fields.sform = reader.get<std::int16_t>(254);
  reader.all<float>(256, fields.quaternion);
  reader.all<float>(268, fields.qoffset);
  reader.all<float>(280, fields.srow);
}

void read_2(const Reader& reader, NiftiFields& fields) noexcept {
  fields.datatype = reader.get<std::int16_t>(12);
  fields.bitpix = reader.get<std::int16_t>(14);
  reader.all<std::int64_t>(16, fields.dim);
  reader.all<double>(104, fields.pixdim);
  const auto offset = reader.get<std::int64_t>(168);
  fields.offset = static_cast<double>(offset);
  fields.slope = reader.get<double>(176);
  fields.inter = reader.get<double>(184);
  fields.qform = reader.get<std::int32_t>(344);
  fields.sform = reader.get<std::int32_t>(348);
  reader.all<double>(352, fields.quaternion);
  reader.all<double>(376, fields.qoffset);
  reader.all<double>(400, fields.srow);
}

}  // namespace

NiftiFields nifti_fields(std::span<const std::byte> start) noexcept {
  constexpr std::size_t bytes_1 = 348, bytes_2 = 540;
  NiftiFields fields;
  if (start.size() < bytes_1) return fields;
  for (const bool swap : {false, true}) {
    const Reader reader(start.data(), swap);
    const auto bytes = static_cast<std::size_t>(reader.get<std::uint32_t>(0));
    if ((bytes != bytes_1 && bytes != bytes_2) || start.size() < bytes) continue;
    const auto* text = reinterpret_cast<const char*>(start.data());
    const bool first = bytes == bytes_1;
    const std::string_view magic(text + (first ? 344 : 4), 4);
    const std::string_view single(first ? "n+1" : "n+2", 4), pair(first ? "ni1" : "ni2", 4);
    if (magic != single && magic != pair) continue;
    fields.version = first ? 1 : 2;
    fields.swap = swap;
    fields.pair = magic == pair;
    first ? read_1(reader, fields) : read_2(reader, fields);
    return fields;
  }
  return fields;
}

}  // namespace headrace::inline v1::detail
