#include "simulator/exchange/trace_source.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>

namespace lockstep {
namespace {

constexpr std::size_t kBuffer = std::size_t{256} << 10;

gzFile as_gz(void* file) {
  return static_cast<gzFile>(file);
}

}  // namespace

void TraceSource::Close::operator()(void* file) const {
  gzclose_r(as_gz(file));
}

// zlib passes files through that are not compressed.
TraceSource::TraceSource(const std::string& path) : buffer_(kBuffer) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return;
  bytes_ = static_cast<double>(std::filesystem::file_size(path, none));
  file_.reset(gzopen(path.c_str(), "rb"));
  if (file_) gzbuffer(as_gz(file_.get()), static_cast<unsigned>(kBuffer));
}

double TraceSource::share() const {
  if (!file_ || bytes_ <= 0) return 1;
  return std::min(1.0, static_cast<double>(gzoffset(as_gz(file_.get()))) / bytes_);
}

TraceSource::int_type TraceSource::underflow() {
  if (!file_ || !trouble_.empty()) return traits_type::eof();
  const int got = gzread(as_gz(file_.get()), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int code = Z_OK;
  const char* words = gzerror(as_gz(file_.get()), &code);
  if (code != Z_OK && code != Z_STREAM_END) trouble_ = code == Z_BUF_ERROR ? "it ends early" : words;
  if (got <= 0) return traits_type::eof();
  setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
  return traits_type::to_int_type(*gptr());
}

}  // namespace lockstep
