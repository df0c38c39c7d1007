#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/literals.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/plan/device_work.h>
#include <headrace/engine/sample/mask.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/loaders/image/crop.h>
#include <headrace/loaders/image/image_header.h>
#include <headrace/loaders/image/mask_colours.h>
#include <headrace/loaders/image/resize.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace headrace::inline v1 {

/// DecodeImage::sample_limit where none is given: an eighth of `memory` over `threads`, at most 512
/// MiB. 0: the machine's memory, the cores that the process may use.
HEADRACE_API std::size_t default_sample_limit(std::size_t memory = 0, int threads = 0);

/// Turns the bytes of an image file (ragged uint8) into uint8 [height, width, 3], red-green-blue,
/// in one pass: the crop is drawn from the header, only its part is decoded, resized, flipped and
/// written. Draws the crop first, then the flip. Masks (engine/sample/mask.h) are files of the
/// picture's shown size, of exact values (PNG, TIFF, BMP, lossless WebP), and become labels
/// [height, width] of the same crop and flip: what the file stores, of a palette the index; or of
/// red-green-blue files (alpha is left out) what `mask_colours` says. Throws DataError for files
/// that are broken, cut off or beyond ImageLimits.
struct HEADRACE_API DecodeImage {
  ImageGeometry crop = WholeImage{};
  float flip = 0.0F;  ///< probability of exchanging left and right
  Resample resample = Resample::antialias;
  /// JPEG: decode at 1/2, 1/4 or 1/8 where that still covers the target. Faster; for the pixels of
  /// a full decode followed by the resize, switch it off.
  bool prescale = true;
  std::string field = "image";
  std::vector<std::string> masks = {};
  DType mask_dtype = DType::uint8;  ///< or uint16: of every mask
  /// What the colours of mask files stand for; other colours are refused. Empty: masks store
  /// labels.
  std::vector<MaskColour> mask_colours = {};
  /// Bytes that decoding one file may take, beside the file and the picture that is made; a file
  /// that needs more is a bad sample before it is taken. So much is forecast for each thread. 0:
  /// default_sample_limit().
  std::size_t sample_limit = 0;
  /// In epoch 0 each file is read to its end before its crop is made, so that damage which the crop
  /// does not see makes it a bad sample there (docs/images.md).
  bool check_first_epoch = false;
  /// CUDA: plain JPEG is decoded there by nvJPEG, at full size, resized and flipped, straight into
  /// the batch (docs/images.md); masks and all else there is stay on the CPU. Batches must be
  /// delivered to that device, and no operation on samples may follow. Pixels differ a little from
  /// the CPU's.
  Device device = Device::cpu();
  /// Share of the records whose files are for the device, drawn by their index: the same ones in
  /// every run.
  double device_share = 1.0;
  /// Larger files are decoded by the CPU. So much page-locked memory is held for each row of each
  /// slab.
  std::size_t device_file_bytes = 256_KiB;

  static constexpr bool decodes = true;
  /// Whether it draws anything as it is set up; a DecodedCache may only keep what draws nothing.
  bool draws() const { return flip > 0.0F || std::holds_alternative<RandomResizedCrop>(crop); }
  std::string name() const { return "decode"; }
  /// Throws ConfigError for parameters that cannot be right, where a field is not ragged uint8, and
  /// where a device is asked for and nvJPEG is not installed; DeviceError where it is not there.
  Schema schema(const Schema& in) const;
  /// Of one thread, at most.
  std::size_t working_bytes(const Schema& in) const;
  void operator()(Sample& sample, Random& random) const;
  std::optional<DeviceWork> device_work() const;

 private:
  struct Draw;
  ImageHeader open(const Tensor& file, std::int64_t epoch) const;
  void check_device() const;
  std::int64_t file_room() const;
  bool is_for_device(std::int64_t index) const;
  bool leave_to_device(Sample& sample, const Tensor& file, const Draw& draw) const;
  void check_file(const Schema& in, const std::string& file) const;
  void decode_masks(Sample& sample, const ImageWindow& window, const ImageHeader& header,
                    bool flipped) const;
};

}  // namespace headrace::inline v1
