#include <headrace/apps/report/compare_runs.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/text_width.h>

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t column_gap = 2;
constexpr std::size_t least_value = 12;  // columns of a key's value
constexpr std::size_t least_name = 16;   // and of a figure's name
constexpr std::size_t most_name = 48;

using Places = std::vector<std::size_t>;  // of runs

// Lines that break between words.
std::string wrapped(const std::string& text, std::size_t columns) {
  std::istringstream words(clean_text(text));
  std::string lines;
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && text_width(line) + 1 + text_width(word) > columns) {
      lines += line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line + '\n';
}

std::string keys_text(const std::vector<KeyDifference>& keys, const Places& runs,
                      std::size_t columns) {
  std::size_t key_width = 3;
  for (const KeyDifference& key : keys)
    key_width = std::max(key_width, text_width(clean_text(key.key)));
  key_width = std::min(key_width, columns / 2);
  const std::size_t room = (columns - key_width) / runs.size();
  const std::size_t value_width = std::max(least_value, room > column_gap ? room - column_gap : 1);
  std::vector<Table::Column> heads{{.heading = "key", .align = Align::left}};
  for (const std::size_t run : runs)
    heads.push_back({.heading = letter_of(run), .align = Align::left});
  Table table(heads);
  for (const KeyDifference& key : keys) {
    if (runs.size() == 2 && key.values[runs[0]] == key.values[runs[1]]) continue;
    std::vector<std::string> cells{clean_text(key.key, key_width)};
    for (const std::size_t run : runs)
      cells.push_back(key.values[run].empty() ? "-" : clean_text(key.values[run], value_width));
    table.row(std::move(cells));
  }
  return table.empty() ? std::string() : table.text();
}

// What is told of figures: as much as there is room for.
struct Detail {
  bool spreads = false;
  bool amounts = false;
};

std::string spread_text(FigureKind kind, const Spread& spread, const Detail& detail) {
  if (spread.count == 0) return "-";
  std::string text = figure_value(kind, spread.mean);
  if (detail.spreads && spread.count > 1)
    text += fmt::format(" ± {} (n {})", figure_value(kind, spread.deviation), spread.count);
  return text;
}

std::string difference_text(const FigureDifference& said, const Detail& detail) {
  if (!detail.amounts || said.amount.empty()) return said.words;
  return fmt::format("{} ({})", said.words, said.amount);
}

std::string figures_table(const std::vector<ComparedFigure>& figures, const Places& runs,
                          const Detail& detail, std::size_t name_width) {
  std::vector<Table::Column> heads{{.heading = "figure", .align = Align::left}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    heads.push_back({.heading = letter_of(runs[i])});
    if (i > 0)
      heads.push_back(
          {.heading = letter_of(runs[i]) + " to " + letter_of(runs[0]), .align = Align::left});
  }
  Table table(heads);
  for (const ComparedFigure& figure : figures) {
    std::vector<std::string> cells{clean_text(figure.name, name_width)};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      cells.push_back(spread_text(figure.kind, figure.runs[runs[i]], detail));
      if (i > 0) cells.push_back(difference_text(figure.differences[runs[i] - 1], detail));
    }
    table.row(std::move(cells));
  }
  return table.empty() ? std::string() : table.text();
}

// With as much as fits; too wide where even the least does not.
std::string figures_text(const std::vector<ComparedFigure>& figures, const Places& runs,
                         std::size_t columns) {
  std::string text;
  for (const Detail& detail : {Detail{.spreads = true, .amounts = true}, Detail{.amounts = true}}) {
    text = figures_table(figures, runs, detail, most_name);
    if (width_of(text) <= columns) return text;
  }
  text = figures_table(figures, runs, {}, most_name);
  const std::size_t width = width_of(text);
  if (width <= columns) return text;
  const std::size_t over = width - columns;
  std::size_t longest = 0;
  for (const ComparedFigure& figure : figures)
    longest = std::max(longest, std::min(most_name, text_width(clean_text(figure.name))));
  return figures_table(figures, runs, {},
                       longest > over + least_name ? longest - over : least_name);
}

// The table of all runs, or where it is too wide one of each beside the first.
template <class Write>
std::string fitted(std::size_t runs, std::size_t columns, const Write& write) {
  Places all;
  for (std::size_t i = 0; i < runs; ++i)
    all.push_back(i);
  std::string text = write(all);
  if (runs == 2 || width_of(text) <= columns) return text;
  text.clear();
  for (std::size_t i = 1; i < runs; ++i)
    if (const std::string one = write(Places{0, i}); !one.empty())
      text += (text.empty() ? "" : "\n") + one;
  return text;
}

void add_part(std::string& text, const std::string& heading, const std::string& part,
              const std::string& otherwise) {
  text += '\n' + heading + '\n' + (part.empty() ? otherwise + '\n' : part);
}

}  // namespace

std::string to_text(const Comparison& comparison, std::size_t columns) {
  const std::size_t runs = comparison.runs.size();
  std::string text;
  for (std::size_t i = 0; i < runs; ++i) {
    const RunRecord& run = comparison.runs[i].record;
    const std::size_t epochs = run.epochs.rows().size();
    text += clean_text(fmt::format("{}  {}: {}{}{} epoch{}, {}", letter_of(i), run.folder.string(),
                                   run.kind, run.kind.empty() ? "" : ", ", epochs,
                                   epochs == 1 ? "" : "s", to_string(run.end)),
                       columns) +
            '\n';
  }
  for (const std::string& sentence : comparison.sentences)
    text += wrapped(sentence, columns);
  add_part(text, "configuration",
           fitted(runs, columns,
                  [&](const Places& places) {
                    return keys_text(comparison.configuration, places, columns);
                  }),
           "no key differs");
  add_part(text, "machine and versions",
           fitted(runs, columns,
                  [&](const Places& places) {
                    return keys_text(comparison.environment, places, columns);
                  }),
           "nothing differs");
  add_part(text, "figures",
           fitted(runs, columns,
                  [&](const Places& places) {
                    return figures_text(comparison.figures, places, columns);
                  }),
           "there are none");
  return text + '\n' + wrapped(noise_sentence(), columns);
}

}  // namespace headrace::inline v1::app
