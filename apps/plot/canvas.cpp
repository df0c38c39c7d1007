#include <headrace/apps/plot/canvas.h>
#include <headrace/loaders/image/png_writer.h>

#include <algorithm>
#include <cmath>

#include <opencv2/core/mat.hpp>
#include <opencv2/imgproc.hpp>

namespace headrace::inline v1::app {
namespace {

// Everything is drawn so many times as large, and averaged.
constexpr int fineness = 3;
constexpr int shift = 4;  // of the places that OpenCV is given, binary digits behind the point
constexpr int font = cv::FONT_HERSHEY_SIMPLEX;
constexpr double capital = 21.0;  // its height in pixels at scale 1

cv::Mat view(std::vector<std::uint8_t>& rgb, int width, int height) {
  return {fineness * height, fineness * width, CV_8UC3, rgb.data()};
}

// Only to be read.
cv::Mat view_of(const std::vector<std::uint8_t>& rgb, int width, int height) {
  return {height, width, CV_8UC3, const_cast<std::uint8_t*>(rgb.data())};
}

cv::Scalar scalar(Colour colour) {
  return {double(colour.red), double(colour.green), double(colour.blue)};
}

cv::Point fixed(Spot spot) {
  constexpr double scale = fineness * (1 << shift);
  return {static_cast<int>(std::lround(spot.x * scale)),
          static_cast<int>(std::lround(spot.y * scale))};
}

double scale_of(const TextStyle& style) {
  return fineness * style.height / capital;
}

int thickness_of(const TextStyle& style) {
  return std::max(
      1, static_cast<int>(std::lround(fineness * style.height * (style.bold ? 0.15 : 0.11))));
}

std::string ascii(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80) continue;  // inside a letter of UTF-8
    plain += byte < 0x20 || byte > 0x7e ? '?' : c;
  }
  return plain;
}

}  // namespace

Colour Colour::paler(double share) const {
  const auto mix = [share](std::uint8_t part) {
    return static_cast<std::uint8_t>(std::lround(part + share * (255 - part)));
  };
  return {mix(red), mix(green), mix(blue)};
}

Canvas::Canvas(int width, int height)
    : width_(width),
      height_(height),
      rgb_(std::size_t{3} * fineness * fineness * static_cast<std::size_t>(width) *
               static_cast<std::size_t>(height),
           255) {}

void Canvas::line(std::span<const Spot> spots, Colour colour, double thickness) {
  std::vector<cv::Point> points;
  points.reserve(spots.size());
  for (const Spot& spot : spots)
    points.push_back(fixed(spot));
  if (points.size() < 2) return;
  cv::polylines(view(rgb_, width_, height_), points, /*isClosed=*/false, scalar(colour),
                std::max(1, static_cast<int>(std::lround(thickness * fineness))), cv::LINE_AA,
                shift);
}

void Canvas::rectangle(const Box& box, Colour colour) {
  cv::rectangle(view(rgb_, width_, height_), fixed({box.left, box.top}),
                fixed({box.right(), box.bottom()}), scalar(colour), cv::FILLED, cv::LINE_8, shift);
}

void Canvas::disc(Spot centre, double radius, Colour colour) {
  cv::circle(view(rgb_, width_, height_), fixed(centre),
             static_cast<int>(std::lround(radius * fineness * (1 << shift))), scalar(colour),
             cv::FILLED, cv::LINE_AA, shift);
}

void Canvas::picture(const Pixels& picture, const Box& box) {
  const double scale = std::min(box.width / picture.width, box.height / picture.height);
  const auto fine = [](double length) {
    return std::max(1, static_cast<int>(std::lround(fineness * length)));
  };
  const cv::Size size(fine(scale * picture.width), fine(scale * picture.height));
  const cv::Rect whole(0, 0, fineness * width_, fineness * height_);
  const cv::Rect place =
      cv::Rect(fine(box.left + box.width / 2.0) - size.width / 2,
               fine(box.top + box.height / 2.0) - size.height / 2, size.width, size.height) &
      whole;
  const cv::Mat from = view_of(picture.rgb, picture.width, picture.height);
  cv::Mat resized;
  const bool shrinks = size.width < picture.width;
  cv::resize(from, resized, size, 0.0, 0.0, shrinks ? cv::INTER_AREA : cv::INTER_NEAREST);
  resized(cv::Rect(0, 0, place.width, place.height)).copyTo(view(rgb_, width_, height_)(place));
}

void Canvas::text(const std::string& text, Spot spot, const TextStyle& style) {
  const double width = text_width(text, style);
  const double from = style.anchor == Anchor::left    ? 0.0
                      : style.anchor == Anchor::right ? width
                                                      : width / 2.0;
  const cv::Point origin(static_cast<int>(std::lround(fineness * (spot.x - from))),
                         static_cast<int>(std::lround(fineness * (spot.y + style.height / 2.0))));
  cv::putText(view(rgb_, width_, height_), ascii(text), origin, font, scale_of(style),
              scalar(style.colour), thickness_of(style), cv::LINE_AA);
}

double Canvas::text_width(const std::string& text, const TextStyle& style) {
  int below = 0;
  return cv::getTextSize(ascii(text), font, scale_of(style), thickness_of(style), &below).width /
         double(fineness);
}

std::vector<std::byte> Canvas::png() const {
  cv::Mat small;
  const cv::Mat fine = view_of(rgb_, fineness * width_, fineness * height_);
  cv::resize(fine, small, {width_, height_}, 0.0, 0.0, cv::INTER_AREA);
  return encode_png(small.data, width_, height_);
}

std::string cut_to_width(std::string text, double width, const TextStyle& style) {
  if (Canvas::text_width(text, style) <= width) return text;
  while (!text.empty() && Canvas::text_width(text + "..", style) > width)
    text.pop_back();
  return text + "..";
}

}  // namespace headrace::inline v1::app
