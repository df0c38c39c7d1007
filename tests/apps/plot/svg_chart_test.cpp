#include <headrace/apps/plot/chart.h>
#include <headrace/apps/plot/markup.h>
#include <headrace/apps/plot/svg_hover.h>
#include <headrace/tests/apps/report/tag_balance.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/apps/text_checks.h>

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::app;
using headrace::test::contains;
using headrace::test::count_of;
using headrace::test::fault_of_markup;

namespace {

constexpr const char* hostile = "<script>alert(\"1\")</script> & 'x' \x01\xff";

Chart chart_of(std::vector<CurvePoint> points) {
  return {.title = "loss",
          .below = "epoch",
          .series = {{.name = "train", .points = std::move(points)}}};
}

}  // namespace

TEST_CASE("the checker of tags finds what is wrong") {
  CHECK(fault_of_markup("<p class=\"a\">x &amp; y<br/></p>").empty());
  for (const char* wrong : {"<p>", "<p></b>", "<p>a & b</p>", "<p a=1></p>", "<p>1 < 2</p>",
                            "a > b", "<p title=\"a<b\"></p>", "</p>", "<svg><path></svg>"}) {
    CAPTURE(std::string(wrong));
    CHECK_FALSE(fault_of_markup(wrong).empty());
  }
}

TEST_CASE("a text of a stranger is text in a page, whatever is in it") {
  CHECK(escaped("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(escaped("x\x01\xff\n") == "x\\x01\\xff\\x0a");
  CHECK(escaped("größe 3 µm") == "größe 3 µm");
  CHECK(escaped_lines("a<\n\nb") == "a&lt;\n\nb\n");
}

TEST_CASE("a chart without a number is not drawn") {
  CHECK(to_html(Chart{.title = "nothing"}).empty());
  CHECK(to_html(chart_of({})).empty());
  CHECK(to_html(chart_of({{1.0, std::nan("")}})).empty());
  CHECK(to_html(Chart{.bands = {{.name = "a", .heights = {std::nan("")}}}}).empty());
}

TEST_CASE("a chart is well-formed with everything that it can have, and holds no foreign tag") {
  Chart chart = chart_of({{1.0, 0.5}, {2.0, std::nan("")}, {3.0, 0.25}});
  chart.title = chart.unit = chart.below = hostile;
  chart.series.front().name = hostile;
  chart.bands = {{.name = hostile, .heights = {1.0, 2.0, std::nan(""), -1.0}, .colour = 100}};
  chart.spans = {{.from = 1.0, .to = 2.0, .title = hostile},
                 {.from = 2.0, .to = 3.0, .title = hostile, .colour = 7, .strip = true}};
  chart.marks = {{.x = 2.0, .y = 0.5, .title = hostile}};
  chart.limits = {{.y = 5.0, .name = hostile}};
  const std::string html = to_html(chart);
  CHECK(fault_of_markup(html) == "");
  CHECK_FALSE(contains(html, "<script"));
  CHECK(contains(html, "&lt;script&gt;"));
  CHECK_FALSE(contains(html, "nan"));
  CHECK_FALSE(contains(html, "inf"));
}

TEST_CASE("constants, single points and huge values are drawn") {
  for (const auto& points :
       std::vector<std::vector<CurvePoint>>{{{1.0, 0.0}},
                                            {{1.0, 3.0}, {2.0, 3.0}},
                                            {{0.0, 1e300}, {1.0, -1e300}},
                                            {{0.0, 1e308}, {1.0, -1e308}},
                                            {{-1e308, 0.0}, {1e308, 1.0}},
                                            {{1e18, 0.5}},
                                            {{0x1p53, 0.1}, {0x1p53 + 2.0, 0.1}},
                                            {{0.0, 0.1}, {1.0, 0.1 + 0x1p-56}},
                                            {{5.0, 1e-300}}}) {
    const std::string html = to_html(chart_of(points));
    CHECK(fault_of_markup(html) == "");
    CHECK(contains(html, "class=\"line l0\""));
    CHECK_FALSE(contains(html, "nan"));
  }
}

TEST_CASE("a line stands where its values are, and is broken where there are none") {
  const std::string html =
      to_html(chart_of({{0.0, 0.0}, {10.0, 1.0}, {11.0, std::nan("")}, {20.0, 0.5}}));
  // 52 to 472 along the axis, 186 to 8 up.
  CHECK(contains(html, "d=\"M52 186h0L262 8M472 97h0\""));
}

TEST_CASE("layers stand on each other") {
  const std::string html =
      to_html(Chart{.title = "x",
                    .bands = {{.name = "a", .heights = {1.0, 1.0}},
                              {.name = "b", .heights = {1.0, 3.0}, .colour = 1}}});
  CHECK(contains(html,
                 "class=\"layer f0\" d=\"M52 141.5H262L262 141.5H472L472 186H262L262 186H52Z\""));
  CHECK(
      contains(html, "class=\"layer f1\" d=\"M52 97H262L262 8H472L472 141.5H262L262 141.5H52Z\""));
}

TEST_CASE("each place of a short curve says what is there, of a long one sixty parts do") {
  const Chart few = chart_of({{1.0, 0.5}, {2.0, 0.25}});
  const auto notes = hover_notes(few);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].title == "epoch 1: train 0.5");
  CHECK(notes[1].title == "epoch 2: train 0.25");
  CHECK(notes[0].to == 1.5);
  std::vector<CurvePoint> points;
  for (int i = 0; i < 1000; ++i)
    points.push_back({double(i), double(i % 10)});
  const Chart many = chart_of(points);
  CHECK(hover_notes(many).size() == 60);
  CHECK(hover_notes(many)[0].title == "epoch 0 to 16.65: train 0 to 9");
  CHECK(count_of(to_html(many), "class=\"at\"") == 60);
}

TEST_CASE("the style of charts knows a dark screen and paper") {
  const std::string style = svg_chart_style();
  CHECK(contains(style, "@media screen and (prefers-color-scheme:dark)"));
  CHECK(contains(style, "--c0:#0072b2"));
  CHECK_FALSE(contains(style, "http"));
  CHECK_FALSE(contains(style, "url("));
}

TEST_CASE("an axis of epochs has no halves") {
  const std::string html = to_html(chart_of({{1.0, 0.5}, {2.0, 0.3}, {3.0, 0.2}}));
  CHECK(contains(html, ">2</text>"));
  CHECK_FALSE(contains(html, ">1.5</text>"));
  CHECK(contains(to_html(chart_of({{0.0, 0.5}, {1.25, 0.3}})), ">0.2</text>"));
}

TEST_CASE("a curve that is thinned is its means on a pale ground") {
  Chart chart = chart_of({{0.0, 0.0}, {10.0, 1.0}});
  chart.series.front().means = {{0.0, 0.5}, {10.0, 0.5}};
  const std::string html = to_html(chart);
  CHECK(contains(html, "<path class=\"line l0 ground\" d=\"M52 186h0L472 8\"/>"));
  CHECK(contains(html, "<path class=\"line l0\" d=\"M52 97h0L472 97\"/>"));
}
