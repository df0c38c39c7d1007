#pragma once

#include <headrace/engine/batch/batch.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/loaders/image/detail/device_picture.h>
#include <headrace/loaders/image/detail/nvjpeg/nvjpeg_handle.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// Decodes the JPEG files of a batch on its device, from the host's fields to the rows of the field
/// of pictures: nvJPEG to scratch memory, part of the batch by part, then one kernel a part. Queues
/// its work on the batch's stream and waits for none of it, unless nvJPEG refuses a picture or
/// `most_states` parts are under way. Used by one thread at a time.
class BatchDecoder {
 public:
  struct Fields {
    std::string pictures;  ///< uint8 [rows, height, width, 3] of the device
    std::string files;     ///< on the host: uint8 [rows, room for a file or a picture]
    std::string windows;   ///< on the host: DevicePicture as bytes
  };

  /// Of nvJPEG's states, each with memory that grows with its part: a device that is behind cannot
  /// make them more.
  static constexpr std::size_t most_states = 8;

  /// Memory of the device, beside nvJPEG's own, for batches of so many rows.
  static std::size_t device_bytes(std::int64_t rows);

  /// Throws ConfigError, DeviceError, ResourceError.
  BatchDecoder(Device device, std::int64_t rows, Fields fields, Resample resample);
  /// Waits until its work is done.
  ~BatchDecoder();
  BatchDecoder(const BatchDecoder&) = delete;
  BatchDecoder& operator=(const BatchDecoder&) = delete;

  /// A picture that nvJPEG refuses is decoded by the CPU. Throws DataError naming the sample for
  /// one that this refuses too, DeviceError, and ResourceError where nvJPEG gets no memory.
  void run(Batch& batch, Stream stream);

 private:
  struct Rows;
  /// State of nvJPEG's for a part of a batch: it may not be used again before its work is done.
  struct Worker {
    NvjpegObject state;
    DeviceEvent done;
    int prepared = 0;  ///< for so many pictures at once
    std::vector<const unsigned char*> files;
    std::vector<std::size_t> lengths;
    std::vector<nvjpeg::Image> images;
  };

  void queue(const Rows& rows);
  std::int64_t place_part(const Rows& rows, std::int64_t first, std::vector<std::int64_t>& part);
  void decode_part(const Rows& rows, const std::vector<std::int64_t>& part);
  bool decode(const Rows& rows, const std::vector<std::int64_t>& part);
  void decode_here(const Rows& rows, std::int64_t row);
  void lose(Worker& worker);
  Worker& idle_worker(int pictures);
  std::size_t idle_place(int pictures) const;
  std::unique_ptr<Worker> make_worker() const;
  void prepare(Worker& worker, int pictures);
  bool judge(nvjpeg::Status status, Stream stream) const;

  Device device_;
  Fields fields_;
  Resample resample_;
  std::shared_ptr<const NvjpegHandle> handle_;
  std::size_t scratch_bytes_;
  DeviceMemory memory_;  ///< decoded pictures, and behind them what the kernel does with them
  DeviceEvent done_;     ///< all that was queued
  std::vector<std::unique_ptr<Worker>> workers_;  ///< the one used last comes last
  std::vector<NvjpegObject> lost_;
};

}  // namespace headrace::inline v1::detail
