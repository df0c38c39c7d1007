// results.csv and results.png of a run folder.
#include <headrace/apps/figures/epoch_curve.h>
#include <headrace/apps/figures/results.h>
#include <headrace/apps/plot/axis.h>
#include <headrace/apps/plot/canvas.h>
#include <headrace/apps/plot/chart.h>
#include <headrace/apps/plot/look.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::Axis;
using app::FoldOutcome;

namespace {

// Pixels of a PNG.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb{};

  /// How many pixels inside a box, as far as it lies in the picture, have about this colour.
  int count(app::Colour colour, int left, int top, int right, int bottom) const {
    int found = 0;
    for (int y = top; y < std::min(bottom, height); ++y) {
      for (int x = left; x < std::min(right, width); ++x) {
        const std::uint8_t* at = &rgb[3 * static_cast<std::size_t>(y * width + x)];
        const int away = std::abs(at[0] - colour.red) + std::abs(at[1] - colour.green) +
                         std::abs(at[2] - colour.blue);
        found += away < 24 ? 1 : 0;
      }
    }
    return found;
  }
};

Picture decode(const std::vector<std::byte>& png) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open({png.data(), png.size()});
  Picture picture{.width = header.shown_width(), .height = header.shown_height()};
  picture.rgb.resize(3 * static_cast<std::size_t>(picture.width * picture.height));
  decoder.decode({0,
                  0,
                  double(picture.width),
                  double(picture.height),
                  {.width = picture.width, .height = picture.height}},
                 {.rgb = picture.rgb.data(), .height = picture.height, .width = picture.width});
  return picture;
}

app::CsvTable metrics(int members, int epochs) {
  std::ostringstream text;
  text << "member,epoch,train_loss,train_accuracy,val_loss,val_accuracy,learning_rate\n";
  for (int member = 0; member < members; ++member) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
      const double t = double(epoch) / epochs;
      const double noise = 0.02 * std::sin(1.7 * epoch + member);
      text << member << ',' << epoch;
      for (const double value : {1.6 * std::exp(-2.5 * t) + noise, 1.0 - 0.8 * std::exp(-3.0 * t),
                                 1.6 * std::exp(-2.0 * t) + 0.25 * t - noise,
                                 0.9 - 0.7 * std::exp(-4.0 * t) + noise, 1e-3 * (1.0 - t)})
        text << ',' << value;
      text << '\n';
    }
  }
  return app::read_csv(text.str());
}

FoldOutcome outcome_of(const app::CsvTable& table, bool with_confusion) {
  double best = 0.0;
  const app::EpochLog log(table);
  for (const std::size_t row : log.rows_of(0))
    best = std::max(best, log.value(log.rows()[row], "val_accuracy"));
  FoldOutcome one{
      .selected_by = "accuracy", .validation = {{"accuracy", best}}, .test = {{"accuracy", 0.8}}};
  if (with_confusion)
    one.confusion = {.counts = {{40, 2, 3}, {5, 30, 0}, {1, 8, 11}},
                     .classes = {"cat", "dog", "a rather long name of a class"}};
  return one;
}

// For a person to look at, where one wants to.
void keep(const char* name, const std::vector<std::byte>& png) {
  if (const char* folder = std::getenv("HEADRACE_KEEP_PLOTS"))
    std::ofstream(std::string(folder) + '/' + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
}

}  // namespace

