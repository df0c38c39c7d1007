#include <headrace/tests/support/peak_memory.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/training/checkpoint/safetensors.h>
#include <headrace/training/errors.h>

#include "../support/torch_doctest.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/Functions.h>

using headrace::test::TemporaryFolder;

using namespace headrace::training;

namespace {

const std::string minimal_header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
const std::string minimal_data("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8);

std::vector<std::byte> file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  text += header + data;
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

void check_refused(const std::string& header, const std::string& data, const std::string& part) {
  CAPTURE(header);
  try {
    parse_safetensors(file_of(header, data), "hostile");
    FAIL("was accepted");
  } catch (const CheckpointError& error) {
    CHECK(std::string_view(error.what()).starts_with("[safetensors] hostile: "));
    CHECK(std::string_view(error.what()).find(part) != std::string_view::npos);
    INFO(error.what());
  }
}

std::string entry(const std::string& rest) {
  return R"({"a":{)" + rest + "}}";
}

}  // namespace

TEST_CASE("the smallest safetensors file is read byte for byte") {
  const auto bytes = file_of(minimal_header, minimal_data);
  CHECK(bytes.size() == 70);
  CHECK(std::to_integer<int>(bytes[0]) == 0x36);
  const TensorFile file = parse_safetensors(bytes, "minimal");
  REQUIRE(file.tensors.size() == 1);
  CHECK(at::equal(file.tensors.at("a"), at::tensor({1.f, -2.f})));
}

TEST_CASE("the smallest safetensors file is written byte for byte") {
  const auto bytes =
      format_safetensors({.tensors = {{"a", at::tensor({1.f, -2.f})}}, .metadata = {}});
  CHECK((bytes == file_of(minimal_header + "  ", minimal_data)));
}

TEST_CASE("every dtype, empty tensors and scalars come back as they were") {
  TensorFile file;
  for (const at::ScalarType type :
       {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
        at::kChar, at::kByte, at::kUInt16, at::kUInt32, at::kUInt64, at::kBool})
    file.tensors.emplace(c10::toString(type), at::arange(2, at::kLong).to(type).view({1, 2}));
  file.tensors.emplace("scalar", at::full({}, 7.5));
  file.tensors.emplace("empty", at::zeros({3, 0, 2}));
  file.tensors.emplace("transposed", at::arange(6).view({2, 3}).t());
  file.metadata = {{"note", "a \"quoted\" word\n"}};

  const TensorFile back = parse_safetensors(format_safetensors(file), "round trip");
  CHECK((back.metadata == file.metadata));
  REQUIRE(back.tensors.size() == file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    CAPTURE(name);
    const at::Tensor& read = back.tensors.at(name);
    CHECK((read.scalar_type() == tensor.scalar_type()));
    CHECK(read.sizes() == tensor.sizes());
    CHECK(at::equal(read.to(at::kDouble), tensor.to(at::kDouble)));
  }
}

TEST_CASE("the data of a written file begin at a multiple of eight") {
  for (const char* name : {"a", "ab", "abc", "abcdefgh"}) {
    const auto bytes = format_safetensors({.tensors = {{name, at::zeros({1})}}, .metadata = {}});
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    CHECK(length % 8 == 0);
  }
}

TEST_CASE("headers that lie about sizes are refused") {
  check_refused(entry(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), minimal_data,
                "needs 12 bytes");
  check_refused(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), minimal_data + "x",
                "the file has 9");
  check_refused(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), "1234",
                "the file has 4");
  check_refused(entry(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), minimal_data,
                "must begin at byte 0");
  check_refused(entry(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])"),
                minimal_data, "overflows");
  check_refused(entry(R"("dtype":"U8","shape":[4294967296,4294967296,0],"data_offsets":[0,0])"), "",
                "overflows");
  check_refused(entry(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])"),
                minimal_data, "a side of");
  check_refused(entry(R"("dtype":"F99","shape":[2],"data_offsets":[0,8])"), minimal_data,
                "unknown dtype");
  check_refused(entry(R"("dtype":"BOOL","shape":[8],"data_offsets":[0,8])"), minimal_data,
                "other than 0 and 1");
}

TEST_CASE("holes and overlaps between tensors are refused") {
  const auto two = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  CHECK(parse_safetensors(file_of(two("[4,8]", "[0,4]"), minimal_data), "fine").tensors.size() ==
        2);
  check_refused(two("[0,4]", "[0,4]"), "1234", "without hole or overlap");
  check_refused(two("[0,4]", "[2,6]"), "123456", "without hole or overlap");
  check_refused(two("[0,4]", "[5,9]"), "123456789", "without hole or overlap");
  check_refused(two("[1,5]", "[5,9]"), "123456789", "must begin at byte 0");
}

