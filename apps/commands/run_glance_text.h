#pragma once

#include <headrace/apps/commands/run_glance.h>

#include <cstddef>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A run for a person, at most 20 lines, the most important first: of as many figures as fit into
/// `columns` the first.
std::vector<std::string> glance_lines(const RunGlance& glance, std::size_t columns);

/// The same in one line.
std::string glance_line(const RunGlance& glance);

/// "last row 3 s ago", "has not written for 2 min: ..."; how the run ended.
std::string state_text(const RunGlance& glance);

}  // namespace headrace::inline v1::app
