// Private to the exchange library: the bytes of a file, decompressed where they are compressed, for a parser that reads
// a std::streambuf.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <streambuf>
#include <string>
#include <vector>

namespace lockstep {

class TraceSource : public std::streambuf {
 public:
  explicit TraceSource(const std::string& path);
  bool open() const { return file_ != nullptr; }
  const std::string& trouble() const { return trouble_; }  // while reading; empty: none
  double share() const;                                    // of the file that is read

 protected:
  int_type underflow() override;

 private:
  struct Close {
    void operator()(void* file) const;
  };
  std::unique_ptr<void, Close> file_;
  double bytes_ = 0;  // of the file
  std::vector<char> buffer_;
  std::string trouble_;
};

}  // namespace lockstep
