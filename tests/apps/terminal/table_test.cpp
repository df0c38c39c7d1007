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

TEST_CASE("a table is not as wide as the longest name that comes") {
  const std::string name(10'000'000, 'x');
  Table table({{name, Align::left}, {"label"}});
  table.row({name, "1"}).row({"short", "2"});
  const std::string text = table.text();
  CHECK(text.size() < 5 * (Table::widest_cell + 20));
  CHECK(text.find(std::string(Table::widest_cell - 1, 'x') + "…      1") != std::string::npos);
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
  CHECK(clean_text("\xc2\x9b\xe2\x80\xaegpj.exe\xe2\x81\xa9") == "??gpj.exe?");
  CHECK(text_width("\xe2\x80\xae") == 1);
}

TEST_CASE("a message keeps its lines and nothing that acts on a terminal") {
  CHECK(clean_message("first\nsecond\n") == "first\nsecond\n");
  CHECK(clean_message("a\x1b[31m\xc2\x9b\r\nb\xff") == "a\\x1b[31m\\xc2\\x9b\\x0d\nb\\xff");
  CHECK(clean_message(std::string(10'000'000, 'x')).size() < 5000);
  const std::string many = clean_message(std::string(10'000'000, '\n'));
  CHECK(many == std::string(200, '\n') + "...");
  CHECK(clean_message("").empty());
}
