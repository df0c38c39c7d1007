#include <headrace/benchmarks/peers/hdf5/peers.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <H5Cpp.h>

#include <fcntl.h>
#include <unistd.h>

namespace headrace::inline v1::bench {

namespace {

H5::FloatType half() {
  H5::FloatType type(H5::PredType::IEEE_F32LE);
  type.setFields(15, 10, 5, 0, 10);
  type.setSize(2);
  type.setEbias(15);
  return type;
}

/// Bits of a float16 of ordinary size, rounded down.
std::uint16_t half_bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const int exponent = static_cast<int>(bits >> 23 & 0xffU) - 112;
  if (exponent <= 0) return static_cast<std::uint16_t>(sign);
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(exponent) << 10 |
                                    (bits >> 13 & 0x3ffU));
}

/// Decibels around a slow curve, with the spread of 10 dB that a band of recorded sound has: the
/// low byte of a value is noise, the high byte has a few bits of it.
void fill(std::vector<std::uint16_t>& values, std::int64_t first, std::int64_t row) {
  Random random({.seed = 1, .position = first});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<double>(static_cast<std::int64_t>(i) % row);
    const double slow = -40.0 + 25.0 * std::sin(0.05 * at + static_cast<double>(first));
    double noise = 0;
    for (int k = 0; k < 4; ++k)
      noise += random.uniform(-8.7, 8.7);
    values[i] = half_bits(static_cast<float>(slow + noise));
  }
}

H5::DSetCreatPropList layout(const DataSet& data) {
  H5::DSetCreatPropList creation;
  if (data.chunk == 0) return creation;
  std::vector<hsize_t> chunk{static_cast<hsize_t>(data.chunk)};
  chunk.insert(chunk.end(), data.row.begin(), data.row.end());
  creation.setChunk(static_cast<int>(chunk.size()), chunk.data());
  creation.setShuffle();
  creation.setDeflate(4);
  return creation;
}

void write(const DataSet& data, const std::filesystem::path& to) {
  const H5::H5File file(to.c_str(), H5F_ACC_TRUNC);
  std::vector<hsize_t> extents{static_cast<hsize_t>(data.rows)};
  extents.insert(extents.end(), data.row.begin(), data.row.end());
  const H5::FloatType type = half();
  const H5::DataSet rows = file.createDataSet(
      "row", type, H5::DataSpace(static_cast<int>(extents.size()), extents.data()), layout(data));
  const auto values = static_cast<std::int64_t>(data.row_bytes() / 2);
  constexpr std::int64_t part = 2048;
  std::vector<std::uint16_t> buffer;
  for (std::int64_t first = 0; first < data.rows; first += part) {
    std::vector<hsize_t> start(extents.size(), 0), count = extents;
    start[0] = static_cast<hsize_t>(first);
    count[0] = static_cast<hsize_t>(std::min(part, data.rows - first));
    buffer.resize(count[0] * static_cast<std::size_t>(values));
    fill(buffer, first, values);
    const H5::DataSpace place = rows.getSpace();
    place.selectHyperslab(H5S_SELECT_SET, count.data(), start.data());
    rows.write(buffer.data(), type, H5::DataSpace(static_cast<int>(count.size()), count.data()),
               place);
  }
  std::vector<std::int64_t> labels(static_cast<std::size_t>(data.rows));
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int64_t>(i);
  file.createDataSet("label", H5::PredType::STD_I64LE, H5::DataSpace(1, extents.data()))
      .write(labels.data(), H5::PredType::NATIVE_INT64);
}

}  // namespace

void make(const DataSet& data) {
  if (std::filesystem::exists(data.file)) return;
  std::filesystem::create_directories(data.file.parent_path());
  const std::filesystem::path partial = data.file.string() + ".partial";
  Hdf5Thread::shared()->run([&] { write(data, partial); });
  std::filesystem::rename(partial, data.file);
}

void forget(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fdatasync(descriptor);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
}

}  // namespace headrace::inline v1::bench
