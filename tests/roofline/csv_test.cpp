#include "roofline/base/csv.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include "roofline/base/error.hpp"

namespace roofline {
namespace {

constexpr Column kColumns[] = {{"name", "", ""}, {"value", "s", ""}, {"note", "", ""}};

std::string fault(std::string_view text) {
  try {
    CsvTable::parse(text, "x.csv");
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(Csv, TextThatHurtsSurvivesARoundTrip) {
  const std::string names[] = {"plain",     "a,b", "say \"hi\"", "two\nlines", "carriage\r\nreturn",
                               "ünïcode ±", "",    " spaces ",   "\"",         ",",
                               "\n"};
  CsvTable table(kColumns);
  for (const auto& name : names) {
    table.add_row();
    table.set("name", name);
    table.set("value", 0.125);
  }
  const CsvTable back = CsvTable::parse(table.str(), "x.csv");
  ASSERT_EQ(back.rows(), std::size(names));
  for (std::size_t i = 0; i < back.rows(); ++i) {
    EXPECT_EQ(back.text(i, "name"), names[i]);
    EXPECT_EQ(back.number(i, "value"), 0.125);
    EXPECT_TRUE(std::isnan(back.number(i, "note")));
  }
}

TEST(Csv, WritesAsRfc4180Says) {
  CsvTable table(kColumns);
  table.add_row();
  table.set("name", "a,\"b\"");
  table.set("value", 2147483648.0);
  EXPECT_EQ(table.str(), "name,value,note\n\"a,\"\"b\"\"\",2147483648,\n");
}

TEST(Csv, NumbersKeepTheirDigits) {
  EXPECT_EQ(csv_number(0.1), "0.1");
  EXPECT_EQ(csv_number(1.0 / 3), "0.333333333");
  EXPECT_EQ(csv_number(-0.0), "0");
  EXPECT_EQ(csv_number(1.2345678e-9), "1.2345678e-09");
  EXPECT_EQ(csv_number(24999998750.4), "24999998750");
  EXPECT_EQ(csv_number(9007199254740991.0), "9007199254740991");
  EXPECT_EQ(csv_number(std::nan("")), "");
  EXPECT_THROW(csv_number(std::numeric_limits<double>::infinity()), std::logic_error);
}

TEST(Csv, AUnknownColumnIsOurOwnMistake) {
  CsvTable table(kColumns);
  table.add_row();
  EXPECT_THROW(table.set("nmae", "x"), std::logic_error);
}

TEST(Csv, BadFilesNameTheLine) {
  EXPECT_EQ(fault(""), "x.csv: is empty");
  EXPECT_EQ(fault("\n\n"), "x.csv: is empty");
  EXPECT_EQ(fault("a,b\n1,2\n3\n"), "x.csv:3: 1 fields where the header has 2");
  EXPECT_EQ(fault("a,b\n1,2,3\n"), "x.csv:2: 3 fields where the header has 2");
  EXPECT_EQ(fault("a,b\n\"x\ny\",2\n\"open,2\n"),
            "x.csv:4: a quote that opens here is never closed");
  EXPECT_EQ(fault("a,b\n\"x\"y,2\n"), "x.csv:2: text after a closing quote");
  EXPECT_EQ(fault("a,b,a\n"), "x.csv:1: column 'a' stands twice");
}

TEST(Csv, BadFieldsNameLineAndColumn) {
  const CsvTable table = CsvTable::parse("name,value\nx,12abc\ny,nan\nz,1e999\nw,inf\n", "x.csv");
  for (std::size_t i = 0; i < table.rows(); ++i) {
    EXPECT_THROW(table.number(i, "value"), BadInput) << i;
  }
  try {
    table.number(0, "value");
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_STREQ(error.what(), "x.csv:2: column 'value': '12abc' is not a finite number");
  }
  try {
    table.text(0, "nothing");
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_STREQ(error.what(), "x.csv: no column 'nothing'");
  }
}

TEST(Csv, TakesWindowsLinesAndAByteOrderMark) {
  const CsvTable table = CsvTable::parse("\xef\xbb\xbfname,value\r\nx,1\r\n\r\ny,2", "x.csv");
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.text(0, "name"), "x");
  EXPECT_EQ(table.number(1, "value"), 2);
}

TEST(Csv, AFailedWriteLeavesTheOldFileAndNoOther) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("roofline_csv_test." + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  write_atomically(folder / "x.csv", "old");
  EXPECT_THROW(write_atomically(folder / "missing" / "x.csv", "new"), BadInput);
  std::filesystem::create_directories(folder / "y.csv");  // a folder in the file's place
  EXPECT_THROW(write_atomically(folder / "y.csv", "new"), BadInput);
  EXPECT_EQ(read_text(folder / "x.csv"), "old");
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++entries;
  EXPECT_EQ(entries, 2u) << "a temporary file was left behind";
  write_atomically(folder / "x.csv", "new");
  EXPECT_EQ(read_text(folder / "x.csv"), "new");
  EXPECT_THROW(read_text(folder), BadInput);
  EXPECT_THROW(read_text(folder / "none"), BadInput);
  EXPECT_THROW(read_text("/proc/self/mem"), BadInput) << "opens, and cannot be read";
  // A link stays one, and a device a device.
  std::filesystem::create_symlink("x.csv", folder / "link.csv");
  write_atomically(folder / "link.csv", "through");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.csv"));
  EXPECT_EQ(read_text(folder / "x.csv"), "through");
  std::filesystem::create_symlink("/dev/null", folder / "null");
  write_atomically(folder / "null", "nowhere");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "null"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  std::filesystem::create_symlink("/dev/full", folder / "full");
  EXPECT_THROW(write_atomically(folder / "full", "more"), BadInput);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace roofline
