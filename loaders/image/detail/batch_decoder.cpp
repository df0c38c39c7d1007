#include <headrace/engine/base/error.h>
#include <headrace/engine/device/internal/kernel.h>
#include <headrace/loaders/image/detail/batch_decoder.h>
#include <headrace/loaders/image/device_decode.h>
#include <headrace/loaders/image/image_decoder.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

using nvjpeg::Status;

constexpr Kernel resize{"decode", "headrace_resize_pictures"};

std::size_t scratch_for(std::int64_t rows) {
  using Limits = DeviceJpegLimits;
  return std::clamp(Limits::scratch_row_bytes * static_cast<std::size_t>(rows),
                    Limits::picture_bytes, Limits::scratch_bytes);
}

/// Where kernels and copies like a picture to begin.
std::size_t aligned(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

}  // namespace

/// A batch on the host and on its device.
struct BatchDecoder::Rows {
  const Batch& batch;
  Stream stream;
  Tensor files;
  Tensor windows;
  Tensor pictures;

  DevicePicture* window(std::int64_t row) const {
    return static_cast<DevicePicture*>(windows.raw()) + row;
  }
  std::uint8_t* file(std::int64_t row) const {
    return files.data<std::uint8_t>() + row * files.shape()[1];
  }
  std::uint8_t* picture(std::int64_t row) const {
    return pictures.data<std::uint8_t>() + row * static_cast<std::int64_t>(picture_bytes());
  }
  int height() const { return static_cast<int>(pictures.shape()[1]); }
  int width() const { return static_cast<int>(pictures.shape()[2]); }
  std::size_t picture_bytes() const {
    return pictures.bytes() / static_cast<std::size_t>(batch.size());
  }
};

std::size_t BatchDecoder::device_bytes(std::int64_t rows) {
  return aligned(scratch_for(rows)) + sizeof(DevicePicture) * static_cast<std::size_t>(rows);
}

BatchDecoder::BatchDecoder(Device device, std::int64_t rows, Fields fields, Resample resample)
    : device_(device),
      fields_(std::move(fields)),
      resample_(resample),
      handle_(nvjpeg_handle(device)),
      scratch_bytes_(scratch_for(rows)),
      memory_(allocate_on_device(device, device_bytes(rows))),
      done_(make_awaited_event(device)) {}

BatchDecoder::~BatchDecoder() {
  try {
    const DeviceScope scope(device_);
    drain(done_);
    workers_.clear();
    lost_.clear();
  } catch (const DeviceError&) {  // it has failed and has nothing left to give back
    for (auto& worker : workers_)
      static_cast<void>(worker->state.release());
    for (NvjpegObject& state : lost_)
      static_cast<void>(state.release());
  }
}

void BatchDecoder::run(Batch& batch, Stream stream) {
  if (batch.size() == 0) return;
  const Rows rows{batch, stream, batch.on_host(fields_.files), batch.on_host(fields_.windows),
                  batch[fields_.pictures]};
  try {
    queue(rows);
  } catch (...) {
    record(done_, stream);  // of what was queued before
    throw;
  }
  record(done_, stream);
}

void BatchDecoder::queue(const Rows& rows) {
  const std::int64_t size = rows.batch.size();
  auto* const windows = reinterpret_cast<DevicePicture*>(memory_.get() + aligned(scratch_bytes_));
  std::vector<std::int64_t> part;
  part.reserve(static_cast<std::size_t>(size));
  for (std::int64_t first = 0; first < size;) {
    const std::int64_t last = place_part(rows, first, part);
    if (!part.empty()) {
      decode_part(rows, part);
      const std::int64_t count = last - first;
      copy_to_device(reinterpret_cast<std::byte*>(windows),
                     reinterpret_cast<const std::byte*>(rows.window(first)),
                     sizeof(DevicePicture) * static_cast<std::size_t>(count), rows.stream);
      const ResizePictures task{.pictures = windows,
                                .count = count,
                                .pixels = reinterpret_cast<const std::uint8_t*>(memory_.get()),
                                .out = rows.picture(first),
                                .height = rows.height(),
                                .width = rows.width(),
                                .resample = resample_};
      launch(resize, &task, device_, rows.stream);
    }
    first = last;
  }
}

/// Rows from `first` on whose pictures fit the scratch memory together: one past the last of them.
std::int64_t BatchDecoder::place_part(const Rows& rows, std::int64_t first,
                                      std::vector<std::int64_t>& part) {
  part.clear();
  std::size_t used = 0;
  std::int64_t row = first;
  for (; row < rows.batch.size(); ++row) {
    DevicePicture& picture = *rows.window(row);
    if (picture.file_bytes == 0) continue;
    if (used + picture.bytes() > scratch_bytes_) break;
    picture.pixels = used;
    used = aligned(used + picture.bytes());
    part.push_back(row);
  }
  return row;
}

void BatchDecoder::decode_part(const Rows& rows, const std::vector<std::int64_t>& part) {
  if (decode(rows, part)) {
    count_device_decodes({.on_device = static_cast<std::int64_t>(part.size())});
    return;
  }
  for (const std::int64_t row : part) {
    const bool decoded = part.size() > 1 && decode(rows, {row});
    if (!decoded) decode_here(rows, row);
    count_device_decodes({.on_device = decoded ? 1 : 0, .on_cpu = decoded ? 0 : 1});
  }
}

