#include <headrace/apps/jobs/camouflage/records.h>

#include <doctest/doctest.h>

using namespace headrace;
using app::cod_name_of;
using app::CodName;

TEST_CASE("a name of COD10K says whether something is hidden, and what") {
  CHECK(cod_name_of("COD10K-CAM-1-Aquatic-1-BatFish-1") ==
        CodName{.super_class = "Aquatic", .sub_class = "BatFish"});
  CHECK(cod_name_of("Train/Image/COD10K-CAM-3-Flying-61-Katydid-4137.jpg") ==
        CodName{.super_class = "Flying", .sub_class = "Katydid"});
  CHECK(cod_name_of("COD10K-CAM-2-Terrestrial-23-Cat-1506.png") ==
        CodName{.super_class = "Terrestrial", .sub_class = "Cat"});
  CHECK(cod_name_of("COD10K-CAM-5-Other-69-Other-5066.jpg") ==
        CodName{.super_class = "Other", .sub_class = "Other"});
  CHECK(cod_name_of("COD10K-CAM-1- Aquatic-3-Bat-242.jpg").super_class == "Aquatic");
}

TEST_CASE("pictures of COD10K without a hidden object may have no sub-class") {
  CHECK(cod_name_of("COD10K-NonCAM-3-Flying-1515.png") ==
        CodName{.camouflaged = false, .super_class = "Flying"});
  CHECK(cod_name_of("COD10K-NonCAM-5-Background-5-Vegetation-4854.jpg") ==
        CodName{.camouflaged = false, .super_class = "Background", .sub_class = "Vegetation"});
}

TEST_CASE("names of CAMO and of other data have a super-class of their own and no sub-class") {
  CHECK(cod_name_of("Images/Test/camourflage_00012.jpg") == CodName{.super_class = "CAMO"});
  CHECK(cod_name_of("animal-1.jpg") == CodName{.super_class = "other"});
  CHECK(cod_name_of("") == CodName{.super_class = "other"});
  CHECK(cod_name_of("COD10K-CAM-good.jpg") == CodName{.super_class = "other"});
  CHECK(cod_name_of("COD10K-OTHER-1-Aquatic-1-BatFish-1") == CodName{.super_class = "other"});
}
