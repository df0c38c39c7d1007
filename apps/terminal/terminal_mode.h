#pragma once

#include <cstddef>

namespace headrace::inline v1::app {

/// What a stream leads to.
enum class TerminalMode {
  lines,  ///< a file, a pipe, a dumb terminal or a build service: whole lines, no escapes
  live,   ///< a terminal that understands cursor movement
};

/// A terminal, TERM neither empty nor "dumb", and CI not set (or "false"). Nothing of ours uses
/// colour, so NO_COLOR is honoured in both modes.
TerminalMode terminal_mode(int file_descriptor);

/// Columns of the terminal at this moment; 80 if it does not say.
std::size_t terminal_columns(int file_descriptor);

/// Rows of the terminal at this moment; 24 if it does not say.
std::size_t terminal_rows(int file_descriptor);

/// Columns for text that must not wrap: those of the terminal, or 100 where there is none; fewer
/// on a terminal, and any number elsewhere, where COLUMNS says so.
std::size_t text_columns(int file_descriptor);

}  // namespace headrace::inline v1::app
