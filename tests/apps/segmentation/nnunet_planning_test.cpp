// A folder of nnU-Net's raw layout, planned as a whole.
#include <headrace/apps/jobs/segmentation/nnunet_planning.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::app {

TEST_CASE("a raw data set of nnU-Net is looked at, planned and described") {
  const test::NnUNetRawFiles files;
  NnUNetPlanning planning = plan_nnunet_data(files.path());
  CHECK(planning.plans.normalization_schemes ==
        std::vector<std::string>{"CTNormalization", "ZScoreNormalization"});
  // 55 % of an image are left without what is 0.
  CHECK(planning.plans.use_mask_for_norm == std::vector<bool>{false, true});
  std::vector<std::string> lines = describe(planning);
  REQUIRE(lines.size() > 6);
  CHECK(lines[0] == "cases to train on: 4; channels: 2; files: .nii.gz");
  CHECK(lines[1] ==
        "images of a median of 8.5x18x19.5 voxels (z, y, x; 55 % of the files, the rest is 0), "
        "2.5 to 5.5 x 0.75 x 0.8 mm apart");
  CHECK(lines[2] == "classes: organ (1) in 3 cases, tumour (2) in 3 cases");
  CHECK(lines[3].starts_with("channel 0 (CT): foreground 170.2 ± 74.31, 99 % of it -91 to 293"));
  CHECK(lines[5].starts_with("2d          patch 20x20, batch "));
  CHECK(lines[6].starts_with("3d_fullres  patch "));

  CHECK(lines.back() ==
        "3d_fullres: patch as large as the median image: the network sees all of it; batch the "
        "least: a batch needs two");

  planning.raw.labels[1].values = {1, 2};
  planning.raw.ignore = 3;
  planning.fingerprint.displaced.assign(7, "somewhere");
  lines = describe(planning.raw, planning.fingerprint);
  CHECK(lines[2] ==
        "regions: organ (1+2) in at least 3 cases, tumour (2) in 3 cases, 3 counts nowhere");
  CHECK(lines.back() ==
        "7 cases have a channel or label whose header places it elsewhere than the first channel "
        "(somewhere, somewhere, somewhere, somewhere, somewhere, ...): look at one of them");
}

}  // namespace headrace::app
