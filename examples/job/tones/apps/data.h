#pragma once

#include <headrace/apps/jobs/tones/config.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/tensor/device.h>

#include <cstdint>
#include <memory>
#include <string>

namespace headrace::inline v1::app {

/// Values of a sound.
inline constexpr std::int64_t tone_values = 512;

/// Sounds that are made when they are read, always the same: `sound` float32 [1, 512] and `label`
/// int64 [], its pitch.
class Tones final : public Source {
 public:
  /// `set` tells the sounds of training, validation and test apart.
  Tones(const TonesConfig& config, std::int64_t sounds, std::int64_t set);

  std::string name() const override { return "tones"; }
  std::int64_t size() const override { return sounds_; }
  Schema fields() const override;
  void read(std::int64_t index, Sample& sample) const override;

 private:
  TonesData data_;
  std::int64_t sounds_;
  std::uint64_t seed_;
  std::int64_t set_;
};

/// Batches to train on, in a fresh order each epoch.
Pipeline tones_training_pipeline(std::shared_ptr<const Source> sounds, const TonesConfig& config,
                                 Device device);

}  // namespace headrace::inline v1::app
