#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/figures/figure_spread.h>
#include <headrace/apps/figures/figure_text.h>
#include <headrace/apps/figures/fold_outcome.h>
#include <headrace/apps/figures/vote_table.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/internal/json_fields.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {

void fields(of_type<Confusion> auto& confusion, const auto& field) {
  field("classes", confusion.classes);
  field("counts", confusion.counts);
}

// But for the confusion, which not every outcome has.
void fields(of_type<FoldOutcome> auto& outcome, const auto& field) {
  field("member", outcome.member);
  field("selected_by", outcome.selected_by);
  field("best_epoch", outcome.best_epoch);
  field("validation", outcome.validation);
  field("test", outcome.test);
  field.if_there("refused", outcome.refused);
  field.if_there("unread", outcome.unread);
  field.if_there("unread_validation", outcome.unread_validation);
}

namespace {

using Named = std::map<std::string, double>;

constexpr std::size_t most_line_columns = 100;

// As numbers_json() writes them.
struct FiguresOrNull : PlainValues {
  using PlainValues::read;
  static void read(const nlohmann::json& json, Named& figures) {
    for (const auto& [name, value] : json.items())
      figures[name] = json_number(value);
  }
};

std::optional<double> find(const Named& figures, const std::string& name) {
  const auto found = figures.find(name);
  return found == figures.end() ? std::nullopt : std::optional(found->second);
}

// "  test: f1 0.9312, missed 3", over as many lines as it takes; nothing without figures.
std::string other_figures(const std::string& of, const Named& figures, const std::string& but) {
  std::string text;
  std::string line = "  " + of + ":";
  bool first = true;
  for (const auto& [name, value] : figures) {
    if (name == but) continue;
    const std::string part = figure_words(name) + ' ' + figure_text(value);
    if (!first) line += ',';
    if (!first && text_width(line) + 1 + text_width(part) + 1 > most_line_columns) {
      text += line + '\n';
      line = std::string(3 + of.size(), ' ');
    }
    line += ' ' + part;
    first = false;
  }
  return first ? std::string{} : text + line + '\n';
}

std::string outcome_text(const FoldOutcome& outcome) {
  const std::string name = figure_words(outcome.selected_by);
  std::string text = outcome.member.empty() ? std::string{} : outcome.member + ": ";
  if (outcome.refused) return text + "refused, " + *outcome.refused + '\n';
  if (const auto test = find(outcome.test, outcome.selected_by))
    text += fmt::format("test {} {:.4f}, ", name, *test);
  if (outcome.validation.empty())
    text += "the last weights\n";
  else
    text += fmt::format("selected at epoch {} by validation {} {:.4f}\n", outcome.best_epoch + 1,
                        name, find(outcome.validation, outcome.selected_by).value_or(NAN));
  const auto line = [](const char* of, const std::optional<std::string>& unread) {
    return unread ? fmt::format("  {}: {}\n", of, *unread) : std::string();
  };
  return text + other_figures("validation", outcome.validation, outcome.selected_by) +
         line("validation", outcome.unread_validation) +
         other_figures("test", outcome.test, outcome.selected_by) + line("test", outcome.unread);
}

// "folds" where all are called "fold ...".
std::string kind_of(const std::vector<FoldOutcome>& outcomes) {
  const auto first_word = [](const FoldOutcome& outcome) {
    return outcome.member.substr(0, outcome.member.find(' '));
  };
  const std::string word = first_word(outcomes.front());
  const bool shared = std::all_of(outcomes.begin(), outcomes.end(),
                                  [&](const auto& one) { return first_word(one) == word; });
  return (shared && !word.empty() ? word : "member") + "s";
}

// Over the test, or where nothing was tested over the validation.
std::string summary(const std::vector<FoldOutcome>& all) {
  const std::vector<FoldOutcome> outcomes = believed(all);
  if (outcomes.empty()) return "no figure can be believed";
  const std::string& name = outcomes.front().selected_by;
  const bool tested = !outcomes.front().test.empty();
  if (!tested && outcomes.front().validation.empty()) return "nothing was measured";
  const auto part = tested ? &FoldOutcome::test : &FoldOutcome::validation;
  const std::string figure = (tested ? "test " : "validation ") + figure_words(name);
  const std::string chosen = tested ? "" : ", by which the weights were selected";
  const auto spreads = spread_of(outcomes, part);
  const auto spread = spreads.find(name);
  if (outcomes.size() == 1 || spread == spreads.end())
    return fmt::format("{} {:.4f}{}", figure, find(outcomes.front().*part, name).value_or(NAN),
                       chosen);
  const std::string of = outcomes.size() < all.size() ? fmt::format(" of {}", all.size()) : "";
  return fmt::format("{} {:.4f} +- {:.4f} over {}{} {}{}", figure, spread->second.mean,
                     spread->second.deviation, outcomes.size(), of, kind_of(outcomes), chosen);
}

nlohmann::ordered_json json_of(const std::map<std::string, FigureSpread>& spreads) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, spread] : spreads)
    json[name] = {{"mean", number_json<nlohmann::ordered_json>(spread.mean)},
                  {"standard_deviation", number_json<nlohmann::ordered_json>(spread.deviation)}};
  return json;
}