TEST_CASE("an axis ends at round numbers and has no more ticks than it may") {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {0.0, 1.0}, {0.213, 0.8874}, {-3.0, 17.0}, {0.99991, 0.99997}, {1e-6, 3e-3}, {5, 9e5}}) {
    for (const int most : {3, 5, 9}) {
      const Axis axis = app::round_axis(low, high, most);
      CAPTURE(low);
      CAPTURE(most);
      const double rounding = 1e-9 * (high - low);
      CHECK(axis.low <= low + rounding);
      CHECK(axis.high >= high - rounding);
      CHECK(static_cast<int>(axis.ticks.size()) <= most);
      CHECK(axis.ticks.size() >= 2);
      const double step = axis.ticks[1] - axis.ticks[0];
      const double mantissa = step / std::pow(10.0, std::floor(std::log10(step) + 1e-9));
      CHECK((std::abs(mantissa - 1) < 1e-6 || std::abs(mantissa - 2) < 1e-6 ||
             std::abs(mantissa - 5) < 1e-6));
    }
  }
  // By rounding alone, without a number for their difference, next to nothing.
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{{0.1, 0.10000000000000002},
                                                                        {0x1p53, 0x1p53 + 4.0},
                                                                        {-1e308, 1e308},
                                                                        {5e-324, 1e-323},
                                                                        {0.0, 1e-310}}) {
    CAPTURE(low);
    const Axis axis = app::round_axis(low, high, 6);
    CHECK(axis.ticks.size() <= 8);
    CHECK(axis.place(low) <= axis.place(high));
    CHECK(std::isfinite(axis.place(high)));
  }
  CHECK(app::round_axis(0.2, 0.9, 6).label(0.2) == "0.2");
  CHECK(app::round_axis(0.21, 0.24, 5).label(0.22) == "0.22");
  const Axis flat = app::round_axis(0.5, 0.5, 5);
  CHECK(flat.low < 0.5);
  CHECK(flat.high > 0.5);
}

TEST_CASE("a canvas shows all that a chart has, and nothing of one without a number") {
  const auto drawn = [](const app::Chart& chart) {
    app::Canvas canvas(400, 300);
    app::draw(canvas, {.width = 400.0, .height = 300.0}, chart);
    return decode(canvas.png());
  };
  const auto inside = [](const Picture& picture, app::Colour colour) {
    return picture.count(colour, 80, 45, 380, 254);
  };
  CHECK(drawn({.title = "loss", .series = {{.points = {{1.0, std::nan("")}}}}})
            .count({255, 255, 255}, 0, 0, 400, 300) == 400 * 300);
  const app::Chart chart{
      .title = "loss",
      .series = {{.name = "train", .points = {{1.0, 1.0}, {2.0, std::nan("")}, {4.0, 2.0}}}},
      .bands = {{.name = "a", .heights = {1.0, std::nan(""), -1.0, 2.0}, .colour = 2}},
      .spans = {{.from = 2.0, .to = 3.0, .colour = 7}},
      .marks = {{.x = 4.0, .y = 2.0, .title = "kept", .colour = 1}},
      .limits = {{.y = 3.5, .name = "all"}}};
  const Picture all = drawn(chart);
  CHECK(inside(all, app::chart_colour(0)) > 20);  // two points by themselves
  CHECK(inside(all, app::chart_colour(1)) > 20);
  CHECK(inside(all, app::chart_colour(2).paler(0.2)) > 5000);
  CHECK(inside(all, app::chart_colour(7).paler(0.8)) > 5000);
  CHECK(inside(all, app::look::ink) > 100);
  CHECK(all.count(app::chart_colour(1), 0, 0, 400, 45) > 20);  // the legend's
  CHECK(inside(drawn({.series = {{.points = {{1e18, 0.5}}}}}), app::chart_colour(0)) > 20);
  app::Chart thinned{.series = {{.points = {{0.0, 0.0}, {10.0, 1.0}}}}};
  thinned.series.front().means = {{0.0, 0.5}, {10.0, 0.5}};
  CHECK(inside(drawn(thinned), app::chart_colour(0)) > 400);
  CHECK(inside(drawn(thinned), app::chart_colour(0).paler(0.75)) > 100);
}

TEST_CASE("a curve is a member's column; an epoch that was done twice counts once") {
  const app::CsvTable table = app::read_csv(
      "member,stage,epoch,val_f1\n1,a,0,0.5\n0,a,0,0.1\n0,a,1,0.2\n0,b,0,nan\n0,b,1,0.4\n"
      "0,a,1,0.25\n1,a,1,\n");
  const app::EpochLog log(table);
  const std::vector<app::ChartSeries> curves = app::column_series(log, "val_f1", "f1", 0);
  REQUIRE(curves.size() == 3);
  REQUIRE(curves[0].points.size() == 3);  // of four epochs one has no number
  CHECK(curves[0].faint);
  CHECK(curves[0].points[1].x == 2.0);
  CHECK(curves[0].points[1].y == 0.25);
  CHECK(curves[0].points[2].x == 4.0);
  CHECK(curves[0].points[2].y == 0.4);
  CHECK(curves[2].name == "f1, mean");
  const std::vector<app::CurvePoint>& mean = curves[2].points;
  REQUIRE(mean.size() == 3);
  CHECK(mean[0].y == doctest::Approx(0.3));
  CHECK(mean[1].y == 0.25);
  CHECK(mean[2].x == 4.0);
  CHECK(app::column_series(log, "val_loss", "loss", 0).empty());
}

