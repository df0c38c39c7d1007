#pragma once

#include <headrace/apps/plot/canvas.h>

#include <string>
#include <string_view>

namespace headrace::inline v1::app {

/// A stranger's text as HTML and SVG may hold it, between tags and in quoted attributes: in one
/// line, with what is no UTF-8 and control characters as printable() shows them, at most 4096
/// bytes.
std::string escaped(std::string_view text);

/// The same of a text of several lines, of any length, whose line ends stay.
std::string escaped_lines(std::string_view text);

/// "#0072b2".
std::string css_colour(Colour colour);

}  // namespace headrace::inline v1::app
