#pragma once

#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/device_decode.h>
#include <headrace/tests/loaders/image_files.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

/// Decoding as a loader does it, for a comparison of devices.
namespace headrace::test {

inline const Device gpu = Device::cuda(0);

/// Image files in memory.
class Files final : public Source {
 public:
  explicit Files(std::vector<Bytes> files) : files_(std::move(files)) {}
  std::string name() const override { return "files"; }
  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  std::string origin(std::int64_t index) const override { return "file-" + std::to_string(index); }
  Schema fields() const override {
    std::size_t largest = 1;
    for (const Bytes& file : files_)
      largest = std::max(largest, file.size());
    return {FieldSpec::ragged("image", DType::uint8, static_cast<std::int64_t>(largest))};
  }
  void read(std::int64_t index, Sample& sample) const override {
    const Bytes& file = files_[static_cast<std::size_t>(index)];
    const Shape shape{static_cast<std::int64_t>(file.size())};
    std::copy(file.begin(), file.end(),
              static_cast<std::byte*>(sample.make("image", DType::uint8, shape).raw()));
  }

 private:
  std::vector<Bytes> files_;
};

/// The bytes of a field, wherever it lies: behind all that the stream has to do.
inline std::string bytes_from(const Tensor& field, Stream stream) {
  std::string bytes(field.bytes(), '\0');
  if (!field.device().is_cuda()) {
    std::memcpy(bytes.data(), field.raw(), bytes.size());
  } else if (!bytes.empty()) {
    namespace on_device = headrace::detail;
    const on_device::DeviceScope scope(field.device());
    on_device::copy_rows_to_host(reinterpret_cast<std::byte*>(bytes.data()),
                                 static_cast<const std::byte*>(field.raw()), bytes.size(),
                                 bytes.size(), 1, stream);
    on_device::drain(stream);
  }
  return bytes;
}

/// The bytes of some fields of all batches of an epoch, batch by batch.
inline std::vector<std::string> read_epoch(Loader& loader, Device device, std::int64_t epoch,
                                           const std::vector<std::string>& fields) {
  namespace on_device = headrace::detail;
  const on_device::DeviceStream own =
      device.is_cuda() ? on_device::make_stream(device, false) : on_device::DeviceStream();
  const Stream stream{own.get()};
  std::vector<std::string> batches;
  batches.reserve(256);
  for (Batch& batch : loader.epoch(epoch, stream)) {
    std::string& into = batches.emplace_back();
    for (const std::string& field : fields)
      into += bytes_from(batch[field], stream);
  }
  return batches;
}

/// Every file decoded, in order, on that device.
inline std::vector<Pixels> decoded(DecodeImage op, Device device, std::vector<Bytes> files,
                                   std::int64_t batch = 7) {
  op.device = device;
  const auto [height, width] = size_of(op.crop);
  const std::size_t bytes = std::size_t{3} * static_cast<std::size_t>(height * width);
  Loader loader = Pipeline::from(std::make_shared<const Files>(std::move(files)))
                      .seed(4)
                      .then(op)
                      .batch({.size = batch})
                      .to(device)
                      .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
  std::vector<Pixels> pictures;
  pictures.reserve(256);
  for (const std::string& rows : read_epoch(loader, device, 0, {"image"})) {
    for (std::size_t at = 0; at < rows.size(); at += bytes)
      pictures.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(at),
                            rows.begin() + static_cast<std::ptrdiff_t>(at + bytes));
  }
  return pictures;
}

inline Pixels decoded(const DecodeImage& op, Device device, const Bytes& file) {
  return decoded(op, device, std::vector<Bytes>{file}).at(0);
}

/// A photograph of the usual kind.
inline Bytes photograph(int width = 151, int height = 113, int h_samp = 2, int v_samp = 2,
                        unsigned seed = 1) {
  return encode_jpeg({.width = width, .height = height, .h_samp = h_samp, .v_samp = v_samp},
                     picture(width, height, 3, seed));
}

/// Counts what a piece of work decodes where.
template <class Work>
DeviceDecodes decodes_in(const Work& work) {
  const DeviceDecodes before = device_decodes();
  work();
  const DeviceDecodes after = device_decodes();
  return {after.on_device - before.on_device, after.on_cpu - before.on_cpu};
}

}  // namespace headrace::test
