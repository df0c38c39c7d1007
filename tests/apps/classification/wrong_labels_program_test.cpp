// Lists, folders and splits that nobody can train on.
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/training_runs.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::test::TrainingFolder;
using headrace::test::WrongData;

namespace fs = std::filesystem;

// "pictures/a/0.png" and so on.
std::string picture(int i) {
  return std::string("pictures/") + (i % 2 == 0 ? "a/" : "b/") + std::to_string(i) + ".png";
}

// A list whose lines after the first are written by `line`; one line may be another.
struct List {
  std::string header = "image,label,patient\n";
  std::function<std::string(int)> line = [](int i) {
    return picture(i) + (i % 2 == 0 ? ",cat,p" : ",dog,p") + std::to_string(i / 4) + "\n";
  };
  int other = -1;
  std::string text{};
  std::string file = "list.csv";
};

// Writes it in place of the good one.
std::function<void(const fs::path&)> listed(List list) {
  return [list = std::move(list)](const fs::path& folder) {
    std::ofstream out(folder / list.file);
    out << list.header;
    for (int i = 0; i < 24; ++i)
      out << (i == list.other ? list.text : list.line(i));
  };
}

void check_refused(const WrongData& wrong, const std::string& train) {
  const TrainingFolder folder;
  headrace::test::write_png_pictures(folder.path() / "pictures", 24);
  listed({})(folder.path());
  if (wrong.spoil) wrong.spoil(folder.path());
  std::ofstream(folder.path() / "job.yaml")
      << "kind: classification\ndata: {train: " << train << "}\n";
  folder.check_refused(wrong);
}

std::string numbers(int i) {
  return picture(i) + "," + std::to_string(i % 2) + "\n";
}

std::string both(int i) {
  return picture(i) + (i % 2 == 0 ? ",1,0\n" : ",0,1\n");
}

std::string with_split(int i) {
  return picture(i) + (i % 2 == 0 ? ",cat," : ",dog,") +
         (i < 16   ? "train"
          : i < 20 ? "validation"
                   : "test") +
         "\n";
}

}  // namespace

