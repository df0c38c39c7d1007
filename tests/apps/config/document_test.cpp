#include <headrace/apps/config/document.h>
#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/text_checks.h>

#include <string>

#include <doctest/doctest.h>

using namespace headrace::app;
using headrace::ConfigError;
using headrace::test::contains;

namespace {

std::string document_error(const std::string& text) {
  try {
    parse_document(text, "job.yaml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a document keeps its order, its kinds and its places") {
  const Node root = parse_document("a: 1\nb:\n  - x\n  - \"2\"\nc:\n", "job.yaml");
  REQUIRE(root.kind == Node::Kind::map);
  REQUIRE(root.entries.size() == 3);
  CHECK(root.entries[0].key == "a");
  CHECK(root.entries[0].value.text == "1");
  CHECK(root.entries[0].value.place.text() == "job.yaml:1:4");
  CHECK(root.find("b")->value.items[1].quoted);
  CHECK_FALSE(root.find("b")->value.items[0].quoted);
  CHECK(root.find("b")->place.text() == "job.yaml:2:1");
  CHECK(root.find("c")->value.kind == Node::Kind::null);
  CHECK(parse_document("", "job.yaml").kind == Node::Kind::null);
}

TEST_CASE("a key written twice is an error that names both places") {
  const std::string error = document_error("a: 1\nb: 2\na: 3\n");
  CHECK(contains(error, "job.yaml:3:1"));
  CHECK(contains(error, "key \"a\" is written twice, first at job.yaml:1:1"));
}

TEST_CASE("broken YAML is refused with its place") {
  CHECK(contains(document_error("a: [1, 2\nb: 3\n"), "[config] job.yaml:"));
  CHECK(contains(document_error("a: 1\n\tb: 2\n"), "must be YAML"));
  CHECK(contains(document_error("a: 1\n---\nb: 2\n"), "one document"));
  CHECK(contains(document_error("a: !!python/object x\n"), "tags are not supported"));
  CHECK(contains(document_error("[1, 2]: x\n"), "a key must be a word"));
}

TEST_CASE("an alias is a copy") {
  const Node root = parse_document("a: &one {x: 1}\nb: *one\n", "job.yaml");
  CHECK(root.find("b")->value.find("x")->value.text == "1");
}

TEST_CASE("a bomb of aliases is refused before it grows") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k)
      bomb += (k > 0 ? ", " : "") + last;
    bomb += "]\n";
  }
  CHECK(contains(document_error(bomb), "aliases written out"));
  CHECK(contains(document_error("a: &a [*a]\n"), "an alias must not stand inside what it names"));
}

