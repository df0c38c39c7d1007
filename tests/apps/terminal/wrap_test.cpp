#include <headrace/apps/terminal/text_width.h>

#include <doctest/doctest.h>

using namespace headrace::app;
using Lines = std::vector<std::string>;

TEST_CASE("text is broken at blanks, so that no line is wider than asked") {
  CHECK(wrapped("one two three", 7) == Lines{"one two", "three"});
  CHECK(wrapped("one two three", 100) == Lines{"one two three"});
  CHECK(wrapped("", 10) == Lines{""});
  CHECK(wrapped("  one   two ", 10) == Lines{"one two"});
}

TEST_CASE("a word that is too wide is broken where it must be") {
  CHECK(wrapped("abcdefgh", 3) == Lines{"abc", "def", "gh"});
  CHECK(wrapped("ab cdefgh ij", 4) == Lines{"ab", "cdef", "gh", "ij"});
  CHECK(wrapped("ab", 0) == Lines{"a", "b"});
}

TEST_CASE("wide characters take two columns, and none is cut in pieces") {
  for (const std::string& line : wrapped("日本語日本語 übermäßig", 5))
    CHECK(text_width(line) <= 5);
  CHECK(wrapped("日本", 1) == Lines{"日", "本"});
}

TEST_CASE("control characters do not reach the terminal") {
  CHECK(wrapped("a\x1b[31mb", 20) == Lines{"a?[31mb"});
}

TEST_CASE("a folded line keeps its words whole, and what comes behind the first line is indented") {
  CHECK(folded("one two three", 13) == Lines{"one two three"});
  CHECK(folded("one two three", 9) == Lines{"one two", "  three"});
  CHECK(folded("one /a/long/path two", 8) == Lines{"one", "  /a/long/path", "  two"});
  CHECK(folded("  as it   is", 12) == Lines{"  as it   is"});
  CHECK(folded("", 10) == Lines{""});
}