TEST_CASE("headers of another form are refused") {
  check_refused("", "", "must begin with {");
  check_refused("[]", "", "must begin with {");
  check_refused(R"({"a":)", "", "broken at byte");
  check_refused(R"({} {})", "", "broken at byte");
  check_refused(R"({"a":1})", "", "a number where none belongs");
  check_refused(R"({"a":null})", "", "null");
  check_refused(entry(R"("dtype":"F32","shape":[2])"), minimal_data,
                "without dtype, shape or data_offsets");
  check_refused(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"extra":1)"), minimal_data,
                "unknown key");
  check_refused(entry(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), minimal_data,
                "the number -2");
  check_refused(entry(R"("dtype":"F32","shape":[2.5],"data_offsets":[0,8])"), minimal_data,
                "the number 2.5");
  check_refused(entry(R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])"), minimal_data,
                "an array where");
  check_refused(entry(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), minimal_data,
                "a number where");
  check_refused(entry(R"("dtype":["F32"],"shape":[2],"data_offsets":[0,8])"), minimal_data,
                "an array where");
  check_refused(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,9])"), minimal_data,
                "of 3 numbers");
  check_refused(R"({"__metadata__":{"a":{"b":"c"}}})", "", "an object where");
  check_refused(R"({"__metadata__":{"a":1}})", "", "a number where");
  check_refused(R"({"__metadata__":[]})", "", "an array where");
  check_refused(R"({"a":"F32"})", "", "the string");
  check_refused(std::string(R"({"a":)") + std::string(100'000, '{'), "", "broken at byte");
}

TEST_CASE("behind a header there are spaces and nothing else") {
  using std::string_literals::operator""s;
  const auto spaced = file_of(minimal_header + "   ", minimal_data);
  CHECK(parse_safetensors(spaced, "fine").tensors.size() == 1);
  check_refused(minimal_header + "\0"s, minimal_data, "hold no zero");
  check_refused(minimal_header + "\0\0\0\0\0\0\0"s, minimal_data, "hold no zero");
  check_refused(minimal_header + "\0}"s, minimal_data, "hold no zero");
  check_refused(minimal_header + "\n", minimal_data, "spaces alone, got byte 10 at 54");
  check_refused(minimal_header + " \t ", minimal_data, "spaces alone, got byte 9");
  check_refused(minimal_header + "x", minimal_data, "spaces alone");
  check_refused(minimal_header + "{", minimal_data, "spaces alone");
}

TEST_CASE("a sparse file of 4 GB is refused at once, with little memory") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "weights.safetensors";
  const std::uint64_t longest = 100'000'000;
  const std::string length(reinterpret_cast<const char*>(&longest), sizeof longest);
  for (const std::string& start : {std::string(), length, length + "{", length + minimal_header}) {
    CAPTURE(start.size());
    std::ofstream(path, std::ios::binary) << start;
    std::filesystem::resize_file(path, std::uintmax_t{4} << 30);
    CHECK(headrace::test::peak_growth(
              [&] { CHECK_THROWS_AS(read_safetensors(path), CheckpointError); }) < 64 << 20);
  }
}

TEST_CASE("a name that stands twice is refused, on every level") {
  const std::string a = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  check_refused("{" + a + "," + a + "}", "1234", "the name \"a\" twice");
  check_refused(entry(R"("dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4])"), "1234",
                "\"dtype\" twice");
  check_refused(R"({"__metadata__":{"k":"1","k":"2"}})", "", "\"k\" twice");
  check_refused(R"({"__metadata__":{},"__metadata__":{}})", "", "twice");
}

TEST_CASE("a header longer than its file or the limit is refused") {
  auto bytes = file_of(minimal_header, minimal_data);
  const std::uint64_t huge = std::uint64_t{1} << 63;
  std::memcpy(bytes.data(), &huge, sizeof huge);
  CHECK_THROWS_AS(parse_safetensors(bytes, "huge"), CheckpointError);
  CHECK_THROWS_AS(parse_safetensors({bytes.begin(), bytes.begin() + 7}, "short"), CheckpointError);
}

TEST_CASE("no truncation and no flipped byte of a header crashes the reader") {
  const auto whole = file_of(minimal_header, minimal_data);
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_THROWS_AS(
        parse_safetensors({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)},
                          "cut"),
        CheckpointError);
  int accepted = 0;
  for (std::size_t i = 0; i < whole.size() - minimal_data.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto bytes = whole;
      bytes[i] ^= static_cast<std::byte>(1 << bit);
      try {
        parse_safetensors(bytes, "flipped");
        ++accepted;
      } catch (const CheckpointError&) {
      }
    }
  }
  // Other letters in the tensor's name and another type of four bytes are legal files.
  CHECK(accepted > 0);
  CHECK(accepted < 20);
}

TEST_CASE("a file is written and read through the disk") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "weights.safetensors";
  write_safetensors(path, {.tensors = {{"w", at::tensor({1., 2.})}}, .metadata = {{"k", "v"}}});
  const TensorFile file = read_safetensors(path);
  CHECK(at::equal(file.tensors.at("w"), at::tensor({1., 2.})));
  CHECK(file.metadata.at("k") == "v");
  CHECK_THROWS_AS(read_safetensors(folder.path() / "absent"), CheckpointError);
  CHECK_THROWS_AS(read_safetensors(folder.path()), CheckpointError);
}
