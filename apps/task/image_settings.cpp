#include <headrace/apps/task/image_settings.h>

#include <utility>

namespace headrace::inline v1::app {

void describe(Fields& fields, ImageSettings& image, bool crops) {
  const auto pixels = [](std::string doc, double least) {
    return KeyOptions{.doc = std::move(doc), .unit = "pixels", .min = least, .max = 4096.0};
  };
  fields.key("size", image.decode.side,
             pixels("of the square that the network sees, and that crops of augment make", 8.0));
  fields.key("resize", image.decode.resize,
             pixels("of the square that whole pictures are decoded to for the list augment; 0: "
                    "size, or the crop that leads the list, made while a picture is decoded",
                    0.0));
  describe_prepare(fields, image.prepare);
  fields.tagged(
      "normalise", image.normalise,
      std::vector<Tag<Normalise>>{
          alternative<NormaliseAsWeights, Normalise>("weights", "", {},
                                                     "as the network's usual weights were trained"),
          alternative<NormaliseAsImageNet, Normalise>("imagenet", "", {}, "by ImageNet's"),
          alternative<NormaliseAsData, Normalise>(
              "dataset", "", {},
              "by those of the training pictures, of at most 1000 of them; each "
              "fold by those of its own"),
          [] {
            auto values = alternative<NormaliseBy, Normalise>(
                "values", "",
                [](Fields& f, NormaliseBy& by) {
                  f.key("mean", by.mean,
                        {.doc = "one a channel, or one for all, of values in 0 to 1"});
                  f.key("std", by.std, {.doc = "as many", .above = 0.0});
                },
                "by these");
            values.bare = true;
            return values;
          }()},
      {.doc = "mean and deviation that pictures are normalised by: weights, imagenet, dataset, or "
              "{mean: [...], std: [...]}"});
  if (crops)
    fields.key("crop", image.crop,
               {.doc = "of the shorter side, what validation, test and predictions look at",
                .above = 0.0,
                .max = 1.0});
  fields.choice("decode", image.decode.decode,
                {{"cpu", Device::Kind::cpu}, {"cuda", Device::Kind::cuda}},
                {.doc = "where JPEG files of training are decoded; cuda: on the first GPU"});
  fields.key("device_share", image.decode.device_share,
             {.doc = "share of the records whose JPEG files the GPU decodes",
              .min = 0.0,
              .max = 1.0,
              .used_if = [&image] { return image.decode.decode == Device::Kind::cuda; },
              .used_when = "image.decode is cuda"});
}

void check(const ImageSettings& image) {
  for (const int side : {image.decode.side, image.decode.resize})
    if (side > 0)
      make_prepare(image.prepare, {FieldSpec::fixed("image", DType::uint8, Shape{side, side, 3})},
                   {});
}

}  // namespace headrace::inline v1::app