/// Begins the decode of some pictures; false where nvJPEG does not take one of them.
bool BatchDecoder::decode(const Rows& rows, const std::vector<std::int64_t>& part) {
  const auto count = static_cast<int>(part.size());
  Worker& worker = idle_worker(count);
  prepare(worker, count);
  worker.files.clear();
  worker.lengths.clear();
  worker.images.clear();
  worker.files.reserve(part.size());
  worker.lengths.reserve(part.size());
  worker.images.reserve(part.size());
  for (const std::int64_t row : part) {
    const DevicePicture& picture = *rows.window(row);
    worker.files.push_back(rows.file(row));
    worker.lengths.push_back(picture.file_bytes);
    auto* const pixels = reinterpret_cast<unsigned char*>(memory_.get() + picture.pixels);
    worker.images.push_back({{pixels}, {picture.row_bytes()}});
  }
  const Status status = handle_->call().decode_batched(handle_->object.get(), worker.state.get(),
                                                       worker.files.data(), worker.lengths.data(),
                                                       worker.images.data(), rows.stream.handle);
  if (status != Status::success) worker.prepared = 0;
  try {
    record(worker.done, rows.stream);  // a part that failed may have begun
  } catch (...) {
    lose(worker);
    throw;
  }
  return judge(status, rows.stream);
}

/// Throws unless a picture is to blame.
bool BatchDecoder::judge(Status status, Stream stream) const {
  if (status == Status::success) return true;
  if (status == Status::allocator_failure) {
    throw ResourceError("[decode] " + to_string(device_) +
                        ": nvJPEG got no memory; use smaller batches, or decode on the CPU");
  }
  require_health(stream);
  return false;
}

/// The picture is written where its file was, once nobody reads that any more, and copied to its
/// row from there.
void BatchDecoder::decode_here(const Rows& rows, std::int64_t row) {
  DevicePicture& picture = *rows.window(row);
  static thread_local std::vector<std::uint8_t> rgb;
  rgb.resize(rows.picture_bytes());
  const std::span<const std::byte> file{reinterpret_cast<const std::byte*>(rows.file(row)),
                                        picture.file_bytes};
  try {
    ImageDecoder& decoder = ImageDecoder::this_thread();
    decoder.open(file);
    decoder.decode(
        picture,
        {.rgb = rgb.data(), .height = rows.height(), .width = rows.width(), .resample = resample_});
  } catch (const DataError& error) {
    const Origin origin = rows.batch.origins().at(static_cast<std::size_t>(row));
    throw DataError("decode", origin, error.what());
  }
  drain(rows.stream);
  std::memcpy(rows.file(row), rgb.data(), rgb.size());
  picture.file_bytes = 0;
  copy_to_device(reinterpret_cast<std::byte*>(rows.picture(row)),
                 reinterpret_cast<const std::byte*>(rows.file(row)), rgb.size(), rows.stream);
}

/// Its own event does not say when its work is done: it is not used again.
void BatchDecoder::lose(Worker& worker) {
  lost_.push_back(std::move(worker.state));
  std::erase_if(workers_, [&](const auto& each) { return each.get() == &worker; });
}

BatchDecoder::Worker& BatchDecoder::idle_worker(int pictures) {
  std::size_t place = idle_place(pictures);
  if (place == workers_.size() && place >= most_states) {
    place = 0;
    await(workers_.front()->done);
  } else if (place == workers_.size()) {
    workers_.push_back(make_worker());
  }
  const auto idle = workers_.begin() + static_cast<std::ptrdiff_t>(place);
  std::rotate(idle, idle + 1, workers_.end());
  return *workers_.back();
}

/// Of a worker whose work is done, if need be of one prepared for another count.
std::size_t BatchDecoder::idle_place(int pictures) const {
  std::size_t place = workers_.size();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (!has_come(workers_[i]->done)) continue;
    if (place == workers_.size() || workers_[i]->prepared == pictures) place = i;
  }
  return place;
}

std::unique_ptr<BatchDecoder::Worker> BatchDecoder::make_worker() const {
  auto worker = std::make_unique<Worker>();
  void* state = nullptr;
  check_nvjpeg(handle_->call().create_state(handle_->object.get(), &state), device_,
               "making a decoder");
  worker->state = NvjpegObject(state, DestroyNvjpeg{handle_->call().destroy_state});
  worker->done = make_awaited_event(device_);
  return worker;
}

void BatchDecoder::prepare(Worker& worker, int pictures) {
  if (worker.prepared == pictures) return;
  worker.prepared = 0;
  const Status status =
      handle_->call().initialize_batched(handle_->object.get(), worker.state.get(), pictures, 1,
                                         nvjpeg::OutputFormat::interleaved_rgb);
  if (status == Status::allocator_failure) judge(status, {});
  check_nvjpeg(status, device_, "preparing the decoder");
  worker.prepared = pictures;
}

}  // namespace headrace::inline v1::detail
