#pragma once

// What a file of this folder needs to put its operation into the table (augment_table.cpp).

#include <headrace/apps/feed/augment.h>
#include <headrace/augment/interpolation.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/crop.h>

#include <any>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// What an operation works on.
enum class AugmentOn : unsigned char {
  samples,
  batches,
  either,  ///< as suits the list and the source
};

/// Takes the steps of a list, entry after entry.
class AugmentBuilder {
 public:
  AugmentBuilder(const AugmentList& list, AugmentContext context);

  const AugmentContext& context() const noexcept { return context_; }
  /// As the entries so far leave them.
  const Schema& fields() const noexcept { return steps_.fields; }
  /// Names of the first fields of a kind. Throws ConfigError where there is none.
  std::string picture() const;
  std::string spectrogram() const;
  std::string waveform() const;
  std::string volume() const;
  /// Name of the label that goes along with the volume. Throws ConfigError where there is none.
  std::string voxel_labels() const;
  /// Whether this entry may wait for the batch without losing the source's gather.
  bool nothing_on_samples() const;
  /// The probability of an entry `flip` right behind this one, which is then done; else 0.
  double take_flip();

  /// Says that what was added since `before` is made of labels: no picture, and no voxel may move
  /// any more.
  void made_of_labels(const Schema& before);
  /// Throws ConfigError where something was made of labels already, which would stay behind.
  void require_no_made_labels() const;

  /// Adds a step; its schema() is asked at once.
  template <class Op>
  void on_samples(Op op, StepOptions options = {}) {
    require_samples();
    steps_.fields = op.schema(steps_.fields);
    if (context_.prepares) return prepare(std::move(op));
    add_on_samples(std::move(op), std::move(options));
  }
  template <class Op>
  void on_batches(Op op) {
    if (context_.prepares) refuse_to_prepare("works on batches");
    steps_.fields = op.schema(steps_.fields);
    steps_.on_batches.push_back([op](Pipeline pipeline) { return std::move(pipeline).then(op); });
  }
  /// Adds a step that makes a field of no other, also where samples are row numbers.
  template <class Op>
  void draws_on_samples(Op op) {
    if (context_.prepares) refuse_to_prepare("draws at random");
    steps_.fields = op.schema(steps_.fields);
    add_on_samples(std::move(op), {});
  }

  AugmentSteps build();

 private:
  template <class Op>
  void add_on_samples(Op op, StepOptions options) {
    steps_.on_samples.push_back(
        [op, options](Pipeline pipeline) { return std::move(pipeline).then(op, options); });
  }
  template <class Op>
  void prepare(Op op) {
    if constexpr (PlainSampleOperation<Op>)
      steps_.prepare.add(std::move(op));
    else
      refuse_to_prepare("draws at random");
  }
  [[noreturn]] static void refuse_to_prepare(const std::string& what);
  void require_samples() const;
  void require_order(const AugmentEntry& entry);
  void require_shapes() const;
  const FieldSpec* find(bool (*fits)(const FieldSpec&)) const;
  const FieldSpec& first(const char* what, bool (*fits)(const FieldSpec&)) const;

  const AugmentList& list_;
  AugmentContext context_;
  AugmentSteps steps_;
  std::vector<std::string> made_of_labels_{};
  std::size_t at_ = 0;
  const AugmentEntry* first_on_batches_ = nullptr;
};

/// A row of the table.
struct AugmentRow {
  std::string name{};
  std::string doc{};   ///< one line for a person
  std::string main{};  ///< the parameter that `name: value` sets
  AugmentOn on = AugmentOn::samples;
  bool normalizes = false;    ///< what it makes of pictures is none
  bool cuts_patches = false;  ///< how patches are cut out, before the pipeline; no step
  bool on_device = false;     ///< it can work on patches that are made on a device, once in a list
  std::function<std::any()> make{};
  std::function<void(Fields&, std::any&)> describe{};
  std::function<void(const std::any&, AugmentBuilder&)> add{};
  /// What of a picture it takes, for a decoder that can take it alone; empty: no decoder can.
  std::function<ImageGeometry(const std::any&, const AugmentContext&)> geometry{};
};

/// All operations, in the order of the documentation.
const std::vector<AugmentRow>& augment_table();

/// A row whose entries hold `Parameters`, often the operation itself.
template <class Parameters>
AugmentRow augment_row(AugmentRow row, std::function<void(Fields&, Parameters&)> describe,
                       std::function<void(Parameters, AugmentBuilder&)> add) {
  row.make = [] { return std::any(Parameters{}); };
  row.describe = [describe](Fields& fields, std::any& held) {
    describe(fields, std::any_cast<Parameters&>(held));
  };
  row.add = [add](const std::any& held, AugmentBuilder& builder) {
    add(std::any_cast<const Parameters&>(held), builder);
  };
  return row;
}

/// Adds an operation on pictures that sets no masks.
template <class Op>
void add_to_picture(Op op, AugmentBuilder& builder) {
  op.field = builder.picture();
  builder.on_samples(std::move(op));
}

/// The same, masks going along.
template <class Op>
void add_with_masks(Op op, AugmentBuilder& builder) {
  op.masks = builder.context().masks;
  add_to_picture(std::move(op), builder);
}

/// Runs `call`; a ConfigError of it gets the entry's place.
void at_entry(const AugmentEntry& entry, const std::function<void()>& call);

/// The key `interpolation`.
void describe(Fields& fields, Interpolation& interpolation);

KeyOptions probability(std::string doc);

/// Limits of pixels' levels.
KeyOptions level(std::string doc);

}  // namespace headrace::inline v1::app
