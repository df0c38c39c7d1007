#include <headrace/apps/plot/chart.h>
#include <headrace/apps/plot/look.h>
#include <headrace/apps/plot/markup.h>

#include <array>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// Okabe, Ito, "Color universal design", 2008, but for the last two.
constexpr std::array<Colour, chart_colours> colours{{look::blue,
                                                     look::orange,
                                                     {0, 158, 115},
                                                     {204, 121, 167},
                                                     {86, 180, 233},
                                                     {214, 146, 0},
                                                     {136, 136, 136},
                                                     {190, 30, 45}}};

constexpr double paler_on_black = 0.35;

std::string variables(const Colour& paper, const Colour& ink, const Colour& faint,
                      const Colour& grid) {
  return fmt::format("--paper:{};--ink:{};--faint:{};--grid:{};", css_colour(paper),
                     css_colour(ink), css_colour(faint), css_colour(grid));
}

}  // namespace

Colour chart_colour(std::size_t number) {
  return colours[number % chart_colours];
}

std::string svg_chart_style() {
  std::string light = variables(look::paper, look::ink, look::faint, look::grid);
  std::string dark = variables({22, 24, 28}, {226, 228, 232}, {156, 160, 168}, {52, 56, 64});
  std::string classes;
  for (std::size_t i = 0; i < colours.size(); ++i) {
    light += fmt::format("--c{}:{};", i, css_colour(colours[i]));
    dark += fmt::format("--c{}:{};", i, css_colour(colours[i].paler(paler_on_black)));
    classes += fmt::format(".l{0}{{stroke:var(--c{0})}}.f{0}{{fill:var(--c{0})}}", i);
  }
  return fmt::format(":root{{{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n",
                     light, dark) +
         classes +
         ".chart{margin:0;break-inside:avoid}.chart svg{display:block;width:100%;height:auto}"
         ".chart figcaption{display:flex;flex-wrap:wrap;gap:.1em 1em;font-size:.85rem}"
         ".chart figcaption b{flex-basis:100%}"
         ".key::before{content:'';display:inline-block;width:1em;height:.25em;margin-right:.4em;"
         "vertical-align:middle;background:var(--k);print-color-adjust:exact;"
         "-webkit-print-color-adjust:exact}"
         ".chart text{font-size:11px;fill:var(--faint)}"
         ".line{fill:none;stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round}"
         ".pale{stroke-width:1;opacity:.35}.ground{stroke-width:1;opacity:.25}.grid{stroke:var(--"
         "grid)}.axis{stroke:var(--faint)}"
         ".limit{stroke:var(--ink);stroke-dasharray:4 3;opacity:.7}"
         ".span{opacity:.2}.strip{opacity:.7}.ring{fill:var(--paper);stroke-width:2}"
         ".layer{opacity:.8}.at{fill:var(--ink);opacity:0}.at:hover{opacity:.12}\n";
}

}  // namespace headrace::inline v1::app