TEST_CASE("results.csv has a row for each member, for mean and spread, and for their vote") {
  const FoldOutcome a{.member = "fold 0",
                      .selected_by = "f1",
                      .best_epoch = 3,
                      .validation = {{"f1", 0.5}},
                      .test = {{"f1", 0.25}, {"threshold", 0.125}}};
  FoldOutcome last{
      .member = "fold 1", .selected_by = "f1", .best_epoch = -1, .test = {{"f1", 1.0}}};
  const FoldOutcome vote{.member = "all together", .selected_by = "f1", .test = {{"f1", 0.75}}};
  CHECK(app::results_csv({a, last}, {vote}) ==
        "member,selected_by,best_epoch,val_f1,test_f1,test_threshold\n"
        "fold 0,f1,3,0.5,0.25,0.125\nfold 1,f1,,,1,\nmean,f1,,,0.625,\n"
        "standard deviation,f1,,,0.5303300858899106,\nall together,f1,,,0.75,\n");
  const FoldOutcome hard{
      .member = "all together, hard", .selected_by = "f1", .test = {{"f1", 0.5}}};
  const std::string both = app::results_csv({a, last}, {vote, hard});
  CHECK(both.ends_with("all together,f1,,,0.75,\n\"all together, hard\",f1,,,0.5,\n"));
  last.member.clear();
  CHECK(app::results_csv({last}, {}) == "member,selected_by,best_epoch,test_f1\nrun,f1,,1\n");
}

TEST_CASE("results.png shows both curves, over the whole width where there is no matrix") {
  const app::CsvTable table = metrics(1, 30);
  const auto png = app::results_png(table, {outcome_of(table, false)});
  keep("one.png", png);
  const Picture alone = decode(png);
  CHECK(alone.width == 1200);
  CHECK(alone.height == 800);
  for (const int top : {0, 400}) {
    CHECK(alone.count(app::look::blue, 100, top + 60, 1200, top + 350) > 500);
    CHECK(alone.count(app::look::orange, 100, top + 60, 1200, top + 350) > 500);
    CHECK(alone.count(app::look::blue, 800, top + 60, 1200, top + 350) > 100);
  }
  const auto with_matrix = app::results_png(table, {outcome_of(table, true)});
  keep("matrix.png", with_matrix);
  const Picture both = decode(with_matrix);
  CHECK(both.count(app::look::orange, 700, 60, 1200, 350) == 0);
  CHECK(both.count(app::look::blue.paler(0.95 - 0.95 * 40 / 45.0), 700, 0, 1200, 800) > 1000);
}

TEST_CASE("members of other classes than the vote show the vote's matrix, others their sum") {
  FoldOutcome vote{.member = "all together, soft",
                   .confusion = {.counts = {{4, 0, 0}, {0, 5, 0}, {1, 0, 6}}}};
  FoldOutcome pair{.member = "pair 0 1", .confusion = {.counts = {{2, 1}, {0, 3}}}};
  const auto counts = [](const std::vector<FoldOutcome>& members,
                         const std::vector<FoldOutcome>& votes) {
    return app::confusion_of_test(members, votes).counts;
  };
  const auto& all = vote.confusion.counts;
  CHECK((counts({pair, pair}, {vote}) == all));
  CHECK((counts({vote, vote}, {vote}) ==
         std::vector<std::vector<std::int64_t>>{{8, 0, 0}, {0, 10, 0}, {2, 0, 12}}));
  CHECK((counts({{.member = "without"}}, {vote}) == all));
  // Two pairs of classes: as many, but not the same.
  pair.confusion.classes = {"none", "mild"};
  FoldOutcome other = pair;
  other.confusion.classes = {"none", "severe"};
  CHECK(counts({pair, other}, {}).empty());
  CHECK((counts({pair, other}, {vote}) == all));
  CHECK(app::confusion_of_test({pair, other}, {vote}).title == "confusion matrix, test, vote");

  const app::CsvTable table = metrics(2, 30);
  std::vector<FoldOutcome> outcomes(2, outcome_of(table, false));
  outcomes[0].confusion = pair.confusion;
  outcomes[1].confusion = other.confusion;
  const auto png = app::results_png(table, outcomes, {.votes = {vote}});
  keep("vote.png", png);
  CHECK(decode(png).count(app::look::orange, 700, 60, 1200, 350) == 0);  // no curve: a matrix
}

