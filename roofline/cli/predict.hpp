// What the forms of `roofline predict` share: flags, their values, and how results are printed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "roofline/predict/hardware.hpp"
#include "roofline/predict/operation.hpp"

namespace roofline::cli {

/// Keys stay in the order in which they are documented.
using OrderedJson = nlohmann::ordered_json;

/// Flags of every form.
struct PredictOptions {
  std::string chip, machine, device;
  std::string compute;    ///< empty: follows from the operands
  std::string exec_unit;  ///< empty: the fastest
  double peak = kUnknownNumber, bandwidth = kUnknownNumber;
  predict::Given given;  ///< --params and --step
  bool as_json = false;
};
/// Everything but --json, which sweeps do not have.
void add_hardware_flags(CLI::App& form, PredictOptions& options);
void add_json_flag(CLI::App& form, PredictOptions& options);

/// Flags whose values are checked; a BadInput names the flag. Sizes are whole and at least 1,
/// amounts finite and above 0, durations such as 15ms have a unit (s, ms, us, ns), dtypes one
/// element type in any of its spellings.
CLI::Option* add_size(CLI::App& form, const char* flag, std::int64_t& target, const char* help);
CLI::Option* add_amount(CLI::App& form, const char* flag, double& target, const char* help);
CLI::Option* add_duration(CLI::App& form, const char* flag, double& target, const char* help);
CLI::Option* add_dtype(CLI::App& form, const char* flag, std::string& target, const char* help);
/// A whole number of at least 1; `flag` is for the message.
std::int64_t size_of(const char* flag, std::string_view text);

/// The chip or machine of --chip or --machine; unnamed if --peak and --bandwidth stand alone.
/// Throws BadInput if nothing says what to predict for.
predict::Hardware hardware_of(const PredictOptions& options);

/// Of work on operands of these types: computed in the wider one, or as they are, unless --compute
/// names a type.
predict::Roofs roofs_of(const PredictOptions& options, const predict::Hardware& hardware,
                        const std::string& x, const std::string& y, bool vector_unit = false);

/// Label and value, aligned.
void print_line(std::string_view label, const std::string& value);
/// FLOP, or OP of integers.
std::string work_unit(const predict::Roofs& roofs);
/// Hardware, peak, bandwidth and what is to be known of them.
void print_roofs(const PredictOptions& options, const predict::Hardware& hardware,
                 const predict::Roofs& roofs);

/// The same, for --json.
OrderedJson json_of(const PredictOptions& options, const predict::Hardware& hardware,
                    const predict::Roofs& roofs);

/// null for an unknown; a whole number without a decimal point.
OrderedJson json_number(double value);
OrderedJson json_number(const std::optional<double>& value);

/// The forms, a file each.
void add_predict_operations(CLI::App& predict, int& exit_code);
void add_predict_sharded(CLI::App& predict, int& exit_code);
void add_predict_serve(CLI::App& predict, int& exit_code);
void add_predict_sweep(CLI::App& predict, int& exit_code);

}  // namespace roofline::cli
