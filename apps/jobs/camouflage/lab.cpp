#include <headrace/apps/jobs/camouflage/lab.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1::app {
namespace {

constexpr Colour white{0.95047, 1.0, 1.08883};
constexpr double bend = 6.0 / 29.0;

double light_of(double value) {
  const double v = value / 255.0;
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

double value_of(double light) {
  const double v = light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1.0 / 2.4) - 0.055;
  return std::clamp(255.0 * v, 0.0, 255.0);
}

double root(double t) {
  return t > bend * bend * bend ? std::cbrt(t) : t / (3.0 * bend * bend) + 4.0 / 29.0;
}

double cube(double t) {
  return t > bend ? t * t * t : 3.0 * bend * bend * (t - 4.0 / 29.0);
}

}  // namespace

Colour light_of(const Colour& srgb) {
  return {light_of(srgb[0]), light_of(srgb[1]), light_of(srgb[2])};
}

Colour srgb_of_light(const Colour& light) {
  return {value_of(light[0]), value_of(light[1]), value_of(light[2])};
}

double luminance_of(const Colour& light) {
  return 0.2126729 * light[0] + 0.7151522 * light[1] + 0.0721750 * light[2];
}

Colour lab_of(const Colour& srgb) {
  const Colour rgb = light_of(srgb);
  const double x = 0.4124564 * rgb[0] + 0.3575761 * rgb[1] + 0.1804375 * rgb[2];
  const double z = 0.0193339 * rgb[0] + 0.1191920 * rgb[1] + 0.9503041 * rgb[2];
  const double fx = root(x / white[0]);
  const double fy = root(luminance_of(rgb) / white[1]);
  const double fz = root(z / white[2]);
  return {116.0 * fy - 16.0, 500.0 * (fx - fy), 200.0 * (fy - fz)};
}

Colour srgb_of(const Colour& lab) {
  const double fy = (lab[0] + 16.0) / 116.0;
  const double x = white[0] * cube(fy + lab[1] / 500.0);
  const double y = white[1] * cube(fy);
  const double z = white[2] * cube(fy - lab[2] / 200.0);
  return srgb_of_light({3.2404542 * x - 1.5371385 * y - 0.4985314 * z,
                        -0.9692660 * x + 1.8760108 * y + 0.0415560 * z,
                        0.0556434 * x - 0.2040259 * y + 1.0572252 * z});
}

}  // namespace headrace::inline v1::app
