#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/text_width.h>

#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

using namespace headrace::app;

TEST_CASE("a table lines up its columns and leaves no blanks at line ends") {
  Table table({{"stage", Align::left}, {"samples/s"}, {"note", Align::left}});
  table.row({"read", "12.3 k", "io"}).row({"décode", "812"});
  CHECK(table.text() ==
        "stage   samples/s  note\n"
        "------  ---------  ----\n"
        "read       12.3 k  io\n"
        "décode        812\n");
  CHECK(table.text(2).starts_with("  stage"));
}

TEST_CASE("a table refuses more cells than columns") {
  Table table({{"a"}});
  CHECK_THROWS_AS(table.row({"1", "2"}), std::invalid_argument);
  CHECK_THROWS_AS(Table({}), std::invalid_argument);
}

TEST_CASE("a table of rows that come one by one has fixed columns, and cuts what is wider") {
  const RowTable table({{.heading = "epoch", .width = 5, .align = Align::left},
                        {.heading = "train", .width = 6, .group = "accuracy"},
                        {.heading = "val", .width = 6, .group = "accuracy"},
                        {.heading = "val", .width = 6, .group = "a name of many words"}});
  CHECK(table.width() == 29);
  CHECK(table.head() ==
        "             accuracy  a nam…\n"
        "epoch   train     val     val\n"
        "-----------------------------\n");
  CHECK(table.row({"1", "0.5", "123456789", "0.25"}) == "1         0.5  12345…    0.25\n");
  CHECK(table.row({"2"}) == "2\n");
  CHECK(table.row({"1", "", "", "", "more"}) == "1\n");
  CHECK(RowTable({{.heading = "a", .width = 2}}).head() == " a\n--\n");
}

TEST_CASE("width counts columns, not bytes") {
  CHECK(text_width("abc") == 3);
  CHECK(text_width("µs·é") == 4);
  CHECK(text_width("日本") == 4);
  CHECK(text_width("e\xcc\x81") == 1);
  CHECK(text_width("\xff\xfe") == 2);
}

TEST_CASE("text is cut to its columns and loses its control characters") {
  CHECK(clean_text("abcdef", 6) == "abcdef");
  CHECK(clean_text("abcdef", 5) == "abcd…");
  CHECK(clean_text("日本語", 5) == "日本…");
  CHECK(clean_text("日本語", 4) == "日…");
  CHECK(clean_text("a\x1b[2Jb\r\n\xff") == "a?[2Jb???");
  CHECK(clean_text("abc", 0).empty());
}
