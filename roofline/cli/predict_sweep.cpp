// roofline predict sweep: predictions over the batch, as a CSV and a picture of it.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "roofline/base/dtype_names.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/process.hpp"
#include "roofline/cli/arguments.hpp"
#include "roofline/cli/drawn.hpp"
#include "roofline/cli/predict_serving.hpp"
#include "roofline/predict/sweep.hpp"
#include "roofline/report/report.hpp"

namespace roofline::cli {
namespace {

/// Rows are kept in memory and drawn.
constexpr std::int64_t kMostRows = 100000;
/// Of a sweep over powers of two.
constexpr std::int64_t kMostBatch = 1000000000;

CLI::Option* add_out(CLI::App& form, std::string& out) {
  return form
      .add_option("--out", out, "The CSV; FILE.svg and FILE.png go beside it (without: to stdout)")
      ->type_name("FILE.csv");
}

std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t comma = list.find(',');
    out.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    list.remove_prefix(comma + 1);
  }
}

/// "4096,4096x14336": D = F, or D and F.
std::vector<predict::Matmul> shapes_of(const char* flag, std::string_view list) {
  std::vector<predict::Matmul> out;
  for (const std::string_view part : parts_of(list)) {
    const std::size_t x = part.find('x');
    const std::int64_t d = size_of(flag, part.substr(0, x));
    out.push_back(
        {.d = d, .f = x == std::string_view::npos ? d : size_of(flag, part.substr(x + 1))});
  }
  return out;
}

void check_rows(std::int64_t batches, std::size_t curves) {
  if (batches > kMostRows / static_cast<std::int64_t>(curves)) {
    throw BadInput(fmt::format("--max-batch {} makes more than {} rows", batches, kMostRows));
  }
}

/// `machine`: what --machine names, if anything.
void finish(const char* kind, const CsvTable& csv, const std::string& out,
            const std::filesystem::path& machine) {
  if (out.empty()) {
    fmt::print("{}", csv.str());
    return;
  }
  const std::filesystem::path path(out);
  if (path.extension() != ".csv") throw BadInput(fmt::format("--out {}: not a .csv", out));
  keep_inputs("--out", path, {machine});
  keep_folder("--out", path, machine);
  csv.write(path);
  fmt::print("{}\n", out);
  const SignalGuard guard;
  print_drawn(draw_prediction(kind, path), path);
}

void add_batch(CLI::App& sweep, int& exit_code) {
  struct Options : PredictOptions {
    std::string x = "bf16", y = "s8", z, sizes = "4096,1024", out;
    std::int64_t most = 512;
  };
  auto* form = sweep.add_subcommand(
      "batch", "FLOP/s of X[B,D] Y[D,F] over B, with a machine's measured points on it");
  const auto o = std::make_shared<Options>();
  form->add_option("--sizes", o->sizes, "D = F of each curve, or DxF (4096,1024)")
      ->type_name("N,DxF…");
  add_size(*form, "--max-batch", o->most, "Largest B (512)");
  add_dtype(*form, "--x", o->x, "Type of X, the activations (bf16)");
  add_dtype(*form, "--y", o->y, "Type of Y, the weights (s8)");
  add_dtype(*form, "--z", o->z, "Type of Z (as X)");
  add_out(*form, o->out);
  add_hardware_flags(*form, *o);
  form->callback([o, &exit_code] {
    if (o->z.empty()) o->z = o->x;
    const auto hardware = hardware_of(*o);
    predict::BatchSweep sweep;
    sweep.hardware = hardware.name;
    sweep.dtype = o->x == o->y ? o->x : o->x + "x" + o->y;
    sweep.most = o->most;
    sweep.roofs = roofs_of(*o, hardware, o->x, o->y);
    sweep.given = o->given;
    sweep.shapes = shapes_of("--sizes", o->sizes);
    for (predict::Matmul& shape : sweep.shapes) {
      shape.element = {element_bytes(o->x), element_bytes(o->y), element_bytes(o->z)};
    }
    check_rows(sweep.most, sweep.shapes.size());
    if (std::filesystem::is_directory(o->machine)) {
      sweep.measured = predict::measured_matmuls(o->machine, hardware, sweep.dtype);
    }
    finish("batch", predict::table(sweep), o->out, o->machine);
    exit_code = 0;
  });
}

void add_serve(CLI::App& sweep, int& exit_code) {
  struct Options : ServingOptions {
    std::string contexts = "2048,8192,32768", out;
    std::int64_t most = 1024;
  };
  auto* form = sweep.add_subcommand(
      "serve", "Step time and throughput of a transformer over batch and context");
  const auto o = std::make_shared<Options>();
  add_serving_flags(*form, *o);
  add_size(*form, "--chips", o->serving.chips, "Chips that share the model (1)");
  form->add_option("--contexts", o->contexts, "Tokens of each curve (2048,8192,32768)")
      ->type_name("N,N…");
  add_size(*form, "--max-batch", o->most, "Largest batch (1024)");
  add_out(*form, o->out);
  form->callback([o, &exit_code] {
    predict::ServeSweep sweep;
    sweep.hardware = complete(*o).name;
    sweep.weights = o->weights;
    sweep.kv = o->kv;
    sweep.base = o->serving;
    for (const std::string_view part : parts_of(o->contexts)) {
      sweep.contexts.push_back(size_of("--contexts", part));
    }
    sweep.most = o->most;
    if (sweep.most > kMostBatch) {
      throw BadInput(fmt::format("--max-batch {}: no sweep goes beyond {}", o->most, kMostBatch));
    }
    finish("serve", predict::table(sweep), o->out, o->machine);
    exit_code = 0;
  });
}

}  // namespace

void add_predict_sweep(CLI::App& predict, int& exit_code) {
  auto* command =
      predict.add_subcommand("sweep", "Predictions over the batch, as a CSV and a picture");
  command->require_subcommand(1);
  add_batch(*command, exit_code);
  add_serve(*command, exit_code);
}

}  // namespace roofline::cli
