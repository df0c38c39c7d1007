#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/flip.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

bool is_picture(const FieldSpec& field) {
  return field.dtype == DType::uint8 && field.shape.rank() == 3 &&
         field.kind != FieldSpec::Kind::ragged;
}

bool is_spectrogram(const FieldSpec& field) {
  const bool real = field.dtype == DType::float32 || field.dtype == DType::float16 ||
                    field.dtype == DType::bfloat16;
  return real && (field.shape.rank() == 2 || field.shape.rank() == 3);
}

bool is_waveform(const FieldSpec& field) {
  const bool sound = field.dtype == DType::float32 || field.dtype == DType::int16;
  return sound && field.shape.rank() == 1 && field.kind != FieldSpec::Kind::ragged;
}

bool is_volume(const FieldSpec& field) {
  return field.dtype == DType::float32 && field.shape.rank() == 4 &&
         field.kind != FieldSpec::Kind::ragged;
}

std::vector<Tag<AugmentEntry>> tags(const std::string& list) {
  std::vector<Tag<AugmentEntry>> tags;
  tags.reserve(augment_table().size());
  for (const AugmentRow& row : augment_table()) {
    tags.push_back(
        {.name = row.name,
         .doc = row.doc,
         .main = row.main,
         .make =
             [&row, list](const Place& place) {
               return AugmentEntry{
                   .operation = &row, .list = list, .place = place, .parameters = row.make()};
             },
         .chosen = [&row](const AugmentEntry& e) { return e.operation == &row; },
         .describe = [&row](Fields& fields,
                            AugmentEntry& e) { row.describe(fields, e.parameters); }});
  }
  return tags;
}

}  // namespace

void describe_augment(Fields& fields, AugmentList& list) {
  fields.tagged_list(
      "augment", list, tags("augment"),
      {.doc = "operations on samples, then on batches, in this order; []: none; their "
              "parameters: headrace config augment"});
}

void describe_prepare(Fields& fields, AugmentList& list) {
  fields.tagged_list(
      "prepare", list, tags("image.prepare"),
      {.doc =
           "operations that draw nothing and keep shape and type, done to every picture once it "
           "has its size: in training before the list augment (to the crop, where that is drawn "
           "while a picture is decoded) and kept by data.cache, likewise in validation, test and "
           "predictions; []: none"});
}

namespace {

AugmentList list_of(void (*describe)(Fields&, AugmentList&), const std::string& document,
                    const std::string& place) {
  AugmentList list;
  Fields fields;
  describe(fields, list);
  fields.read(parse_document(document, place));
  return list;
}

}  // namespace

AugmentList augment_list(const std::string& yaml) {
  return list_of(describe_augment, "augment: " + yaml, "augment");
}

AugmentList prepare_list(const std::string& yaml) {
  return list_of(describe_prepare, "prepare: " + yaml, "image");
}

AugmentList before_normalizing(AugmentList list) {
  std::erase_if(list, [](const AugmentEntry& entry) { return entry.operation->normalizes; });
  return list;
}

bool normalizes(const AugmentList& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const AugmentEntry& entry) { return entry.operation->normalizes; });
}

Pipeline AugmentSteps::before_batch(Pipeline pipeline) const {
  for (const Step& step : on_samples)
    pipeline = step(std::move(pipeline));
  return pipeline;
}

Pipeline AugmentSteps::after_batch(Pipeline pipeline) const {
  for (const Step& step : on_batches)
    pipeline = step(std::move(pipeline));
  return pipeline;
}

AugmentBuilder::AugmentBuilder(const AugmentList& list, AugmentContext context)
    : list_(list), context_(std::move(context)) {
  steps_.fields = context_.fields;
  const FieldSpec* found = find(is_picture);
  if (context_.height > 0 || found == nullptr) return;
  context_.height = static_cast<int>(found->shape[0]);
  context_.width = static_cast<int>(found->shape[1]);
}

// A mask of voxels, uint8 [Z, Y, X], has a picture's form.
const FieldSpec* AugmentBuilder::find(bool (*fits)(const FieldSpec&)) const {
  const auto is_in = [](const std::vector<std::string>& names, const FieldSpec& field) {
    return std::find(names.begin(), names.end(), field.name) != names.end();
  };
  for (const FieldSpec& field : fields())
    if (fits(field) && !is_in(context_.masks, field) && !is_in(made_of_labels_, field))
      return &field;
  return nullptr;
}

void AugmentBuilder::made_of_labels(const Schema& before) {
  for (const FieldSpec& field : fields())
    if (before.find(field.name) == nullptr) made_of_labels_.push_back(field.name);
}

