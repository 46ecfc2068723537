#include "hwrunner/crew/channel.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kSendPatience_ms = 10'000;
constexpr std::size_t kLongestLine = std::size_t{8} << 20;

// A host that is gone without a word is noticed after about 15 s.
void set_up(int socket) {
  const auto set = [socket](int level, int name, int value) {
    ::setsockopt(socket, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 15'000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

std::string text_of(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST] = {};
  if (::getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  std::string text = host;
  text.erase(std::min(text.find('%'), text.size()));
  if (text.rfind("::ffff:", 0) == 0) text.erase(0, 7);  // IPv4 at a socket for both
  return text;
}

template <class Ask>
std::string address_by(Ask ask, int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  return ask(socket, address, &size) == 0 ? text_of(address, size) : "";
}

int milliseconds_until(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// A signal does not end it.
int poll_patiently(pollfd& one, int patience_ms) {
  int found = 0;
  do found = ::poll(&one, 1, patience_ms);
  while (found < 0 && errno == EINTR);
  return found;
}

// Connected, or errno.
bool connect_within(int socket, const sockaddr* address, socklen_t size, Clock::time_point until) {
  if (::connect(socket, address, size) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd ready{socket, POLLOUT, 0};
  const int found = poll_patiently(ready, milliseconds_until(until));
  int failure = found > 0 ? 0 : ETIMEDOUT;
  socklen_t length = sizeof failure;
  if (found > 0) ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &failure, &length);
  errno = failure;
  return failure == 0;
}

// A socket at this port of all addresses, or of the loopback interface; -1 with errno.
int listening_socket(int family, int port, bool loopback_only) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const int on = 1, off = 0;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (family == AF_INET6) {
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    auto* address = reinterpret_cast<sockaddr_in6*>(&storage);
    address->sin6_family = AF_INET6;
    address->sin6_port = htons(static_cast<std::uint16_t>(port));
    address->sin6_addr = in6addr_any;
    size = sizeof *address;
  } else {
    auto* address = reinterpret_cast<sockaddr_in*>(&storage);
    address->sin_family = AF_INET;
    address->sin_port = htons(static_cast<std::uint16_t>(port));
    address->sin_addr.s_addr = htonl(loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
    size = sizeof *address;
  }
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&storage), size) == 0 && ::listen(socket, 64) == 0)
    return socket;
  const int failure = errno;
  ::close(socket);
  errno = failure;
  return -1;
}

}  // namespace

Channel::Channel(int socket) : socket_(socket) {
  set_up(socket_);
}
Channel::Channel(Channel&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), unread_(std::move(other.unread_)) {}
Channel& Channel::operator=(Channel&& other) noexcept {
  if (this == &other) return *this;
  close();
  socket_ = std::exchange(other.socket_, -1);
  unread_ = std::move(other.unread_);
  return *this;
}
Channel::~Channel() {
  close();
}
void Channel::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

bool Channel::send(std::string_view line) {
  while (open() && !line.empty()) {
    const ssize_t n = ::send(socket_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      line.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (errno == EINTR) continue;
    pollfd ready{socket_, POLLOUT, 0};
    const bool full = errno == EAGAIN || errno == EWOULDBLOCK;
    if (!full || poll_patiently(ready, kSendPatience_ms) <= 0) close();
  }
  return open();
}

void Channel::read_what_came() {
  char buffer[16384];
  while (open()) {
    const ssize_t n = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) return close();
    unread_.append(buffer, static_cast<std::size_t>(n));
    if (unread_.size() > kLongestLine && unread_.find('\n') == std::string::npos) return close();
  }
}

std::optional<std::string> Channel::next() {
  const std::size_t end = unread_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

std::vector<std::string> Channel::receive() {
  read_what_came();
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (std::size_t end = 0; (end = unread_.find('\n', start)) != std::string::npos; start = end + 1)
    lines.push_back(unread_.substr(start, end - start));
  unread_.erase(0, start);
  return lines;
}

std::optional<std::string> Channel::wait_for_line(double patience_s) {
  const auto until = after(patience_s);
  for (;;) {
    read_what_came();
    if (auto line = next()) return line;
    if (!open() || Clock::now() >= until) return std::nullopt;
    pollfd ready{socket_, POLLIN, 0};
    ::poll(&ready, 1, milliseconds_until(until) + 1);
  }
}

std::string Channel::local_address() const {
  return address_by(::getsockname, socket_);
}
std::string Channel::peer_address() const {
  return address_by(::getpeername, socket_);
}

Listener::Listener(const std::vector<int>& ports, bool loopback_only) {
  for (const int port : ports) {
    socket_ = loopback_only ? -1 : listening_socket(AF_INET6, port, false);
    if (socket_ < 0) socket_ = listening_socket(AF_INET, port, loopback_only);  // no IPv6 on this host
    port_ = port;
    if (socket_ >= 0) return;
    problem_ = std::strerror(errno);
  }
}
Listener::~Listener() {
  if (socket_ >= 0) ::close(socket_);
}
std::optional<Channel> Listener::accept() const {
  const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) return std::nullopt;
  return Channel(socket);
}

std::optional<Channel> connect_to(const std::string& address, int port, double patience_s, std::string& problem) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(address.c_str(), fmt::format("{}", port).c_str(), &wanted, &found);
  if (code != 0) {
    problem = code == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(code);
    return std::nullopt;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  const auto until = after(patience_s);
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    const int socket = ::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket >= 0 && connect_within(socket, one->ai_addr, one->ai_addrlen, until)) return Channel(socket);
    problem = std::strerror(errno);
    if (socket >= 0) ::close(socket);
  }
  return std::nullopt;
}

std::string interface_with(const std::string& address) {
  ifaddrs* list = nullptr;
  if (address.empty() || ::getifaddrs(&list) != 0) return "";
  std::string name;
  for (const ifaddrs* one = list; one != nullptr && name.empty(); one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (text_of(one->ifa_addr, size) == address) name = one->ifa_name;
  }
  ::freeifaddrs(list);
  if (name.empty() && address.rfind("127.", 0) == 0) return "lo";  // the whole of 127.0.0.0/8 is its
  return name;
}

}  // namespace lockstep
