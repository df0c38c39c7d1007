#include <headrace/apps/plot/chart.h>
#include <headrace/apps/plot/markup.h>
#include <headrace/apps/report/page.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr const char* style =
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.45 system-ui,sans-serif;"
    "overflow-wrap:anywhere}"
    "main{max-width:1240px;margin:0 auto;padding:1rem}"
    "h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2rem 0 .6rem;"
    "border-bottom:1px solid var(--grid);padding-bottom:.2rem}"
    "h3{font-size:1rem;margin:1rem 0 .4rem}p{margin:.4rem 0}"
    ".faint{color:var(--faint)}.good{color:var(--c2);font-weight:600}"
    ".bad{color:var(--c7);font-weight:600}"
    "dl{display:grid;grid-template-columns:minmax(6rem,max-content) 1fr;gap:.15rem 1rem;"
    "margin:.6rem 0}dt{color:var(--faint)}dd{margin:0}"
    ".wide{overflow-x:auto;margin:.6rem 0}"
    "table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}"
    "th,td{padding:.2rem .45rem;text-align:right;border-bottom:1px solid var(--grid);"
    "overflow-wrap:normal;vertical-align:top}"
    "th{color:var(--faint);font-weight:600;vertical-align:bottom}td{white-space:nowrap}"
    ".text{text-align:left}td.text{min-width:4rem;white-space:normal;overflow-wrap:break-word}"
    ".wraps td{white-space:normal;min-width:5rem}"
    "tr.best td{font-weight:700}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,430px),1fr));"
    "gap:1.2rem 1.6rem;margin:.8rem 0}"
    "pre{white-space:pre-wrap;font-size:.8rem;background:color-mix(in srgb,var(--grid) 40%,"
    "transparent);padding:.6rem;overflow-x:auto}"
    "details{margin:.6rem 0}summary{cursor:pointer}"
    ".card{border-left:4px solid var(--c6);padding:.1rem .8rem;margin:.8rem 0;break-inside:avoid}"
    ".card.warning{border-color:var(--c5)}.card.error{border-color:var(--c7)}"
    ".card.notice{border-color:var(--c0)}"
    ".picture{max-width:100%;height:auto;background:#fff}figure.picture{margin:.8rem 0}"
    "@media print{body{font-size:10pt}main{max-width:none;padding:0}"
    ".charts{grid-template-columns:1fr 1fr}.wide{overflow:visible}h2{break-after:avoid}"
    ".chart figcaption{font-size:.7rem}tr{break-inside:avoid}table{font-size:.65rem}}";

std::string cell(const char* tag, bool text, const std::string& content) {
  return fmt::format("<{0}{1}>{2}</{0}>", tag, text ? " class=\"text\"" : "", escaped(content));
}

bool is_empty(const PageTable& table, std::size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(), [column](const auto& row) {
    return column >= row.size() || row[column].empty();
  });
}

PageTable without_empty_columns(const PageTable& table) {
  PageTable kept{.rows = std::vector<std::vector<std::string>>(table.rows.size()),
                 .text_columns = table.text_columns,
                 .marked = table.marked,
                 .wraps = table.wraps};
  for (std::size_t column = 0; column < table.headings.size(); ++column) {
    if (is_empty(table, column)) {
      if (column < table.text_columns) --kept.text_columns;
      continue;
    }
    kept.headings.push_back(table.headings[column]);
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      kept.rows[r].push_back(column < table.rows[r].size() ? table.rows[r][column] : std::string());
  }
  return kept;
}

}  // namespace

std::string to_html(const PageTable& whole) {
  if (whole.rows.empty()) return {};
  const PageTable table = without_empty_columns(whole);
  std::string html = fmt::format("<div class=\"wide\"><table{}><thead><tr>",
                                 table.wraps ? " class=\"wraps\"" : "");
  for (std::size_t i = 0; i < table.headings.size(); ++i)
    html += cell("th", i < table.text_columns, table.headings[i]);
  html += "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const bool best = std::find(table.marked.begin(), table.marked.end(), r) != table.marked.end();
    html += best ? "<tr class=\"best\">" : "<tr>";
    for (std::size_t i = 0; i < table.headings.size(); ++i)
      html += cell("td", i < table.text_columns, table.rows[r][i]);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string paragraph(const std::string& text, const std::string& css_class) {
  if (text.empty()) return {};
  return fmt::format("<p{}>{}</p>\n",
                     css_class.empty() ? std::string() : " class=\"" + css_class + '"',
                     escaped(text));
}

std::string fact_list(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string html;
  for (const auto& [name, value] : facts)
    if (!value.empty()) html += "<dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd>\n";
  return html.empty() ? html : "<dl>\n" + html + "</dl>\n";
}

std::string section(const std::string& heading, const std::string& content) {
  if (content.empty()) return {};
  return "<section>\n<h2>" + escaped(heading) + "</h2>\n" + content + "</section>\n";
}

std::string folded_text(const std::string& summary, const std::string& text) {
  if (text.empty()) return {};
  return "<details><summary>" + escaped(summary) + "</summary><pre>" + escaped_lines(text) +
         "</pre></details>\n";
}

std::string chart_grid(const std::string& charts) {
  return charts.empty() ? charts : "<div class=\"charts\">\n" + charts + "</div>\n";
}

std::string whole_page(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "style-src 'unsafe-inline'; img-src data:\"/>\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
         "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>" +
         escaped(title) + "</title>\n<style>\n" + svg_chart_style() + style +
         "\n</style>\n</head>\n<body>\n<main>\n" + body + "</main>\n</body>\n</html>\n";
}

}  // namespace headrace::inline v1::app
