// A file that is there whole or as it was.
#pragma once

#include <filesystem>
#include <string_view>

namespace roofline {

/// What a crash of the system may take.
enum class Sync { kToDisk, kToSystem };

/// Replaces the file in one step: a reader sees the old content or the new, never a part.
/// Throws BadInput naming the file and the system's reason (full disk, no permission).
void write_atomically(const std::filesystem::path& path, std::string_view content,
                      Sync sync = Sync::kToDisk);

}  // namespace roofline
