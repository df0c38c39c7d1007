#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// A table of a page. Cells are any text; the page escapes them. A column without a cell is left
/// out.
struct PageTable {
  std::vector<std::string> headings{};
  std::vector<std::vector<std::string>> rows{};
  std::size_t text_columns = 1;       ///< the first so many are text, the rest numbers
  std::vector<std::size_t> marked{};  ///< rows that are shown as the best
  bool wraps = false;                 ///< cells may have several lines, not text columns alone
};

std::string to_html(const PageTable& table);

/// `<p>` with that text, escaped; empty for an empty one.
std::string paragraph(const std::string& text, const std::string& css_class = {});

/// A list of name and value; pairs without a value are left out.
std::string fact_list(const std::vector<std::pair<std::string, std::string>>& facts);

/// A part of the page under a heading; empty where its content is.
std::string section(const std::string& heading, const std::string& content);

/// `<details>` with text of many lines in it.
std::string folded_text(const std::string& summary, const std::string& text);

/// Charts side by side where there is room; empty without one.
std::string chart_grid(const std::string& charts);

/// A whole page: one file that looks nothing up elsewhere, for light and dark screens, narrow ones
/// and paper. Its policy lets a browser load nothing, whatever is in it.
std::string whole_page(const std::string& title, const std::string& body);

}  // namespace headrace::inline v1::app
