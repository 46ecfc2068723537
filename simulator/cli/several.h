// What a command says of one scenario or of several, as one output in the command's form.
//
//              one scenario     several
//   text       its block        each block under a line `==> NAME <==`
//   --json     its document     {"results": [its document with "file" in front, ...]}
//   --jsonl    its lines        its lines with "file"
//   --csv      its table        one table with the column `file` in front
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "simulator/answers/inputs.h"
#include "simulator/cli/output.h"

namespace lockstep {

struct NamedInputs {
  std::string name;  // as given on the command line; "standard input" for `-`
  Inputs inputs;
};

// Every scenario of the command line, or all that is wrong in any of them: then nothing is to be run.
Expected<std::vector<NamedInputs>> load_scenarios(const std::vector<std::string>& files,
                                                  const std::vector<std::string>& sets, Output& output);

class ResultWriter {
 public:
  ResultWriter(const CommonArguments& common, bool several, Output& output)
      : common_(common), several_(several), output_(output) {}

  // The whole answer to one scenario. Written at once where the form and -o allow that. False: it could not be written.
  bool add(const std::string& name, std::string document);
  // After the last one.
  bool finish();

  // A JSON line `{"type":...}` on the way to an answer, for the same place.
  void add_line(const std::string& name, const std::string& line);

 private:
  std::string in_row(const std::string& name, const std::string& document) const;

  const CommonArguments& common_;
  bool several_;
  Output& output_;
  std::size_t count_ = 0;
  std::string kept_;  // of -o and --json
};

// `{"type":"run","file":"a.yaml",...}`
std::string line_with_file(const std::string& line, const std::string& name);
// Each record of a CSV table with one more field in front; without the header unless `with_header`.
std::string csv_with_file(const std::string& csv, const std::string& name, bool with_header);

}  // namespace lockstep