TEST_CASE("results.png of folds shows their means, of a run without validation what there is") {
  const app::CsvTable folds = metrics(5, 60);
  std::vector<FoldOutcome> outcomes(5, outcome_of(folds, true));
  const auto png = app::results_png(folds, outcomes);
  keep("folds.png", png);
  CHECK(decode(png).count(app::look::blue.paler(0.65), 60, 60, 660, 400) > 100);
  const app::CsvTable bare = app::read_csv(
      "member,epoch,train_loss,learning_rate\n0,0,2.5,0.001\n0,1,1.5,0.001\n0,2,nan,0.001\n");
  const auto short_run = app::results_png(bare, {{.selected_by = "loss"}});
  keep("bare.png", short_run);
  CHECK(decode(short_run).count(app::look::blue, 60, 60, 1200, 400) > 100);
}

TEST_CASE("pictures of the test stand below the charts and in a sheet of the worst") {
  app::Pixels square{.width = 40, .height = 30};
  square.rgb.assign(40 * 30 * 3, 128);
  app::Gallery gallery{.records = 90, .classes = {"ground", "cat"}};
  for (int i = 0; i < 10; ++i)
    gallery.worst.push_back({.file = "a/long/folder/with/a/picture-" + std::to_string(i) + ".jpg",
                             .picture = square,
                             .truth = "cat",
                             .predicted = "dog 0.9" + std::to_string(i),
                             .badness = 0.9});
  gallery.some.assign(gallery.worst.begin(), gallery.worst.begin() + 8);
  const app::CsvTable table = metrics(1, 30);
  const auto png = app::results_png(table, {outcome_of(table, true)}, {.gallery = gallery});
  keep("strip.png", png);
  const Picture all = decode(png);
  CHECK(all.height > 900);
  CHECK(all.count({128, 128, 128}, 0, 800, 1200, all.height) > 8 * 5000);
  CHECK(all.count(app::look::orange, 0, 800, 1200, all.height) > 100);
  keep("worst.png", app::worst_png(gallery));
  CHECK(decode(app::worst_png(gallery)).count({128, 128, 128}, 0, 0, 1200, 800) > 10 * 10000);

  for (app::JudgedPicture& one : gallery.worst) {
    one.true_mask.assign(40 * 30, 0);
    one.predicted_mask.assign(40 * 30, 1);
    one.true_mask[0] = 255;
  }
  const auto masks = app::worst_png(gallery);
  keep("worst_masks.png", masks);
  // 0.6 of the class's colour over the grey, in as many predicted masks.
  CHECK(decode(masks).count({189, 147, 51}, 0, 0, 1200, 1000) > 10 * 5000);
  keep("no_mistake.png", app::worst_png({.records = 7}));
  CHECK(decode(app::worst_png({.records = 7})).height < 100);

  const test::TemporaryFolder folder;
  app::write_results(folder.path(), {{.selected_by = "f1"}}, {.gallery = gallery});
  CHECK(std::filesystem::exists(folder.path() / "worst.png"));
}

TEST_CASE("a run without epochs has a table and no picture") {
  const test::TemporaryFolder folder;
  app::write_results(folder.path(), {{.member = "fold 0", .selected_by = "f1"}}, {});
  CHECK(std::filesystem::exists(folder.path() / "results.csv"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "results.png"));
}
