#include <headrace/apps/task/array_settings.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, ArraySettings& array) {
  fields.tagged(
      "normalise", array.normalise,
      std::vector<Tag<ArrayNormalise>>{
          alternative<NormaliseAsData, ArrayNormalise>(
              "dataset", "", {},
              "by mean and deviation of each feature, of "
              "spectrograms of each channel, over at most "
              "10000 of the records to train on; each fold by those of its own"),
          alternative<NotNormalised, ArrayNormalise>("none", "", {}, "values are left as they are"),
          [] {
            auto values = alternative<NormaliseArraysBy, ArrayNormalise>(
                "values", "",
                [](Fields& f, NormaliseArraysBy& by) {
                  f.key("mean", by.mean, {.doc = "one a feature or channel, or one for all"});
                  f.key("std", by.std, {.doc = "as many", .above = 0.0});
                },
                "by these");
            values.bare = true;
            return values;
          }()},
      {.doc = "mean and deviation that arrays are normalised by: dataset, none, or {mean: [...], "
              "std: [...]}"});
  fields.key(
      "frames", array.frames,
      {.doc = "of spectrograms, along their last axis: of longer ones a window, in training "
              "anywhere, else in the middle; shorter ones are padded; null: all have as many",
       .unit = "frames",
       .min = 1.0,
       .max = 1e6});
  fields.key("fill", array.fill,
             {.doc = "of padded frames, and of cells that spec_augment masks where it says "
                     "nothing; null: the mean that arrays are normalised by"});
}

}  // namespace headrace::inline v1::app
