// Stands in for the headers of Gloo, which LibTorch contains but does not ship headers of. c10d/ProcessGroupGloo.hpp
// includes them and uses pointers to these classes only, so names and the virtual functions of Store are enough: their
// order is Gloo's, because LibTorch calls them. Everything is defined in libtorch_cpu.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);  // named by an inline function that nobody here calls
};

namespace transport {
class Device;
class UnboundBuffer;
}  // namespace transport

namespace rendezvous {
class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::vector<char>& data) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) = 0;
};
}  // namespace rendezvous

}  // namespace gloo
