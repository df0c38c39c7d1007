#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/engine/tensor/dtype.h>
#include <headrace/loaders/image/crop.h>
#include <headrace/loaders/image/format_decoder.h>
#include <headrace/loaders/image/mask_colours.h>
#include <headrace/loaders/image/resize.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace headrace::inline v1 {

namespace detail {
class NvjpegProbe;
struct DevicePicture;
struct StoredWindow;
}  // namespace detail

/// One thread's decoders, chosen by a file's content. What DecodeImage does, as plain calls:
/// `header = decoder.open(file)`, draw a window from it, `decoder.decode(window, target)`.
class HEADRACE_API ImageDecoder {
 public:
  /// Where a window of the shown picture goes and how.
  struct Target {
    std::uint8_t* rgb = nullptr;  ///< packed, 3 * width bytes a row
    int height = 0;
    int width = 0;
    Resample resample = Resample::antialias;
    bool flip = false;     ///< left to right
    bool prescale = true;  ///< JPEG: decode at 1/2, 1/4 or 1/8 where that still covers the target
  };

  /// Where the labels of a window go.
  struct LabelTarget {
    void* labels = nullptr;      ///< packed rows of `width`
    DType dtype = DType::uint8;  ///< or uint16
    int height = 0;
    int width = 0;
    bool flip = false;
    /// What the colours of a file stand for. Empty: the file stores labels.
    std::span<const MaskColour> colours{};
  };

  /// The calling thread's own.
  static ImageDecoder& this_thread();

  /// Reads the header; `file` must outlive the decode, for which the decoder will hold no more than
  /// `most_bytes` beside it: what needs more is a DataError before it is taken. Throws DataError.
  ImageHeader open(std::span<const std::byte> file, std::size_t most_bytes = ImageLimits::memory);
  /// open(), and reads the file to its end: damage that a crop does not see is a DataError here.
  /// Nothing is open afterwards. Costs a whole decode at the smallest scale.
  ImageHeader check(std::span<const std::byte> file, std::size_t most_bytes = ImageLimits::memory);
  /// Decodes only what the window needs, resizes and writes it as it is to be shown (EXIF
  /// orientation applied). Once for each open(). Throws DataError; then the target may hold
  /// anything.
  void decode(const ImageWindow& window, const Target& target);
  /// What a device has to do for the same, from the whole picture decoded there; false where the
  /// open file is none for it: then decode() it here. Throws DeviceError and ConfigError where the
  /// device cannot be used.
  bool describe(const ImageWindow& window, const Target& target, Device device,
                detail::DevicePicture& picture);
  /// Does that here, at full size. Once for each open(). Throws DataError.
  void decode(const detail::DevicePicture& picture, const Target& target);
  /// The same for a file of labels (engine/sample/mask.h has the rules): each comes from the one
  /// pixel in which its centre falls, as stored. PNG, TIFF, BMP and lossless WebP. Throws DataError
  /// also for colours (with `target.colours` for one that is not among them, and for files of
  /// labels), for files that keep no exact values, and for labels too large for the target.
  void decode_labels(const ImageWindow& window, const LabelTarget& target);
  /// Whether the open file keeps 8-bit red, green and blue exactly, one colour a pixel: not grey, a
  /// palette or lossy.
  bool keeps_colours() const { return opened().keeps_colours(); }

 private:
  FormatDecoder& opened() const;
  void require_room(const Region& region, int scale, bool labels_too = false) const;
  DecodedLabels stored_labels(const Region& region, std::span<const MaskColour> colours) const;
  void show(detail::StoredWindow& window, int scale, const Target& target);

  std::span<const std::byte> file_;
  std::size_t most_bytes_ = 0;
  ImageHeader header_;
  std::vector<std::unique_ptr<FormatDecoder>> decoders_;  ///< by the format's row, once wanted
  FormatDecoder* decoder_ = nullptr;                      ///< of the open file; null: none is open
  std::vector<std::shared_ptr<detail::NvjpegProbe>> probes_;  ///< by the device's number
};

}  // namespace headrace::inline v1
