// Rows of the update rules (solvers/update/rules.h) and of the learning rate policies
// (solvers/update/lr_policy.cc), and the other fields of solvers.
#include "tests/random/field_text.h"
#include "tests/random/source_row.h"

namespace doppio {
namespace {

// ---- Rules -------------------------------------------------------------------------------------

std::string DrawMomentum(Draw* draw) {
  return FieldText("momentum", draw->Of<double>({0, 0.5, 0.9, 0.9, 0.95}));
}

std::string DrawMomentumPolicy(Draw* draw) {
  if (draw->Chance(0.6)) return "";
  const std::string policy = draw->Of<std::string>({"fixed", "poly", "opt"});
  std::string text = QuotedText("momentum_policy", policy);
  text += Maybe(draw, 0.6, RealText(draw, "max_momentum", 0.5, 0.99));
  text += Maybe(draw, 0.5, RealText(draw, "momentum_power", 0.5, 2));
  return text;
}

// Draws rates that follow from norms.
std::string DrawLocalRate(Draw* draw) {
  const int64_t kind = draw->Int(0, 3);
  std::string text;
  if (kind == 2) {
    text += FieldText("larc", true);
    text += Maybe(draw, 0.6, QuotedText("larc_policy", draw->Of<std::string>({"scale", "clip"})));
    text += Maybe(draw, 0.5, RealText(draw, "larc_eta", 0.001, 0.1));
    text += Maybe(draw, 0.1, FieldText("larc_turbo", true));  // without effect
  } else if (kind == 3) {
    text += FieldText("local_lr_auto", true);
    text += Maybe(draw, 0.5, RealText(draw, "local_gw_ratio", 0.001, 0.1));
  }
  return text;
}

std::string DrawDelta(Draw* draw) {
  return Maybe(draw, 0.7, FieldText("delta", draw->Of<double>({1e-6, 1e-4, 1e-2, 1})));
}

std::string DrawSgd(Draw* draw) {
  std::string text = Maybe(draw, 0.8, DrawMomentum(draw));
  text += DrawMomentumPolicy(draw);
  text += DrawLocalRate(draw);
  return text;
}

std::string DrawSag(Draw* draw) {
  std::string text = Maybe(draw, 0.8, DrawMomentum(draw));
  text += DrawMomentumPolicy(draw);
  return text;
}

std::string DrawAdaGrad(Draw* draw) {
  std::string text = DrawDelta(draw);
  text += Maybe(draw, 0.1, FieldText("momentum", 0));
  return text;
}

std::string DrawRmsProp(Draw* draw) {
  std::string text = DrawDelta(draw);
  text += Maybe(draw, 0.7, FieldText("rms_decay", draw->Of<double>({0, 0.5, 0.9, 0.98})));
  return text;
}

std::string DrawAdaDelta(Draw* draw) {
  std::string text = Maybe(draw, 0.8, DrawMomentum(draw));
  text += DrawDelta(draw);
  return text;
}

std::string DrawLion(Draw* draw) {
  std::string text = Maybe(draw, 0.8, DrawMomentum(draw));
  text += Maybe(draw, 0.7, FieldText("momentum2", draw->Of<double>({0, 0.9, 0.99, 0.9999})));
  return text;
}

// Adam and the rules derived from it.
std::string DrawAdam(Draw* draw) {
  std::string text = DrawLion(draw);
  text += DrawDelta(draw);
  return text;
}

DOPPIO_REGISTER(RuleRows, "SGD", {{&DrawSgd}});
DOPPIO_REGISTER(RuleRows, "Nesterov", {{&DrawSgd}});
DOPPIO_REGISTER(RuleRows, "AdaGrad", {{&DrawAdaGrad}});
DOPPIO_REGISTER(RuleRows, "RMSProp", {{&DrawRmsProp}});
DOPPIO_REGISTER(RuleRows, "AdaDelta", {{&DrawAdaDelta}});
DOPPIO_REGISTER(RuleRows, "Adam", {{&DrawAdam}});
DOPPIO_REGISTER(RuleRows, "SAG", {{&DrawSag}});
DOPPIO_REGISTER(RuleRows, "AdamW", {{&DrawAdam}});
DOPPIO_REGISTER(RuleRows, "LAMB", {{&DrawAdam}});
DOPPIO_REGISTER(RuleRows, "Lion", {{&DrawLion}});
DOPPIO_REGISTER(RuleRows, "Muon", {{&DrawAdam}});

// ---- Policies ----------------------------------------------------------------------------------

// The iterations of policies are small, so that cases of few iterations reach them.
constexpr int64_t kSoon = 3;

// Draws how the rate starts.
std::string DrawRamp(Draw* draw) {
  const int64_t kind = draw->Int(0, 5);
  std::string text;
  if (kind == 4) {
    text += IntText(draw, "rampup_interval", 1, kSoon);
    text += Maybe(draw, 0.6, RealText(draw, "rampup_lr", 0, 0.002));
  } else if (kind == 5) {
    text += IntText(draw, "warmup_iter", 1, kSoon);
    text += Maybe(draw, 0.6, RealText(draw, "warmup_start_lr", 0, 0.002));
  }
  return text;
}

// Draws the fields that all policies read.
std::string DrawRates(Draw* draw) {
  std::string text = FieldText("base_lr", draw->Of<double>({0.0005, 0.001, 0.003, 0.01}));
  text += Maybe(draw, 0.3, RealText(draw, "min_lr", 0, 0.0005));
  text += DrawRamp(draw);
  return text;
}

// Draws the factor of a step.
std::string DrawGamma(Draw* draw) {
  return FieldText("gamma", draw->Of<double>({0, 0.1, 0.5, 0.9, 1}));
}

std::string DrawFixed(Draw* draw) { return DrawRates(draw); }

std::string DrawStep(Draw* draw) {
  std::string text = DrawRates(draw);
  text += DrawGamma(draw);
  text += IntText(draw, "stepsize", 1, kSoon);
  return text;
}

std::string DrawExpRate(Draw* draw) {
  std::string text = DrawRates(draw);
  text += DrawGamma(draw);
  return text;
}

std::string DrawInv(Draw* draw) {
  std::string text = DrawRates(draw);
  text += RealText(draw, "gamma", 0, 1);
  text += RealText(draw, "power", 0, 2);
  return text;
}

std::string DrawMultiStep(Draw* draw) {
  std::string text = DrawRates(draw);
  text += DrawGamma(draw);
  int64_t at = 0;
  for (int64_t left = draw->Int(1, 3); left > 0; --left) {
    at += draw->Int(0, 2);
    text += FieldText("stepvalue", at);
  }
  return text;
}

std::string DrawPoly(Draw* draw) {
  std::string text = DrawRates(draw);
  text += RealText(draw, "power", 0, 2);
  return text;
}

std::string DrawSigmoidRate(Draw* draw) {
  std::string text = DrawRates(draw);
  text += RealText(draw, "gamma", -1, 1);
  text += IntText(draw, "stepsize", 1, 2 * kSoon);
  return text;
}

std::string DrawPlateau(Draw* draw) {
  std::string text = DrawRates(draw);
  text += DrawGamma(draw);
  for (int64_t left = draw->Int(1, 3); left > 0; --left)
    text += IntText(draw, "plateau_winsize", 1, kSoon);
  return text;
}

// Without a ramp, all rates may be in stagelr.
std::string DrawMultiFixed(Draw* draw) {
  std::string text = draw->Chance(0.5) ? "" : DrawRates(draw);
  int64_t at = 0;
  for (int64_t left = draw->Int(1, 3); left > 0; --left) {
    at += draw->Int(1, 2);
    text += RealText(draw, "stagelr", 0, 0.01);
    text += FieldText("stageiter", at);
  }
  return text;
}

std::string DrawCosineRestarts(Draw* draw) {
  std::string text = DrawRates(draw);
  text += IntText(draw, "stepsize", 1, kSoon);
  text += Maybe(draw, 0.6, FieldText("restart_factor", draw->Of<double>({1, 1.5, 2})));
  return text;
}

std::string DrawOneCycle(Draw* draw) {
  std::string text = DrawRates(draw);
  text += RealText(draw, "gamma", 0, 1);
  text += IntText(draw, "stepsize", 1, 2);  // below max_iter
  return text;
}

DOPPIO_REGISTER(PolicyRows, "fixed", {{&DrawFixed}});
DOPPIO_REGISTER(PolicyRows, "step", {{&DrawStep}});
DOPPIO_REGISTER(PolicyRows, "exp", {{&DrawExpRate}});
DOPPIO_REGISTER(PolicyRows, "inv", {{&DrawInv}});
DOPPIO_REGISTER(PolicyRows, "multistep", {{&DrawMultiStep}});
DOPPIO_REGISTER(PolicyRows, "poly", {{&DrawPoly}});
DOPPIO_REGISTER(PolicyRows, "sigmoid", {{&DrawSigmoidRate}});
DOPPIO_REGISTER(PolicyRows, "plateau", {{&DrawPlateau}});
DOPPIO_REGISTER(PolicyRows, "multifixed", {{&DrawMultiFixed}});
DOPPIO_REGISTER(PolicyRows, "cosine", {{&DrawFixed}});
DOPPIO_REGISTER(PolicyRows, "cosine_restarts", {{&DrawCosineRestarts}});
DOPPIO_REGISTER(PolicyRows, "onecycle", {{&DrawOneCycle}});

// ---- Other fields ------------------------------------------------------------------------------

std::string DrawDecay(Draw* draw) {
  if (draw->Chance(0.3)) return "";
  std::string text = FieldText("weight_decay", draw->Of<double>({0, 0.0005, 0.01, 0.1}));
  if (draw->Chance(0.4))
    text += QuotedText("regularization_type", draw->Of<std::string>({"L1", "L1", "L2"}));
  if (draw->Chance(0.3)) {
    text += QuotedText("weight_decay_policy", draw->Of<std::string>({"fixed", "poly", "poly"}));
    text += Maybe(draw, 0.5, RealText(draw, "weight_decay_power", 0.5, 2));
  }
  text += Maybe(draw, 0.3, FieldText("decay_norms_and_biases", draw->Chance(0.3)));
  return text;
}

// Draws fields that change no numbers.
std::string DrawSolverFieldsWithoutEffect(Draw* draw) {
  constexpr double kSeldom = 0.03;
  std::string text = Maybe(draw, kSeldom, WordText(draw, "solver_mode", {"CPU", "GPU"}));
  text += Maybe(draw, kSeldom, IntText(draw, "device_id", 0, 1));
  text += Maybe(draw, kSeldom, FieldText("layer_wise_reduce", draw->Chance(0.5)));
  text += Maybe(draw, kSeldom, QuotedText("eval_type", "classification"));
  text += Maybe(draw, kSeldom,
                QuotedText("ap_version", draw->Of<std::string>({"11point", "Integral"})));
  text += Maybe(draw, kSeldom, FieldText("show_per_class_result", true));
  text += Maybe(draw, kSeldom, WordText(draw, "solver_data_type", {"FLOAT", "FLOAT16"}));
  text += Maybe(draw, kSeldom, FieldText("store_blobs_in_old_format", true));
  text += Maybe(draw, kSeldom, IntText(draw, "test_and_snapshot_last_epochs", 0, 2));
  text += Maybe(draw, kSeldom, RealText(draw, "max_weight_decay", 0, 1));
  text += Maybe(draw, kSeldom, FieldText("disabled_update", true));
  text += Maybe(draw, kSeldom, QuotedText("engine", draw->Of<std::string>({"CAFFE", "MKLDNN"})));
  text += Maybe(draw, kSeldom, IntText(draw, "test_offset", 0, 2));
  text += Maybe(draw, kSeldom, IntText(draw, "richness", 1, 300));
  return text;
}

}  // namespace

std::string DrawSolverFields(Draw* draw) {
  std::string text = DrawDecay(draw);
  text += Maybe(draw, 0.3, FieldText("clip_gradients", draw->Of<double>({-1, 0.01, 1, 10, 35})));
  text += Maybe(draw, 0.3, IntText(draw, "average_loss", 1, 4));
  text += Maybe(draw, 0.05, FieldText("debug_info", true));
  text += Maybe(draw, 0.1, FieldText("snapshot_diff", draw->Chance(0.8)));
  text += DrawSolverFieldsWithoutEffect(draw);
  return text;
}

const std::map<std::string, std::string> kSolverFieldsLeftOut = {
    {"net", "a run of a case sets it"},
    {"net_param", "another form of net"},
    {"train_net", "another form of net"},
    {"test_net", "another form of net"},
    {"train_net_param", "another form of net"},
    {"test_net_param", "another form of net"},
    {"weights", "relations of weight files start from weights"},
    {"snapshot_prefix", "a run of a case sets it"},
    {"solver_type", "the old form of type"},
    {"max_epoch", "runs of cases count iterations"},
    {"test_epoch", "runs of cases count iterations"},
    {"snapshot_epoch", "runs of cases count iterations"},
    {"ema_decay", "the oracle keeps no averages; weight_average_test.cc combines them"},
    {"ema_test", "see ema_decay"},
    {"layer_decay", "the oracle counts no depths; param_multipliers_test.cc tests them"},
};

}  // namespace doppio
