#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/prepare_pictures.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/loaders/volume/resample_patch.h>
#include <headrace/loaders/volume/spatial_transform.h>

#include <any>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

struct AugmentRow;

/// An entry of a list `augment:`, or of another of such operations: one of the table and its
/// parameters.
struct AugmentEntry {
  const AugmentRow* operation = nullptr;
  std::string list = "augment";  ///< key of the configuration
  Place place{};
  std::any parameters{};
};

using AugmentList = std::vector<AugmentEntry>;

/// The key `augment` of a configuration.
void describe_augment(Fields& fields, AugmentList& list);

/// The key `prepare` of the section `image` of a task.
void describe_prepare(Fields& fields, AugmentList& list);

/// The list of a text such as "[{flip: 0.5}, {rotate: 10}]". Throws ConfigError.
AugmentList augment_list(const std::string& yaml);

/// The same of the key `image.prepare`.
AugmentList prepare_list(const std::string& yaml);

/// The list without entries that normalise, for who wants to see pictures.
AugmentList before_normalizing(AugmentList list);

/// Whether the list has such an entry.
bool normalizes(const AugmentList& list);

/// The entry `spatial`: how patches are cut out of stored voxels. It is no step of a pipeline.
struct SpatialEntry {
  SpatialTransform transform{};
  LabelSampling labels = LabelSampling::one_hot;
};

/// That of the list; none where it has none. Throws ConfigError with the entry's place where it is
/// not the first, and for parameters that cannot be right.
std::optional<SpatialEntry> spatial_of(const AugmentList& list);

/// The list without it.
AugmentList without_spatial(AugmentList list);

/// Whether every entry, `spatial` aside, can work on patches that are made on a device (see
/// AugmentContext::patch_on_device).
bool all_on_device(const AugmentList& list);

/// What a job tells the operations of its list.
struct AugmentContext {
  /// Of a sample as it comes to the list. Pictures are its first field uint8 [H, W, C],
  /// spectrograms its first of a floating type with two or three axes, waveforms its first of
  /// float32 or int16 with one, volumes its first float32 [C, Z, Y, X].
  Schema fields{};
  /// Fields that go along with the pictures or volumes; the first of a volume is its label.
  std::vector<std::string> masks{};
  std::optional<std::int64_t> ignore{};  ///< label of voxels that counts nowhere
  /// Where there are no pictures: the field that is mixed with its partner's; empty: none may be.
  std::string mixes{};
  int height = 0;  ///< of crops that say nothing of it; 0: the pictures' own
  int width = 0;
  std::optional<double> mean{};  ///< of the training spectrograms: what masked cells become
  std::int64_t classes = 0;      ///< of the labels; 0: not known
  std::uint64_t seed = 0;
  std::int64_t batch = 0;   ///< rows of a batch; 0: not known
  std::string batch_key{};  ///< of the configuration, which sets them
  Device device{};          ///< where batches are delivered
  bool gathers = false;   ///< whether the source gathers whole batches where no step is in the way
  bool in_table = false;  ///< samples are row numbers, a batch's fields are made after batch()
  /// Samples hold boxes of stored voxels, of which ResamplePatches makes the volume and its label
  /// between batch() and the steps on batches, where the batches are; `fields` has them as they are
  /// then. What has no form for that is refused.
  bool patch_on_device = false;
  bool normalized = false;  ///< the job itself normalises after the list
  /// Evaluation does without the list: what is not a scalar keeps its shape.
  bool keeps_shapes = false;
  /// The list is done to every picture alike: what draws at random, works on batches or makes other
  /// fields is refused, and AugmentSteps::prepare holds all of it.
  bool prepares = false;
};

/// The steps of a list, ready for pipelines.
struct AugmentSteps {
  using Step = std::function<Pipeline(Pipeline)>;
  std::vector<Step> on_samples{};  ///< before batch()
  std::vector<Step> on_batches{};  ///< after it
  PreparePictures prepare{};       ///< in their place with AugmentContext::prepares
  Schema fields{};                 ///< as the list leaves them

  Pipeline before_batch(Pipeline pipeline) const;
  Pipeline after_batch(Pipeline pipeline) const;
};

/// Throws ConfigError with the entry's place for an operation that does not suit the fields, the
/// device or its place in the list. Reads nothing.
AugmentSteps make_augment_steps(const AugmentList& list, AugmentContext context);

/// What a list `image.prepare` does to pictures of these fields. Throws ConfigError with the
/// entry's place for an operation that cannot be done to every picture alike.
PreparePictures make_prepare(const AugmentList& list, const Schema& fields,
                             const std::vector<std::string>& masks);

/// The table of operations as text for people, in Markdown.
std::string augment_table_text();

/// The side of `betti_targets` in a list; none where it is not there.
std::optional<std::int64_t> betti_side(const AugmentList& list);

/// How `soft_skeleton` of a list makes its field.
struct SkeletonMade {
  std::int64_t iterations = 3;
  bool cube = false;  ///< else by the cross

  friend bool operator==(const SkeletonMade&, const SkeletonMade&) = default;
};

/// None where it is not there.
std::optional<SkeletonMade> soft_skeleton_made(const AugmentList& list);

}  // namespace headrace::inline v1::app
