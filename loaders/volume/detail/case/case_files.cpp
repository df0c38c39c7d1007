#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/case/case_files.h>
#include <headrace/loaders/volume/open_volume.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

std::string text_of(const VolumeIndex& shape) {
  return std::to_string(shape[1]) + "x" + std::to_string(shape[2]) + "x" + std::to_string(shape[3]);
}

std::string text_of(const std::array<double, 3>& spacing) {
  std::string text;
  for (const double length : spacing) {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%.6g", length);
    text += (text.empty() ? "" : " x ") + std::string(digits.data());
  }
  return text;
}

template <std::size_t count>
bool same(const std::array<double, count>& a, const std::array<double, count>& b) {
  for (std::size_t i = 0; i < count; ++i)
    if (std::abs(a[i] - b[i]) > 1e-8 + 1e-5 * std::abs(b[i])) return false;
  return true;
}

}  // namespace

bool same_spacing(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return same(a, b);
}

CaseFiles::CaseFiles(const NnUNetCase& of, std::string who) : case_(of), who_(std::move(who)) {
  std::vector<std::filesystem::path> paths = of.images;
  if (!of.label.empty()) paths.push_back(of.label);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    files_.push_back(open_volume(paths[i]));
    const VolumeInfo& first = files_.front()->info();
    const VolumeInfo& info = files_.back()->info();
    if (info.shape[0] != 1) {
      refuse(i, "a file must hold one channel, got " + std::to_string(info.shape[0]) +
                    "; write each into a file of its own (_0000, _0001, ...)");
    }
    const std::string other = " as " + printable(files_.front()->name());
    if (info.shape != first.shape) {
      refuse(i, "must have the same shape" + other + ", " + text_of(first.shape) + ", got " +
                    text_of(info.shape) + "; resample one onto the other");
    }
    if (!same(info.spacing, first.spacing)) {
      refuse(i, "must have the same spacing" + other + ", " + text_of(first.spacing) + " mm, got " +
                    text_of(info.spacing) + " mm; correct its header, or resample it");
    }
  }
}

bool CaseFiles::placed_together() const noexcept {
  return std::ranges::all_of(
      files_, [&](const auto& file) { return same(file->info().affine, info().affine); });
}

std::size_t layer_bytes(const VolumeInfo& info, std::int64_t slices) {
  const VolumeIndex grid = info.grid();
  const std::int64_t layers = (slices + info.block[1] - 1) / info.block[1] + 1;
  const std::int64_t blocks = std::min(grid[1], layers) * grid[2] * grid[3];
  return static_cast<std::size_t>(blocks) * info.block_bytes();
}

std::size_t CaseFiles::cache_bytes(std::int64_t slices) const {
  std::size_t bytes = 0;
  for (const auto& file : files_)
    bytes += layer_bytes(file->info(), slices);
  return bytes;
}

std::size_t CaseFiles::slice_bytes() const {
  std::size_t bytes = 0;
  for (const auto& file : files_) {
    const VolumeInfo& info = file->info();
    bytes += static_cast<std::size_t>(info.shape[2] * info.shape[3]) *
             (size_of(info.dtype) + sizeof(float));
    bytes += file->working_bytes() + file->resident_bytes();
  }
  return bytes;
}

void CaseFiles::refuse(const std::string& rule) const {
  throw DataError("[" + who_ + "] case " + detail::quoted(case_.name) + ": " + rule);
}

void CaseFiles::refuse(std::size_t file, const std::string& rule) const {
  refuse(printable(files_[file]->name()) + ": " + rule);
}

}  // namespace headrace::inline v1::detail
