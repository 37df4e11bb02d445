#include "roofline/machine/processor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "roofline/machine/files.hpp"
#include "roofline/specs/data.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace roofline::machine {
namespace {

#if defined(__x86_64__)
std::string text_of(std::initializer_list<unsigned> registers) {
  std::string text;
  for (const unsigned value : registers) {
    char bytes[4];
    std::memcpy(bytes, &value, sizeof bytes);
    text.append(bytes, sizeof bytes);
  }
  text.resize(std::strlen(text.c_str()));
  return trim(text);
}

void read_caches(unsigned leaf, Processor& processor) {
  constexpr unsigned kMostCaches = 16;
  for (unsigned index = 0; index < kMostCaches; ++index) {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(leaf, index, &a, &b, &c, &d)) return;
    const unsigned type = a & 0x1f;  // 1 data, 2 instruction, 3 unified
    if (type == 0) return;
    if (type == 2) continue;
    const std::int64_t line = (b & 0xfff) + 1, partitions = ((b >> 12) & 0x3ff) + 1,
                       ways = ((b >> 22) & 0x3ff) + 1, sets = std::int64_t{c} + 1;
    processor.caches.push_back({static_cast<int>((a >> 5) & 0x7), line * partitions * ways * sets,
                                static_cast<int>((a >> 14) & 0xfff) + 1});
  }
}

void read_cpuid(Processor& processor) {
  unsigned a, b, c, d;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return;
  const unsigned highest = a;
  processor.vendor = text_of({b, d, c});
  __get_cpuid(1, &a, &b, &c, &d);
  processor.stepping = a & 0xf;
  processor.family = (a >> 8) & 0xf;
  processor.model = (a >> 4) & 0xf;
  const int extended_model = (a >> 16) & 0xf, extended_family = (a >> 20) & 0xff;
  if (processor.family == 6 || processor.family == 15) processor.model += extended_model << 4;
  if (processor.family == 15) processor.family += extended_family;
  processor.virtualised = (c >> 31) & 1;
  if (processor.virtualised) {
    __cpuid(0x40000000, a, b, c, d);
    processor.hypervisor = text_of({b, c, d});
  }
  if (highest >= 7 && __get_cpuid_count(7, 0, &a, &b, &c, &d)) processor.amx = (d >> 24) & 1;
  if (highest >= 0x16 && __get_cpuid(0x16, &a, &b, &c, &d)) {
    processor.base_clock_hz = (a & 0xffff) * 1e6;
  }
  unsigned extended = 0;
  if (__get_cpuid(0x80000000, &extended, &b, &c, &d) && extended >= 0x80000004) {
    std::string brand;
    for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
      unsigned words[4];
      __get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]);
      brand.append(reinterpret_cast<const char*>(words), sizeof words);
    }
    brand.resize(std::strlen(brand.c_str()));
    processor.model_name = trim(brand);
  }
  const bool amd = processor.vendor == "AuthenticAMD" || processor.vendor == "HygonGenuine";
  if (!amd && highest >= 4) read_caches(4, processor);
  if (amd && extended >= 0x8000001d) read_caches(0x8000001d, processor);
}
#endif

bool in_ranges(const nlohmann::json& ranges, int value) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const nlohmann::json& range) {
    return range.at(0).get<int>() <= value && value <= range.at(1).get<int>();
  });
}

bool matches(const nlohmann::json& rule, const Processor& processor) {
  if (rule.contains("implementer")) {
    return rule.at("implementer") == processor.implementer && rule.at("part") == processor.part;
  }
  if (rule.at("vendor") != processor.vendor) return false;
  if (rule.contains("amx")) return rule.at("amx") == processor.amx;
  if (rule.at("family") != processor.family) return false;
  if (!in_ranges(rule.at("models"), processor.model)) return false;
  return !rule.contains("steppings") || in_ranges(rule.at("steppings"), processor.stepping);
}

}  // namespace

Processor read_processor(const std::filesystem::path& root) {
  Processor processor;
#if defined(__x86_64__)
  read_cpuid(processor);
#endif
  if (processor.model_name.empty()) {
    if (const auto text = read_text(root / "proc/cpuinfo")) read_cpuinfo(*text, processor);
  }
  if (processor.base_clock_hz == 0) {
    processor.base_clock_hz = clock_in_name(processor.model_name);
  }
  // AMD and Arm name no clock: the driver's words, in kHz, or the firmware's, in MHz.
  const auto cpu = root / "sys/devices/system/cpu/cpu0";
  for (const auto& [file, scale] : {std::pair(cpu / "cpufreq/base_frequency", 1e3),
                                    std::pair(cpu / "acpi_cppc/nominal_freq", 1e6)}) {
    const auto line = processor.base_clock_hz == 0 ? read_line(file) : std::nullopt;
    if (line) processor.base_clock_hz = scale * std::strtod(line->c_str(), nullptr);
  }
  return processor;
}

void read_cpuinfo(std::string_view text, Processor& processor) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto key = trim(line.substr(0, colon)), value = trim(line.substr(colon + 1));
    const auto number = [&] { return static_cast<int>(std::strtol(value.c_str(), nullptr, 0)); };
    if (key == "model name" && processor.model_name.empty()) processor.model_name = value;
    if (key == "CPU implementer" && processor.implementer < 0) processor.implementer = number();
    if (key == "CPU part" && processor.part < 0) processor.part = number();
    if (key == "CPU revision" && processor.implementer >= 0) processor.stepping = number();
  }
  if (processor.vendor.empty() && processor.implementer == 0x41) processor.vendor = "Arm";
}

double clock_in_name(std::string_view model_name) {
  static const std::regex clock(R"(@\s*([0-9]+(?:\.[0-9]+)?)\s*GHz)", std::regex::icase);
  std::match_results<std::string_view::const_iterator> found;
  if (!std::regex_search(model_name.begin(), model_name.end(), found, clock)) return 0;
  return std::strtod(found[1].str().c_str(), nullptr) * 1e9;
}

std::string microarchitecture(const Processor& processor) {
  const auto table = nlohmann::json::parse(specs::kCpuJson);
  for (const bool by_feature : {false, true}) {
    for (const auto& [name, entry] : table.at("microarchitectures").items()) {
      for (const auto& rule : entry.at("match")) {
        if (rule.contains("amx") == by_feature && matches(rule, processor)) return name;
      }
    }
  }
  return {};
}

std::string plain_name(std::string_view model) {
  std::string slug;
  for (const char c : model) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      slug += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug;
}

std::string machine_name(const Processor& processor, const std::string& microarchitecture,
                         int cores) {
  static const std::regex noise(R"(\([^)]*\)|@.*|\b[0-9]+-core\b|\bwith\b.*|\b(processor|cpu)\b)",
                                std::regex::icase);
  std::string slug = plain_name(std::regex_replace(processor.model_name, noise, " "));
  const bool generic =
      std::none_of(slug.begin(), slug.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (generic && !microarchitecture.empty()) {
    slug += (slug.empty() ? "" : "-") + microarchitecture;
  }
  if (slug.empty()) slug = "unknown-cpu";
  return fmt::format("{}-{}c", slug, cores);
}

}  // namespace roofline::machine
