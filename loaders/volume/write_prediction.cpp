#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/loaders/volume/volume_writer.h>
#include <headrace/loaders/volume/write_prediction.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

enum class PredictionFormat : unsigned char { none, nifti, tiff, hdf5 };

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return letter < 128 ? static_cast<char>(std::tolower(letter)) : static_cast<char>(letter);
  });
  return text;
}

PredictionFormat format_of(const fs::path& path) {
  const std::string name = lower(path.filename().native());
  if (name.ends_with(".nii") || name.ends_with(".nii.gz")) return PredictionFormat::nifti;
  if (name.ends_with(".tif") || name.ends_with(".tiff")) return PredictionFormat::tiff;
  if (name.ends_with(".h5") || name.ends_with(".hdf5")) return PredictionFormat::hdf5;
  return PredictionFormat::none;
}

[[noreturn]] void refuse_prediction(const fs::path& path, const std::string& rule) {
  throw ConfigError("[write prediction] " + detail::printable(path.native()) + ": " + rule);
}

void write_hdf5(const fs::path& path, const VolumeInfo& info, std::span<const std::byte> voxels) {
  const auto bytes = static_cast<std::size_t>(voxels_of(info.shape)) * size_of(info.dtype);
  if (bytes == 0 || bytes != voxels.size()) {
    refuse_prediction(path, "shape and type say " + std::to_string(bytes) + " bytes, got " +
                                std::to_string(voxels.size()));
  }
  if (info.scale != 1.0 || info.offset != 0.0) {
    refuse_prediction(path, "HDF5 has no scale and offset, got " + std::to_string(info.scale) +
                                " and " + std::to_string(info.offset) +
                                "; apply them, or write NIfTI");
  }
  const VolumeIndex& shape = info.shape;
  const bool one = shape[0] == 1;
  const std::int64_t rows = one ? shape[1] : shape[0];
  const Shape row = one ? Shape{shape[2], shape[3]} : Shape{shape[1], shape[2], shape[3]};
  Hdf5Writer writer(path);
  writer.add("volume", info.dtype, rows, row,
             {.chunk_rows = one ? 1 : 0, .codec = one ? Hdf5Codec::zstd : Hdf5Codec::none});
  const Shape whole =
      one ? Shape{shape[1], shape[2], shape[3]} : Shape{shape[0], shape[1], shape[2], shape[3]};
  // The writer only reads it.
  writer.append("volume", Tensor::borrow(const_cast<std::byte*>(voxels.data()), info.dtype, whole));
  std::array<double, 3> micrometres{};
  std::ranges::transform(info.spacing, micrometres.begin(), [](double mm) { return mm * 1000.0; });
  writer.attribute("volume", "element_size_um",
                   Tensor::of(std::span<const double>(micrometres), Shape{3}));
  writer.attribute("volume", "affine",
                   Tensor::of(std::span<const double>(info.affine), Shape{3, 4}));
  writer.finish();
}

}  // namespace

bool writes_prediction(const fs::path& path) {
  return format_of(path) != PredictionFormat::none;
}

void write_prediction(const fs::path& path, const VolumeInfo& info,
                      std::span<const std::byte> voxels) {
  switch (format_of(path)) {
    case PredictionFormat::nifti:
      return write_nifti(path, info, voxels);
    case PredictionFormat::tiff:
      return write_tiff_volume(path, info, voxels);
    case PredictionFormat::hdf5:
      return write_hdf5(path, info, voxels);
    case PredictionFormat::none:
      break;
  }
  refuse_prediction(path,
                    "a prediction's name must end in .nii.gz, .nii, .tif, .tiff, .h5 or .hdf5");
}

}  // namespace headrace::inline v1
