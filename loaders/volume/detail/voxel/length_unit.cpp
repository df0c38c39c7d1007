#include <headrace/loaders/volume/detail/voxel/length_unit.h>

#include <utility>

namespace headrace::inline v1::detail {

double millimetres_of(std::string_view unit) noexcept {
  // The sign of micro is one of two in UTF-8, a byte of Latin-1, or written out by ImageJ and XML.
  constexpr std::pair<std::string_view, double> known[] = {
      {"mm", 1.0},          {"millimeter", 1.0},  {"millimetre", 1.0}, {"cm", 10.0},
      {"centimeter", 10.0}, {"centimetre", 10.0}, {"dm", 100.0},       {"decimeter", 100.0},
      {"m", 1e3},           {"meter", 1e3},       {"metre", 1e3},      {"km", 1e6},
      {"kilometer", 1e6},   {"um", 1e-3},         {"micron", 1e-3},    {"microns", 1e-3},
      {"micrometer", 1e-3}, {"micrometre", 1e-3}, {"\u00b5m", 1e-3},   {"\u03bcm", 1e-3},
      {"\xb5m", 1e-3},      {"\\u00B5m", 1e-3},   {"\\u00b5m", 1e-3},  {"&#181;m", 1e-3},
      {"&#xB5;m", 1e-3},    {"&#xb5;m", 1e-3},    {"&#956;m", 1e-3},   {"&#x3BC;m", 1e-3},
      {"nm", 1e-6},         {"nanometer", 1e-6},  {"nanometre", 1e-6}, {"pm", 1e-9},
      {"picometer", 1e-9},  {"angstrom", 1e-7},   {"\u00c5", 1e-7},    {"&#197;", 1e-7},
      {"inch", 25.4},       {"in", 25.4},         {"foot", 304.8},     {"ft", 304.8},
      {"yard", 914.4},      {"yd", 914.4}};
  for (const auto& [name, factor] : known)
    if (unit == name) return factor;
  return 0.0;
}

}  // namespace headrace::inline v1::detail