TEST_CASE("lists that cannot be learnt from are refused before the first step") {
  const std::vector<WrongData> all{
      {"no such list",
       {},
       {"data.train.file=lits.csv"},
       {"data.train.file", "lits.csv", "did you mean list.csv?"}},
      {"another kind of file",
       [](const fs::path& folder) { std::ofstream(folder / "list.xlsx") << "no"; },
       {"data.train.file=list.xlsx"},
       {"list.xlsx", ".csv, .tsv, .jsonl"}},
      {"a folder",
       {},
       {"data.train.file=pictures"},
       {"data.train.file must be a file, got the folder pictures"}},
      {"empty",
       [](const fs::path& folder) { std::ofstream(folder / "list.csv") << ""; },
       {},
       {"list.csv", "first line must name the columns"}},
      {"only a header",
       [](const fs::path& folder) { std::ofstream(folder / "list.csv") << "image,label\n"; },
       {},
       {"list.csv", "must list a file"}},
      {"no column of labels",
       listed({.header = "image,lable,patient\n"}),
       {"data.train.columns={label: label}"},
       {"\"label\"", "\"lable\""}},
      {"no labels at all",
       listed({.header = "image,breed,patient\n"}),
       {},
       {"list.csv", "must have a class for every record"}},
      {"a field too few",
       listed({.other = 5, .text = "pictures/b/5.png\n"}),
       {},
       {"list.csv:7", "got 1"}},
      {"a field too many",
       listed({.other = 5, .text = "pictures/b/5.png,dog,p1,x\n"}),
       {},
       {"list.csv:7", "must have 3 fields, got 4"}},
      {"no label in a line",
       listed({.other = 5, .text = "pictures/b/5.png,,p1\n"}),
       {},
       {"list.csv:7", "label"}},
      {"a quote that does not end",
       listed({.other = 23, .text = "\"pictures/b/5.png,dog,p1\n"}),
       {},
       {"list.csv", "a quoted field must end"}},
      {"a picture that is not there",
       listed({.other = 5, .text = "pictures/b/55.png,dog,p1\n"}),
       {},
       {"list.csv:7", "55.png", "cannot be found"}},
      {"no picture",
       listed({.other = 5, .text = ",dog,p1\n"}),
       {},
       {"list.csv:7", "must name a file"}},
      {"a picture above the folder",
       listed({.other = 5, .text = "../5.png,dog,p1\n"}),
       {},
       {"list.csv:7", ".."}},
      {"a folder as a picture",
       listed({.other = 5, .text = "pictures/a,dog,p1\n"}),
       {},
       {"list.csv:7", "must be a regular file"}},
      {"a part that is none",
       listed({.header = "image,label,split\n",
               .line = with_split,
               .other = 5,
               .text = "pictures/b/5.png,dog,tset\n"}),
       {},
       {"list.csv:7", "tset"}},
      {"a picture in two parts",
       listed({.header = "image,label,split\n",
               .line = with_split,
               .other = 23,
               .text = "pictures/b/5.png,dog,test\n"}),
       {},
       {"5.png", "must be in one split"}},
      {"a column and shares",
       listed({.header = "image,label,split\n", .line = with_split}),
       {"data.split.folds=3"},
       {"data.split.folds", "says in a column"}},
      {"patients by a name that is none",
       {},
       {"data.train.columns={group: pateint}"},
       {"\"pateint\"", "\"patient\""}},
      {"groups that the list does not tell",
       {},
       {"data.split.group=pateint"},
       {"pateint", "patient"}},
      {"one class",
       listed({.line = [](int i) { return picture(i) + ",cat,p\n"; }}),
       {},
       {"two classes", "cat"}},
      {"a number that is no class",
       listed({.header = "image,label\n",
               .line = numbers,
               .other = 5,
               .text = "pictures/b/5.png,-3\n"}),
       {},
       {"list.csv", "whole numbers must be 0 or more, got -3"}},
      {"a number far off",
       listed({.header = "image,label\n",
               .line = numbers,
               .other = 5,
               .text = "pictures/b/5.png,700\n"}),
       {},
       {"every class must have a record"}},
      {"several classes, a column misspelt",
       listed({.header = "image,cat,dog\n", .line = both}),
       {"data.train.columns={labels: [cat, dgo]}"},
       {"\"dgo\"", "\"dog\""}},
      {"several classes, a two",
       listed({.header = "image,cat,dog\n",
               .line = both,
               .other = 5,
               .text = "pictures/b/5.png,2,0\n"}),
       {"data.train.columns={labels: [cat, dog]}"},
       {"list.csv:7", "0 or 1", "2"}},
      {"several classes, one way too many",
       listed({.header = "image,cat,dog\n", .line = both}),
       {"data.train.columns={labels: [cat, dog], label: cat}"},
       {"label"}},
      {"a key misspelt",
       {},
       {"data.train.colums={label: label}"},
       {"did you mean \"data.train.columns\"?"}},
      {"more patients than pictures allow",
       listed(
           {.line = [](int i) { return picture(i) + (i % 2 == 0 ? ",cat,p" : ",dog,p") + "\n"; }}),
       {"data.split.group=patient"},
       {"in 1 group that stays whole", "data.split.group"}},
      {"more folds than patients",
       {},
       {"data.split.group=patient", "data.split.folds=9"},
       {"data.split.folds", "in 6 groups", "fewer folds"}},
      {"another list to test on, with other classes",
       [](const fs::path& folder) {
         listed(
             {.line = [](int i) { return picture(i) + (i % 2 == 0 ? ",cat,p" : ",cow,q") + "\n"; },
              .file = "test.csv"})(folder);
       },
       {"data.test={source: manifest, file: test.csv}"},
       {"test.csv", "cow"}},
      {"tested on what is trained on",
       {},
       {"data.test={source: manifest, file: list.csv}"},
       {"data.test", "data.train"}},
      {"a patient of the training in another list to test on",
       [](const fs::path& folder) {
         List others;
         others.file = "test.csv";
         listed(std::move(others))(folder);
       },
       {"data.split.group=patient", "data.test={source: manifest, file: test.csv}"},
       {"data.test", "other groups than data.train", "\"p0\""}},
      {"JSON that is none",
       [](const fs::path& folder) {
         std::ofstream(folder / "list.jsonl") << R"({"image": "pictures/a/0.png", "label": "cat")";
       },
       {"data.train.file=list.jsonl"},
       {"list.jsonl:1", "must be a JSON object"}},
      {"JSON whose labels change their kind",
       [](const fs::path& folder) {
         std::ofstream(folder / "list.jsonl") << R"({"image": "pictures/a/0.png", "label": "cat"})"
                                              << "\n"
                                              << R"({"image": "pictures/b/1.png", "label": 1})"
                                              << "\n";
       },
       {"data.train.file=list.jsonl"},
       {"list.jsonl:2", "label"}},
  };
  for (const WrongData& wrong : all)
    check_refused(wrong, "{source: manifest, file: list.csv}");
}

TEST_CASE("folders that cannot be learnt from are refused before the first step") {
  const std::vector<WrongData> all{
      {"a class of nothing",
       [](const fs::path& folder) { fs::create_directories(folder / "pictures/c"); },
       {},
       {"pictures/c", "must hold"}},
      {"one class",
       [](const fs::path& folder) { fs::remove_all(folder / "pictures/b"); },
       {},
       {"two classes", "a"}},
      {"a folder that is nearly there",
       {},
       {"data.train.folder=picture"},
       {"data.train.folder", "did you mean pictures?"}},
      {"a list as a folder",
       {},
       {"data.train.folder=list.csv"},
       {"data.train.folder must be a folder, got the file list.csv"}},
      {"no classes", {}, {"data.train.folder=pictures/a"}, {"must hold one folder per class"}},
      {"other classes to test on",
       [](const fs::path& folder) {
         fs::create_directories(folder / "test/a");
         fs::copy(folder / "pictures/b", folder / "test/c");
         fs::copy_file(folder / "pictures/a/0.png", folder / "test/a/0.png");
       },
       {"data.test={folder: test}"},
       {"test", "c"}},
      {"tested on what is trained on",
       {},
       {"data.test={folder: pictures}"},
       {"data.test", "data.train"}},
      {"too few for the shares",
       [](const fs::path& folder) {
         for (int i = 2; i < 24; ++i)
           fs::remove(folder / picture(i));
       },
       {},
       {"data.split"}},
      {"a batch of more than there are",
       {},
       {"training.batch=64"},
       {"training.batch must be at most the number of records", "got 64"}},
  };
  for (const WrongData& wrong : all)
    check_refused(wrong, "{folder: pictures}");
}
