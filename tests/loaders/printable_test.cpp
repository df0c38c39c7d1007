#include <headrace/loaders/file/printable.h>

#include <string>

#include <doctest/doctest.h>

using headrace::detail::printable;

TEST_CASE("what is seen stays as it is, in every script") {
  for (const std::string text :
       {"plain name.jpg", "größe µ", "日本語", "e\xcc\x81", "\xf0\x9f\x90\xb1", ""})
    CHECK(printable(text) == text);
}

TEST_CASE("what would act on a terminal becomes its bytes in hex") {
  CHECK(printable("a\x1b[2Jb\r\n\t\x7f") == "a\\x1b[2Jb\\x0d\\x0a\\x09\\x7f");
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\xc2\x80\xc2\x9b\xc2\x9f") == "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f");
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");
  for (const std::string mark :
       {"\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9", "\xe2\x80\x8e",
        "\xe2\x80\x8f", "\xd8\x9c", "\xe2\x80\xa8", "\xe2\x80\xa9"}) {
    const std::string shown = printable("gpj" + mark + "exe");
    CHECK(shown.starts_with("gpj\\x"));
    CHECK(shown.ends_with("exe"));
    CHECK(shown.find(mark) == std::string::npos);
  }
}

TEST_CASE("bytes that are no UTF-8 become hex one by one") {
  CHECK(printable("a\x9b\x33mb") == "a\\x9b3mb");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xc3") == "\\xc3");
  CHECK(printable("\xe2\x80") == "\\xe2\\x80");
  CHECK(printable("\xc0\x80") == "\\xc0\\x80");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");
}

TEST_CASE("a long text is cut between characters, and says so") {
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdefg", 6) == "abcdef...");
  CHECK(printable("ab日本", 6) == "ab日...");
  CHECK(printable(std::string(10'000'000, 'x')).size() == 4099);
  CHECK(headrace::detail::quoted(std::string(10'000'000, 'x')).size() == 205);
  CHECK(headrace::detail::quoted("a\"b") == "\"a\"b\"");
  CHECK(printable(std::string(300, '\x01')).size() == 1200);
}

TEST_CASE("a name can be had back from what is printed of it") {
  using std::string_literals::operator""s;
  for (const std::string& name :
       {"a.png"s, "new\nline"s, "\xf1.png"s, "\\x41"s, "\\x0a\n\\\n\\x4\xff"s, "a\\b\\xzz"s,
        "\xc2\x9b e\xcc\x81"s, std::string(5000, '\x01')})
    CHECK(headrace::name_of_printable(headrace::printable_name(name)) == name);
  CHECK(headrace::printable_name("cat\\x41\n") == "cat\\x5cx41\\x0a");
  CHECK(headrace::name_of_printable("cut \\x4") == "cut \\x4");
}
