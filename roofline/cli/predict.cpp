// roofline predict: how long work takes, before it is run.
#include "roofline/cli/predict.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "roofline/base/dtype_names.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/cli/commands.hpp"

namespace roofline::cli {
namespace {

/// The whole text as a number; NaN if it is none. `1e3` and `0.5` are numbers, ` 1`, `0x1` and
/// `1,5` are not.
double number_of(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return kUnknownNumber;
  return value;
}

double amount_of(const char* flag, std::string_view text) {
  const double value = number_of(text);
  if (!(value > 0) || !std::isfinite(value)) {
    throw BadInput(fmt::format("{} '{}' is not a finite number above 0", flag, text));
  }
  return value;
}

double duration_of(const char* flag, std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"ns", 1e-9}};
  const std::size_t digits = text.find_last_of("0123456789.") + 1;
  for (const auto& [unit, seconds] : kUnits) {
    if (text.substr(digits) != unit) continue;
    const double value = number_of(text.substr(0, digits)) * seconds;
    if (value > 0 && std::isfinite(value)) return value;
  }
  throw BadInput(fmt::format(
      "{} '{}' is not a time above 0 with its unit (s, ms, us or ns, as in 15ms)", flag, text));
}

std::string dtype_of(const char* flag, std::string_view text) {
  const auto name = canonical_dtype(text);
  if (!name || std::isnan(element_bytes(*name))) {
    throw BadInput(fmt::format(
        "{} '{}' is not an element type (f32, bf16, f16, e4m3, s8, s4 … or fp32, int8, int4 …)",
        flag, text));
  }
  return *name;
}

/// `read` turns the text into the target's type or throws.
template <class T>
CLI::Option* add_checked(CLI::App& form, const char* flag, T& target, const char* help,
                         const char* type, T (*read)(const char*, std::string_view)) {
  return form
      .add_option_function<std::string>(
          flag, [&target, flag, read](const std::string& text) { target = read(flag, text); }, help)
      ->type_name(type);
}

}  // namespace

std::int64_t size_of(const char* flag, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault == std::errc::result_out_of_range) {
    throw BadInput(fmt::format("{} '{}' is too large", flag, text));
  }
  if (fault != std::errc() || end != text.data() + text.size() || value < 1) {
    throw BadInput(fmt::format("{} '{}' is not a whole number of at least 1", flag, text));
  }
  return value;
}

CLI::Option* add_size(CLI::App& form, const char* flag, std::int64_t& target, const char* help) {
  return add_checked(form, flag, target, help, "N", size_of);
}

CLI::Option* add_amount(CLI::App& form, const char* flag, double& target, const char* help) {
  return add_checked(form, flag, target, help, "X", amount_of);
}

CLI::Option* add_duration(CLI::App& form, const char* flag, double& target, const char* help) {
  return add_checked(form, flag, target, help, "TIME", duration_of);
}

CLI::Option* add_dtype(CLI::App& form, const char* flag, std::string& target, const char* help) {
  return add_checked(form, flag, target, help, "DTYPE", dtype_of);
}

void add_hardware_flags(CLI::App& form, PredictOptions& options) {
  auto* chip =
      form.add_option("--chip", options.chip, "A chip as advertised; `roofline specs` lists them")
          ->type_name("NAME");
  auto* machine = form.add_option("--machine", options.machine,
                                  "A machine as measured: a results folder or its ceilings.csv")
                      ->type_name("DIR")
                      ->excludes(chip);
  form.add_option("--device", options.device, "cpu or gpu of --machine (gpu if it was measured)")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->needs(machine);
  add_dtype(form, "--compute", options.compute,
            "Type of the arithmetic (the widest operand's, or a wider one that there is)");
  form.add_option("--exec-unit", options.exec_unit,
                  "Unit of the arithmetic, such as tensor or cuda-core (the fastest)")
      ->type_name("UNIT");
  add_amount(form, "--peak", options.peak, "FLOP/s of one chip, in place of its own");
  add_amount(form, "--bandwidth", options.bandwidth, "Memory bytes/s of one chip, likewise");
  add_amount(form, "--params", options.given.params,
             "Parameters, in place of the model's or the shape's (elements of Y, of a dot "
             "product's y, of the KV cache)");
  add_duration(form, "--step", options.given.step_s,
               "Time taken, such as 19ms, in place of the one predicted");
}

