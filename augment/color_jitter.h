#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <optional>
#include <string>

namespace headrace::inline v1 {

/// Changes brightness, contrast, saturation and hue of a picture, uint8 [H, W, 1 or 3], each by a
/// factor uniform in its range, in random order (torchvision's ColorJitter). A range that holds
/// nothing but "no change" is left out. The same bytes on every vector width.
struct HEADRACE_API ColorJitter {
  using Range = std::array<double, 2>;

  Range brightness = {1, 1};  ///< factors, 0 is black
  Range contrast = {1, 1};    ///< factors, 0 is the picture's mean grey
  Range saturation = {1, 1};  ///< factors, 0 is grey; nothing happens to grey pictures
  Range hue = {0, 0};         ///< shares of the colour circle, -0.5 to 0.5; as saturation
  std::string field = "image";
  double p = 1.0;  ///< probability of doing anything

  /// Ranges around "no change" as torchvision takes them: [max(0, 1 - b), 1 + b] and so on, and
  /// [-hue, hue].
  static ColorJitter by(double brightness, double contrast = 0, double saturation = 0,
                        double hue = 0);

  enum class Step : unsigned char { brightness, contrast, saturation, hue };

  /// One drawn jitter.
  struct Factors {
    std::array<Step, 4> order = {Step::brightness, Step::contrast, Step::saturation, Step::hue};
    std::optional<double> brightness{};
    std::optional<double> contrast{};
    std::optional<double> saturation{};
    std::optional<double> hue{};
  };

  std::string name() const { return "color jitter"; }
  /// Throws ConfigError for ranges that cannot be right, a p outside [0, 1], and fields that are no
  /// pictures of 1 or 3 channels.
  Schema schema(const Schema& in) const;
  /// Draws whether, unless p is 1, the order, then the factor of each range that is not left out.
  void operator()(Sample& sample, Random& random) const;
  /// The same by given factors.
  void adjust(Sample& sample, const Factors& factors) const;
};

}  // namespace headrace::inline v1
