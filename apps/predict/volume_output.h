#pragma once

#include <headrace/apps/predict/predicted_volume.h>

#include <filesystem>
#include <string>

namespace headrace::inline v1::app {

/// The folder that volumes are predicted into. Cases lie prepared in a hidden folder of it, which
/// goes with the object; where a prediction was stopped it stays, and says which files are of that
/// prediction, so that the same command goes on. One thread.
class VolumeOutput {
 public:
  /// Makes the folder. Throws ConfigError where something is in it, unless that may be overwritten
  /// or a stopped prediction has left it.
  VolumeOutput(std::filesystem::path folder, bool overwrite);
  VolumeOutput(const VolumeOutput&) = delete;
  VolumeOutput& operator=(const VolumeOutput&) = delete;
  ~VolumeOutput();

  const std::filesystem::path& prepared() const noexcept { return hidden_; }
  /// Throws what write_prediction() throws.
  void write(const std::filesystem::path& name, const PredictedVolume& volume);
  void write(const std::filesystem::path& name, const std::string& text);
  /// There is no such volume, nor one that lay there before.
  void leave_out(const std::filesystem::path& name) const;
  /// Leaves what is prepared.
  void stay() noexcept { stays_ = true; }

 private:
  void note(const std::filesystem::path& name) const;

  std::filesystem::path folder_;
  std::filesystem::path hidden_;
  bool stays_ = false;
};

}  // namespace headrace::inline v1::app