void add_confusion(nlohmann::ordered_json& json, const Confusion& confusion) {
  if (!confusion.counts.empty())
    json["confusion"] = write_fields<nlohmann::ordered_json>(confusion);
}

nlohmann::ordered_json json_of(const FoldOutcome& outcome) {
  auto json = write_fields<nlohmann::ordered_json>(outcome);
  json["validation"] = numbers_json<nlohmann::ordered_json>(outcome.validation);
  json["test"] = numbers_json<nlohmann::ordered_json>(outcome.test);
  add_confusion(json, outcome.confusion);
  return json;
}

void add_votes(nlohmann::ordered_json& json, const std::vector<FoldOutcome>& votes) {
  if (votes.empty()) return;
  const FoldOutcome& first = votes.front();
  nlohmann::ordered_json& deciding = json["vote"];
  const auto test_of = [](const FoldOutcome& vote) {
    return numbers_json<nlohmann::ordered_json>(vote.test);
  };
  deciding = {{"selected_by", first.selected_by}, {"test", test_of(first)}};
  if (first.unread) deciding["unread"] = *first.unread;
  add_confusion(deciding, first.confusion);
  if (votes.size() == 1) return;
  for (const FoldOutcome& vote : votes) {
    nlohmann::ordered_json one{{"name", vote_name(vote)}, {"test", test_of(vote)}};
    add_confusion(one, vote.confusion);
    json["votes"].push_back(std::move(one));
  }
}

}  // namespace

std::optional<FoldOutcome> read_fold_outcome(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "result.json";
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) return std::nullopt;
  try {
    const auto json = nlohmann::json::parse(read_whole_text(file, "resume"));
    FoldOutcome outcome;
    read_fields<FiguresOrNull>(json, outcome);
    // Members of older runs have none.
    if (json.contains("confusion")) read_fields(json.at("confusion"), outcome.confusion);
    return outcome;
  } catch (const std::exception& error) {
    throw Failure(
        ExitCode::checkpoint,
        fmt::format("[resume] {} must be what a finished member wrote, got: {}; remove it "
                    "to evaluate the member again",
                    file.string(), error.what()));
  }
}

std::vector<FoldOutcome> believed(const std::vector<FoldOutcome>& outcomes) {
  std::vector<FoldOutcome> some;
  std::ranges::copy_if(outcomes, std::back_inserter(some),
                       [](const FoldOutcome& one) { return !one.refused; });
  return some;
}

std::string results_text(const std::vector<FoldOutcome>& outcomes,
                         const std::vector<FoldOutcome>& votes) {
  if (outcomes.empty()) return "nothing was trained";
  std::string text;
  for (const FoldOutcome& outcome : outcomes)
    text += outcome_text(outcome);
  text += summary(outcomes);
  if (votes.empty()) return text;
  const FoldOutcome& vote = votes.front();
  text += '\n' + (votes.size() > 1 ? vote_table(votes)
                                   : fmt::format("{}: test {} {:.4f}", vote.member,
                                                 figure_words(vote.selected_by),
                                                 find(vote.test, vote.selected_by).value_or(NAN)));
  return vote.unread ? text + "\n  test: " + *vote.unread : text;
}

void write_fold_outcome(const std::filesystem::path& folder, const FoldOutcome& outcome) {
  write_file_atomically(folder / "result.json", json_of(outcome).dump(2) + "\n");
}

void write_run_result(const std::filesystem::path& folder, const std::vector<FoldOutcome>& outcomes,
                      const std::vector<FoldOutcome>& votes) {
  nlohmann::ordered_json json{{"members", nlohmann::ordered_json::array()}};
  for (const FoldOutcome& outcome : outcomes)
    json["members"].push_back(json_of(outcome));
  if (const auto some = believed(outcomes); some.size() > 1)
    json["over_members"] = {{"validation", json_of(spread_of(some, &FoldOutcome::validation))},
                            {"test", json_of(spread_of(some, &FoldOutcome::test))}};
  add_votes(json, votes);
  write_file_atomically(folder / "result.json", json.dump(2) + "\n");
}

}  // namespace headrace::inline v1::app