void add_json_flag(CLI::App& form, PredictOptions& options) {
  form.add_flag("--json", options.as_json, "Print the prediction as JSON, in base units");
}

predict::Hardware hardware_of(const PredictOptions& options) {
  if (!options.chip.empty()) return predict::chip_hardware(options.chip);
  if (!options.machine.empty()) return predict::machine_hardware(options.machine, options.device);
  if (std::isnan(options.peak) || std::isnan(options.bandwidth)) {
    throw BadInput("give --chip NAME or --machine DIR, or both --peak and --bandwidth");
  }
  return {};
}

predict::Roofs roofs_of(const PredictOptions& options, const predict::Hardware& hardware,
                        const std::string& x, const std::string& y, bool vector_unit) {
  const bool chosen = !options.compute.empty();
  return predict::roofs(hardware,
                        {.dtype = chosen ? options.compute : wider_dtype(x, y),
                         .mixed = x == y ? "" : x + "x" + y,
                         .dtype_chosen = chosen,
                         .exec_unit = options.exec_unit,
                         .vector_unit = vector_unit},
                        options.peak, options.bandwidth);
}

void print_line(std::string_view label, const std::string& value) {
  fmt::print("{:<22}{}\n", label, value);
}

std::string work_unit(const predict::Roofs& roofs) {
  const std::string rate = rate_unit("compute", roofs.dtype);
  return rate.substr(0, rate.find('/'));
}

void print_roofs(const PredictOptions& options, const predict::Hardware& hardware,
                 const predict::Roofs& roofs) {
  const char* origin = hardware.measured ? "as measured" : "as advertised";
  if (!hardware.name.empty()) {
    print_line("hardware", fmt::format("{}, {}", printable(hardware.name), origin));
  }
  print_line(
      "peak",
      fmt::format("{} {}{}", with_prefix(roofs.peak, rate_unit("compute", roofs.dtype)),
                  roofs.dtype, std::isnan(options.peak) ? ", " + roofs.exec_unit : ", given"));
  print_line("bandwidth", fmt::format("{} {}{}", with_prefix(roofs.bandwidth, "B/s"), roofs.level,
                                      std::isnan(options.bandwidth) ? "" : ", given"));
  for (const std::string& note : roofs.notes) print_line("note", note);
}

OrderedJson json_of(const PredictOptions& options, const predict::Hardware& hardware,
                    const predict::Roofs& roofs) {
  const auto text = [](const std::string& words) {
    return words.empty() ? OrderedJson(nullptr) : OrderedJson(words);
  };
  const bool peak_given = !std::isnan(options.peak);
  return {{"name", text(hardware.name)},
          {"measured", hardware.measured},
          {"peak", json_number(roofs.peak)},
          {"peak_given", peak_given},
          {"compute_dtype", text(roofs.dtype)},
          {"exec_unit", peak_given ? OrderedJson(nullptr) : text(roofs.exec_unit)},
          {"bandwidth", json_number(roofs.bandwidth)},
          {"bandwidth_given", !std::isnan(options.bandwidth)},
          {"level", text(roofs.level)},
          {"notes", roofs.notes}};
}

OrderedJson json_number(double value) {
  constexpr double kWhole = 9007199254740992;  // 2^53: whole numbers below are exact
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::abs(value) < kWhole) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

OrderedJson json_number(const std::optional<double>& value) {
  return value ? json_number(*value) : OrderedJson(nullptr);
}

void add_predict(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "predict", "How long work takes on a chip as advertised or a machine as measured");
  command->require_subcommand(1);
  add_predict_operations(*command, exit_code);
  add_predict_sharded(*command, exit_code);
  add_predict_serve(*command, exit_code);
  add_predict_sweep(*command, exit_code);
}

}  // namespace roofline::cli