void AugmentBuilder::require_no_made_labels() const {
  if (made_of_labels_.empty()) return;
  throw ConfigError(
      fmt::format("moves voxels and must stand before the operation that makes \"{}\" of labels",
                  made_of_labels_.front()));
}

const FieldSpec& AugmentBuilder::first(const char* what, bool (*fits)(const FieldSpec&)) const {
  if (const FieldSpec* found = find(fits)) return *found;
  throw ConfigError(fmt::format("needs {}, got {}", what, to_string(fields())));
}

std::string AugmentBuilder::picture() const {
  if (!context_.mixes.empty())
    throw ConfigError("works on pictures, these records are arrays; leave it out");
  return first("a picture, uint8 [height, width, channels]", is_picture).name;
}

std::string AugmentBuilder::spectrogram() const {
  return first(
             "a spectrogram, float32, float16 or bfloat16 [bins, frames] or [channels, bins, "
             "frames]",
             is_spectrogram)
      .name;
}

std::string AugmentBuilder::waveform() const {
  return first("a waveform, float32 or int16 [samples]", is_waveform).name;
}

std::string AugmentBuilder::volume() const {
  return first("a volume, float32 [channels, z, y, x]", is_volume).name;
}

std::string AugmentBuilder::voxel_labels() const {
  if (!context_.masks.empty()) return context_.masks.front();
  throw ConfigError("needs the label of a volume, integers [z, y, x], which is not among " +
                    to_string(fields()));
}

bool AugmentBuilder::nothing_on_samples() const {
  const auto on_samples = [](const AugmentEntry& entry) {
    return entry.operation->on == AugmentOn::samples;
  };
  return steps_.on_samples.empty() &&
         std::none_of(list_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, list_.end(),
                      on_samples);
}

double AugmentBuilder::take_flip() {
  if (at_ + 1 == list_.size()) return 0.0;
  const auto* flip = std::any_cast<HorizontalFlip>(&list_[at_ + 1].parameters);
  if (flip == nullptr) return 0.0;
  ++at_;
  return flip->p;
}

void AugmentBuilder::require_samples() const {
  if (context_.patch_on_device) {
    throw ConfigError("works in host memory, but these patches are made on " +
                      to_string(context_.device) +
                      "; remove it, or let patches be made in host memory");
  }
  if (!context_.in_table) return;
  throw ConfigError(
      "works on samples, but here whole batches are made on the device; keep the data in host "
      "memory (data.residence: host)");
}

void AugmentBuilder::refuse_to_prepare(const std::string& what) {
  throw ConfigError(
      what +
      ", but what prepares pictures is done to every picture alike, in training, "
      "validation, test and predictions; move it to the list augment, or leave it out");
}

void AugmentBuilder::require_order(const AugmentEntry& entry) {
  const AugmentOn on = entry.operation->on;
  if (on == AugmentOn::batches && first_on_batches_ == nullptr) first_on_batches_ = &entry;
  if (on != AugmentOn::samples || first_on_batches_ == nullptr) return;
  throw ConfigError(fmt::format("works on samples and must stand before {}, which works on batches",
                                first_on_batches_->operation->name));
}

void AugmentBuilder::require_shapes() const {
  if (context_.prepares && fields() != context_.fields) {
    refuse_to_prepare(
        fmt::format("makes {} of {}", to_string(fields()), to_string(context_.fields)));
  }
  if (!context_.keeps_shapes) return;
  for (const FieldSpec& field : context_.fields) {
    const FieldSpec* now = fields().find(field.name);
    if (field.shape.rank() == 0 || (now != nullptr && now->shape == field.shape)) continue;
    throw ConfigError(fmt::format(
        "makes {} of {}, but validation and test are fed without the list; let it keep the shape, "
        "or leave it out",
        now == nullptr ? "nothing" : to_string(*now), to_string(field)));
  }
}

AugmentSteps AugmentBuilder::build() {
  for (at_ = 0; at_ < list_.size(); ++at_) {
    const AugmentEntry& entry = list_[at_];
    at_entry(entry, [&] {
      require_order(entry);
      entry.operation->add(entry.parameters, *this);
      require_shapes();
    });
  }
  return std::move(steps_);
}

void at_entry(const AugmentEntry& entry, const std::function<void()>& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("[config] {}: entry \"{}\" of {}: {}", entry.place.text(),
                                  entry.operation->name, entry.list, error.what()));
  }
}

AugmentSteps make_augment_steps(const AugmentList& list, AugmentContext context) {
  return AugmentBuilder(list, std::move(context)).build();
}

PreparePictures make_prepare(const AugmentList& list, const Schema& fields,
                             const std::vector<std::string>& masks) {
  return make_augment_steps(list, {.fields = fields, .masks = masks, .prepares = true}).prepare;
}

}  // namespace headrace::inline v1::app
