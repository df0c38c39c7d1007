#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  /// Towards white: 0 is the colour itself, 1 white.
  Colour paler(double share) const;
};

/// Pixels from the left and from the top.
struct Spot {
  double x = 0.0;
  double y = 0.0;
};

struct Box {
  double left = 0.0;
  double top = 0.0;
  double width = 0.0;
  double height = 0.0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

/// A picture in packed red, green and blue, rows of 3 * width bytes.
struct Pixels {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb{};
};

/// What of a text stands at its spot, along the line; its middle is at the spot's height.
enum class Anchor : unsigned char { left, middle, right };

struct TextStyle {
  double height = 11.0;  ///< of a capital letter, in pixels
  Colour colour{};
  Anchor anchor = Anchor::left;
  bool bold = false;
};

/// White paper for plots: smooth lines and plain letters (ASCII; any other is shown as '?'). Not
/// thread-safe.
class Canvas {
 public:
  Canvas(int width, int height);

  /// Through all spots, `thickness` pixels wide; a single spot is nothing.
  void line(std::span<const Spot> spots, Colour colour, double thickness);
  void rectangle(const Box& box, Colour colour);
  void disc(Spot centre, double radius, Colour colour);
  /// As large as the box lets it be without being stretched, in its middle. A small one is shown
  /// pixel by pixel.
  void picture(const Pixels& picture, const Box& box);
  void text(const std::string& text, Spot spot, const TextStyle& style);
  /// How wide the text would be.
  static double text_width(const std::string& text, const TextStyle& style);

  /// As a PNG file.
  std::vector<std::byte> png() const;

 private:
  int width_;
  int height_;
  std::vector<std::uint8_t> rgb_;  // several times as fine in both directions
};

/// The text, cut with ".." where it would be wider.
std::string cut_to_width(std::string text, double width, const TextStyle& style);

}  // namespace headrace::inline v1::app
