// Inside crew: one connection of the control channel, lines of text over TCP, and the socket that waits for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

class Channel {
 public:
  Channel() = default;
  explicit Channel(int socket);  // takes it
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  ~Channel();

  int descriptor() const { return socket_; }  // to poll for reading; -1: closed
  bool open() const { return socket_ >= 0; }
  void close();
  // The whole line, newline included. False: the other side is gone, or has not read for 10 s; then it is closed.
  bool send(std::string_view line);
  // Whole lines that have come, without newline and without waiting. Closes at the end of the connection, but what came
  // before is handed out.
  std::vector<std::string> receive();
  // The next line, waited for. Nothing: closed, or nothing came in time.
  std::optional<std::string> wait_for_line(double patience_s);

  std::string local_address() const;  // "10.0.0.2", "::1"
  std::string peer_address() const;

 private:
  std::optional<std::string> next();
  void read_what_came();

  int socket_ = -1;
  std::string unread_;
};

// Listens at one of `ports`, the first that can be had. `loopback_only`: not for other hosts.
class Listener {
 public:
  Listener(const std::vector<int>& ports, bool loopback_only);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int descriptor() const { return socket_; }  // -1: none could be had
  int port() const { return port_; }
  const std::string& problem() const { return problem_; }  // of the last one
  std::optional<Channel> accept() const;                   // without waiting

 private:
  int socket_ = -1, port_ = 0;
  std::string problem_;
};

// A connection to address:port, or the reason why there is none.
std::optional<Channel> connect_to(const std::string& address, int port, double patience_s, std::string& problem);

// The network interface that has this address; empty: none has.
std::string interface_with(const std::string& address);

}  // namespace lockstep
