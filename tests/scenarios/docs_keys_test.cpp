// The tables of keys in docs/interface.md are what the field tables give. LOCKSTEP_UPDATE=1 writes them anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "models/model_fields.h"
#include "scenarios/fields.h"
#include "simulator/base/document.h"
#include "topologies/fields.h"

namespace lockstep {
namespace {

const std::string kPage = LOCKSTEP_SOURCE_DIR "/docs/interface.md";

template <class T>
std::string table_of(const FieldTable<T>& fields) {
  const T defaults{};
  return keys_markdown(fields.info(), &defaults);
}

std::vector<std::pair<std::string, std::string>> tables() {
  return {{"scenario", table_of(scenario_fields())},
          {"model", table_of(model_fields())},
          {"node", table_of(node_fields())},
          {"gpu", table_of(gpu_fields())},
          {"fabric", table_of(fabric_fields())}};
}

TEST(Docs, TheTablesOfKeysAreWhatTheFieldTablesGive) {
  const auto read = read_text_file(kPage);
  ASSERT_TRUE(read);
  std::string page = *read;
  for (const auto& [name, table] : tables()) {
    const std::string begin = fmt::format("<!-- keys of {}: begin -->\n", name);
    const std::string end = fmt::format("<!-- keys of {}: end -->", name);
    const std::size_t from = page.find(begin), to = page.find(end);
    ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to) << "no marks of " << name;
    const std::size_t start = from + begin.size();
    EXPECT_TRUE(std::getenv("LOCKSTEP_UPDATE") != nullptr || page.substr(start, to - start) == table)
        << "the keys of a " << name << " changed: run test_docs with LOCKSTEP_UPDATE=1 and look at the change";
    page.replace(start, to - start, table);
  }
  if (std::getenv("LOCKSTEP_UPDATE") != nullptr) std::ofstream(kPage) << page;
}

}  // namespace
}  // namespace lockstep
