// A name of namespace `lockstep` belongs to one type in the whole program: two different ones are undefined behaviour
// that no compiler and no linker has to notice.
#include "tests/laws_of_layers/type_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

TEST(TypeNames, BelongToOneTypeInTheWholeProgram) {
  std::map<std::string, std::vector<std::string>> files_of;
  for (const char* folder : {"simulator", "models", "topologies", "scenarios", "hwrunner", "gui"}) {
    const fs::path root = fs::path(LOCKSTEP_SOURCE_DIR) / folder;
    if (!fs::exists(root)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
      const fs::path& path = entry.path();
      if (path.extension() != ".h" && path.extension() != ".cpp") continue;
      std::ifstream in(path);
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      for (const std::string& name : types_defined_in(text))
        files_of[name].push_back(path.lexically_relative(LOCKSTEP_SOURCE_DIR).generic_string());
    }
  }
  EXPECT_GT(files_of.size(), 200U);  // the scan found something
  for (const auto& [name, files] : files_of)
    EXPECT_EQ(files.size(), 1U) << name << " is defined in " << ::testing::PrintToString(files);
}

TEST(TypeNames, AreFoundInNamespacesAndNowhereElse) {
  EXPECT_THAT(types_defined_in(R"cpp(
#include <struct.h>
#define BODY     \
                  struct Macro { \
                    int x;       \
                  }
                struct Outside {};
                namespace lockstep {
                class Declared;  // struct Comment {};
                struct Plain {
                  struct Inner {
                    int x = 1'000;
                  };
                };
                class Derived final : public Plain, private std::vector<Declared> {
                  enum Kind { A };
                };
                template <class T, template <class> class U>
                struct Template {
                  T value = T{};
                };
                template <>
                struct Template<int, Plain> {};
                enum class Colour : int { Red = '{', Blue };
                /* union Gone {} */ union Either {
                  int a;
                  float b;
                };
                struct stat make(const struct Argument& given) {
                  struct Local {};
                  return {};
                }
                const char* text = "struct Text {";
                const Plain value{};
                struct Plain other = {};
                namespace {
                struct Hidden {};
                }  // namespace
                namespace testing {
                struct Helper {};
                }  // namespace testing
                }  // namespace lockstep
                namespace lockstep::detail {
                struct Nested {};
                }  // namespace lockstep::detail
                namespace other {
                struct Foreign {};
                }  // namespace other
              )cpp"),
              ElementsAre("Plain", "Derived", "Template", "Colour", "Either", "testing::Helper", "detail::Nested"));
}

}  // namespace
}  // namespace lockstep::testing
