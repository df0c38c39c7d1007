#include <headrace/tests/fuzz/seeds.h>
#include <headrace/tests/support/source_folder.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace headrace::test {
namespace {

StoredInput manifest(std::string name, unsigned char how, std::string_view text) {
  return {std::move(name), bytes_of(std::string(1, static_cast<char>(how)).append(text))};
}

}  // namespace

std::vector<StoredInput> manifest_seeds() {
  return {
      manifest("paths", 0, "path\na.jpg\nb.png\nd/c.jpg\n"),
      manifest("all columns", 4,
               "image,mask,label,group,weight,split\r\n"
               "a.jpg,b.png,cat,p1,1.5,train\r\n\"d/c.jpg\",d/e.png,\"d\"\"og\",p2,0,test\r\n"),
      manifest("tabs", 5, "path\tlabel\nd/c.jpg\t3\na.jpg\t1\n"),
      manifest("fixed classes", 8, "path,label\na.jpg,a\nb.png,c\n"),
      manifest("several classes", 16, "path,label\na.jpg,x;y\nb.png,\nd/c.jpg,y\n"),
      manifest("flags", 32, "path,a,b\na.jpg,0,1\nb.png,1,1\n"),
      manifest("other names", 64 + 128, "file,share\na.jpg,0.25\nb.png,3e-2\n"),
      manifest("lines", 2,
               "{\"path\":\"a.jpg\",\"label\":\"x\",\"group\":1,\"weight\":0.5}\n"
               "{\"path\":\"b.png\",\"label\":\"y\",\"group\":2,\"weight\":2}\n"),
      manifest("lines of flags", 2 + 32,
               "{\"path\":\"a.jpg\",\"a\":1,\"b\":0}\n{\"path\":\"d/e.png\",\"a\":0,\"b\":0}\n"),
      manifest("lines with masks", 2 + 4 + 16,
               "{\"path\":\"a.jpg\",\"mask\":\"b.png\",\"label\":\"x;y\",\"split\":\"val\"}\n"),
  };
}

std::vector<StoredInput> yaml_seeds() {
  std::vector<StoredInput> inputs{
      {"every key", bytes_of("shuffle: no\nepochs: 3\nseed: 18446744073709551615\nrate: 1e-4\n"
                             "share: 0.25\nname: 'a: b'\nfolder: /data\nmemory: 2GiB\n"
                             "limit: 90s\nthreads: null\nsteps: [{flip: 0.5}, {rotate: {by: 10}}]\n"
                             "data:\n  weights: [1, .5]\n  classes: [\"null\", '-x']\n"
                             "  size: [1, 2]\n  kind: two\n  entry: {a: [1, {b: c}]}\n")},
      {"override", bytes_of(std::string_view("data: {size: [1, 2]}\0data.size.1=5", 35))},
      {"anchors", bytes_of("a: &x [1, 2]\nb: *x\nc: &y {k: *x}\nd: [*y, *y]\n")},
      {"blocks", bytes_of("a: |\n  line\n  line\nb: >-\n  folded\n  text\nc: \"\\x41\\n\"\n")},
  };
  namespace fs = std::filesystem;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(headrace::test::source_folder()) / "configs")) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    inputs.push_back({entry.path().filename().string(), bytes_of(text)});
  }
  return inputs;
}

}  // namespace headrace::test