TEST_CASE("depth, length and number of values are limited") {
  CHECK(document_error(std::string(64, '[') + std::string(64, ']')) == "no error");
  CHECK(contains(document_error(std::string(65, '[') + std::string(65, ']')), "at most 64 levels"));
  CHECK(contains(document_error(std::string(200'000, '[')), "at most 64 levels"));
  CHECK(contains(document_error(std::string((1 << 20) + 1, ' ')), "at most 1048576 bytes"));
  std::string many;
  for (int i = 0; i < 20'000; ++i)
    many += "k" + std::to_string(i) + ": 1\n";
  CHECK(contains(document_error(many), "at most 20000 values"));
}

TEST_CASE("depth is also limited through aliases") {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i <= 70; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
            "]\n";
  }
  CHECK(contains(document_error(text), "at most 64 levels"));
}

TEST_CASE("an override sets a value, makes the sections on its way and the later one wins") {
  Node root = parse_document("train:\n  lr: 1\n", "job.yaml");
  apply_override(root, "train.lr=2");
  apply_override(root, "train.lr=3");
  apply_override(root, "new.part.x=[1, 2]");
  apply_override(root, "name=a=b");
  CHECK(root.find("train")->value.find("lr")->value.text == "3");
  CHECK(root.find("train")->value.find("lr")->place.text() == "--set train.lr=3");
  CHECK(root.find("new")->value.find("part")->value.find("x")->value.items.size() == 2);
  CHECK(root.find("name")->value.text == "a=b");
}

TEST_CASE("an override reaches into a list by number") {
  Node root = parse_document("stages: [{lr: 1}, {lr: 2}]\n", "job.yaml");
  apply_override(root, "stages.1.lr=5");
  CHECK(root.find("stages")->value.items[1].find("lr")->value.text == "5");
  CHECK_THROWS_AS(apply_override(root, "stages.2.lr=5"), ConfigError);
  CHECK_THROWS_AS(apply_override(root, "stages.x=5"), ConfigError);
}

TEST_CASE("an override without a key or an equals sign is refused") {
  Node root;
  for (const char* text : {"", "a", "=1", "a..b=1", ".a=1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(apply_override(root, text), ConfigError);
  }
}

TEST_CASE("an override makes no document deeper than the limit") {
  const DocumentLimits limits{.depth = 4};
  Node root = parse_document("a: 1", "job.yaml", limits);
  apply_override(root, "a.b.c=[1]", limits);
  CHECK(to_yaml(parse_document(to_yaml(root), "written", limits)) == to_yaml(root));
  CHECK_THROWS_WITH_AS(
      apply_override(root, "a.b.c=[[1]]", limits),
      "[config] --set a.b.c=[[1]]: must be at most 4 levels deep, 3 of them its key's",
      ConfigError);
}

TEST_CASE("three dots, which end a document at the start of a line, are quoted") {
  for (const char* text : {"\"...\"", "\"... x\"", "  ...", "  ... x"}) {
    CAPTURE(text);
    const Node root = parse_document(text, "job.yaml");
    CHECK(parse_document(to_yaml(root), "written").text == root.text);
  }
}

TEST_CASE("a file that is not there or is a folder is refused by name") {
  CHECK_THROWS_WITH_AS(read_document("/nowhere/job.yaml"),
                       "[config] /nowhere/job.yaml: cannot be read; check the path", ConfigError);
  CHECK_THROWS_WITH_AS(read_document("/tmp"), "[config] /tmp: must be a file, got a folder",
                       ConfigError);
}

TEST_CASE("a plain word that a line in brackets would divide is quoted there") {
  for (const std::string text :
       {"- a, b\n- c\n", "- a]\n- b\n", "- \"a\n\n\n  b\"\n", "- a\n\n  b\n- c\n", "- a?\n- b\n",
        "- a\n- b:c\n", "- a?b\n", "[a:, b:]", "[-, {b: c}]", "[-, -x]", "[-1, -.5, +2]"}) {
    CAPTURE(text);
    const Node list = parse_document(text, "job.yaml");
    const Node again = parse_document(to_yaml(list), "written");
    REQUIRE(again.items.size() == list.items.size());
    for (std::size_t i = 0; i < list.items.size(); ++i)
      CHECK(again.items[i].text == list.items[i].text);
  }
}

TEST_CASE("control characters are refused with their line, an override's too") {
  for (const char letter : {'\0', '\x01', '\x04', '\x1f', '\x7f'}) {
    const std::string text = std::string("a: 1\nb: \"x") + letter + "y\"\n";
    CHECK_THROWS_WITH_AS(parse_document(text, "job.yaml"),
                         doctest::Contains("job.yaml: must be UTF-8 text"), ConfigError);
    CHECK_THROWS_WITH_AS(parse_document(text, "job.yaml"), doctest::Contains("in line 2"),
                         ConfigError);
    Node document = parse_document("a: 1", "job.yaml");
    CHECK_THROWS_AS(apply_override(document, std::string("a=") + letter), ConfigError);
  }
  CHECK(parse_document("a:\t1\r\nb: \xc3\xa4\r\n", "job.yaml").find("a")->value.text == "1");
}

TEST_CASE("a plain word that ends with a carriage return keeps it") {
  const Node map = parse_document("x: a\r", "job.yaml");
  REQUIRE(map.find("x")->value.text == "a\r");
  CHECK(parse_document(to_yaml(map), "written").find("x")->value.text == "a\r");
}

TEST_CASE("a key of any length and any bytes is read back as it was written, in a line too") {
  for (const std::size_t length : {1, 200, 1000, 1022, 1023, 1024, 1025, 5000}) {
    for (const char letter : {'k', '\x01', ':'}) {
      for (const char* value : {"1", "{a: {b: [1, {c: 2}]}}", "[1, 2]", "[{a: 1}, {b: 2}]", "\n"}) {
        const std::string key(length, letter);
        CAPTURE(length);
        CAPTURE(letter);
        CAPTURE(value);
        Node document = parse_document("before: 1\nx: {}\nlist: [{}]", "job.yaml");
        for (const char* place : {"", "x.", "list.0."})
          apply_override(document, place + key + "=" + value);
        const Node again = parse_document(to_yaml(document), "written");
        CHECK(to_yaml(again) == to_yaml(document));
        REQUIRE(again.find(key) != nullptr);
        REQUIRE(again.find("x")->value.find(key) != nullptr);
        CHECK(again.find("list")->value.items[0].find(key) != nullptr);
        const Node in_line = parse_document(to_flow_yaml(document), "written");
        REQUIRE(in_line.find(key) != nullptr);
        CHECK(to_flow_yaml(in_line) == to_flow_yaml(document));
      }
    }
  }
}
