#pragma once

// Made by make_loss_values.py, which says by which libraries; not to be edited.
namespace headrace::test::reference {

constexpr double ce_plane = 2.4508731807193;
constexpr double ce_plane_weighted = 2.10292272664885;
constexpr double ce_plane_smoothed = 2.44402932091211;
constexpr double ce_volume = 1.54990478182735;
constexpr double focal_volume = 1.07486009597778;
constexpr double bce_labels = 1.16120208950955;
constexpr double bce_focal = 0.474360734224319;
constexpr double bce_mask_ignored = 1.13348645365861;
constexpr double dice_rows = 0.764621913433075;
constexpr double dice_rows_foreground = 0.765920519828796;
constexpr double dice_batch = 0.764668405056;
constexpr double dice_batch_ignored = 0.788196682929993;
constexpr double dice_rows_ignored = 0.77947324514389;
constexpr double dice_regions = 0.506266117095947;
constexpr double iou_rows = 0.864490271171555;
constexpr double iou_regions = 0.671106727421064;
constexpr double class_precision[] = {0.1875, 0.111111111111111, 0.222222222222222, 0, 0};
constexpr double class_recall[] = {0.461538461538462, 0.0769230769230769, 0.125, 0, 0};
constexpr double class_f1[] = {0.266666666666667, 0.0909090909090909, 0.16, 0, 0};
constexpr double class_iou[] = {0.153846153846154, 0.0476190476190476, 0.0869565217391304, 0, 0};
constexpr double class_accuracy = 0.15;
constexpr double class_balanced_accuracy = 0.165865384615385;
constexpr double class_macro_f1 = 0.103515151515152;
constexpr double class_mean_iou = 0.0576843446408664;
constexpr double class_weighted_f1 = 0.120141414141414;
constexpr double class_qwk = -0.13791861721282;
constexpr double class_auc = 0.445247299419115;
constexpr double class_top5 = 0.7;
constexpr double label_macro_f1 = 0.487179487179487;
constexpr double label_micro_f1 = 0.487394957983193;
constexpr double label_exact_match = 0.05;
constexpr double label_auc = 0.484893483709273;
constexpr double label_best_f1[] = {0.644067796610169, 0.644067796610169, 0.705882352941176};
constexpr double label_best_balanced_accuracy = 0.56516290726817;

}  // namespace headrace::test::reference
