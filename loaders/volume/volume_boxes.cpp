#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/case/case_set.h>
#include <headrace/loaders/volume/detail/voxel/box_values.h>
#include <headrace/loaders/volume/volume_boxes.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace headrace::inline v1 {
namespace {

constexpr const char* volume_boxes_name = "volume boxes";
constexpr std::int64_t farthest = std::int64_t{1} << 40;  // that a box may begin

[[noreturn]] void refuse_boxes(const std::string& rule) {
  throw ConfigError("[volume boxes] " + rule);
}

bool some_have_labels(const std::vector<VolumeCase>& cases) {
  return std::any_of(cases.begin(), cases.end(),
                     [](const VolumeCase& of) { return of.label != nullptr; });
}

void check_box(const PlacedBox& placed, std::size_t cases) {
  if (placed.volume < 0 || placed.volume >= static_cast<std::int64_t>(cases)) {
    refuse_boxes("a box must be of a case from 0 to " + std::to_string(cases - 1) + ", got " +
                 std::to_string(placed.volume));
  }
  for (std::int64_t begin : placed.begin) {
    if (begin < -farthest || begin > farthest)
      refuse_boxes("a box must begin within 2^40 voxels, got " + std::to_string(begin));
  }
}

}  // namespace

VolumeBoxes::VolumeBoxes(std::vector<VolumeCase> cases, std::vector<PlacedBox> boxes,
                         VolumeBoxesOptions options)
    : cases_(std::move(cases)),
      boxes_(std::move(boxes)),
      options_(std::move(options)),
      labelled_(options_.with_labels && some_have_labels(cases_)) {
  detail::check_cases(volume_boxes_name, cases_, labelled_);
  detail::check_patch(volume_boxes_name, options_.extent);
  if (boxes_.empty()) refuse_boxes("there must be a box, got none");
  for (const PlacedBox& placed : boxes_)
    check_box(placed, cases_.size());
  if (!std::isfinite(options_.outside))
    refuse_boxes("outside must be finite, got " + std::to_string(options_.outside));
  if (options_.image.empty() || (labelled_ && options_.image == options_.label))
    refuse_boxes("image and label must have names of their own, got '" + options_.image +
                 "' and '" + options_.label + "'");
  channels_ = detail::channels_of(cases_.front());
  if (labelled_)
    label_dtype_ = detail::label_dtype(volume_boxes_name, cases_, options_.outside_label);
}

std::string VolumeBoxes::name() const {
  return std::to_string(boxes_.size()) + " boxes of " + std::to_string(cases_.size()) + " volumes";
}

std::int64_t VolumeBoxes::size() const {
  return static_cast<std::int64_t>(boxes_.size());
}

Schema VolumeBoxes::fields() const {
  const auto& [z, y, x] = options_.extent;
  Schema out;
  out.put(FieldSpec::fixed(options_.image, DType::float32, {channels_, z, y, x}));
  if (labelled_) out.put(FieldSpec::fixed(options_.label, label_dtype_, {z, y, x}));
  return out;
}

const VolumeCase& VolumeBoxes::case_of(const PlacedBox& placed) const {
  return cases_[static_cast<std::size_t>(placed.volume)];
}

VolumeBox VolumeBoxes::box_of(const PlacedBox& placed) const {
  VolumeBox box{.begin = {}, .end = {1, 0, 0, 0}};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    box.begin[axis + 1] = placed.begin[axis];
    box.end[axis + 1] = placed.begin[axis] + options_.extent[axis];
  }
  return box;
}

void VolumeBoxes::read(std::int64_t index, Sample& sample) const {
  const PlacedBox& placed = boxes_[static_cast<std::size_t>(index)];
  const VolumeCase& of = case_of(placed);
  const VolumeBox box = box_of(placed);
  const auto& [z, y, x] = options_.extent;
  float* to = sample.make(options_.image, DType::float32, {channels_, z, y, x}).data<float>();
  for (const detail::ChannelScale& channel : detail::channel_scales(of)) {
    detail::ValueBox values{
        .from = *channel.volume, .box = box, .outside = static_cast<float>(options_.outside)};
    values.box.begin[0] = channel.channel;
    values.box.end[0] = channel.channel + 1;
    const bool converted = !detail::is_scaled_at_once(channel.volume->info().dtype);
    detail::read_scaled(values, channel.scale(converted), channel.offset(converted), to);
    to += values.voxels();
  }
  if (!labelled_) return;
  Tensor& label = sample.make(options_.label, label_dtype_, {z, y, x});
  detail::read_label(of, box, label_dtype_, options_.outside_label,
                     static_cast<std::byte*>(label.raw()));
}

bool VolumeBoxes::read_now(std::int64_t index, Sample& sample) const {
  const PlacedBox& placed = boxes_[static_cast<std::size_t>(index)];
  const VolumeCase& of = case_of(placed);
  const VolumeBox box = box_of(placed);
  for (const auto& image : of.images) {
    VolumeBox all = box;
    all.end[0] = image->info().shape[0];
    if (!image->cached(all)) return false;
  }
  if (labelled_ && !of.label->cached(box)) return false;
  read(index, sample);
  return true;
}

std::size_t VolumeBoxes::working_bytes(std::int64_t) const {
  return largest_working_bytes();
}

std::size_t VolumeBoxes::largest_working_bytes() const {
  return Source::largest_working_bytes() + detail::decoding_bytes(cases_, labelled_);
}

std::size_t VolumeBoxes::resident_bytes() const {
  return detail::resident_bytes(cases_) + boxes_.capacity() * sizeof(PlacedBox);
}

std::string VolumeBoxes::origin(std::int64_t index) const {
  const PlacedBox& placed = boxes_[static_cast<std::size_t>(index)];
  std::string text = case_of(placed).name + ", window at";
  for (std::int64_t begin : placed.begin)
    text += ' ' + std::to_string(begin);
  return text;
}

}  // namespace headrace::inline v1
