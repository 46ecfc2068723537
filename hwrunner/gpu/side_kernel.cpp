#include "hwrunner/gpu/side_kernel.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

namespace lockstep {
namespace {

// The first thread of a block waits until the rate allows another chunk, or somebody set *stop, or the time is over;
// then all copy it.
constexpr const char* kSource = R"(
extern "C" __global__ void lockstep_side(const volatile unsigned* stop, const uint4* from, uint4* to,
                                         unsigned long long words, double bytes_per_ns, unsigned long long most_ns,
                                         unsigned long long* moved) {
  __shared__ int go;
  const unsigned long long chunk = 4096;
  const uint4* mine = from + blockIdx.x * words;
  uint4* there = to + blockIdx.x * words;
  unsigned long long start, now, done = 0, at = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  for (;;) {
    if (threadIdx.x == 0) {
      do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        go = *stop == 0 && now - start < most_ns;
      } while (go && (bytes_per_ns == 0 || done > bytes_per_ns * (now - start)));
    }
    __syncthreads();
    if (!go) break;
    for (unsigned long long i = threadIdx.x; i < chunk; i += blockDim.x) there[at + i] = mine[at + i];
    at = at + 2 * chunk <= words ? at + chunk : 0;
    done += 16 * chunk;
    __syncthreads();
  }
  if (threadIdx.x == 0) moved[blockIdx.x] = done;
}
)";
constexpr std::size_t kChunkWords = 4096, kWordBytes = 16;
constexpr std::size_t kBufferBytes = std::size_t{512} << 20;  // read, and as much written: no cache holds it
constexpr int kMostBlocks = 1024;

Error refused(std::string message) {
  Error error;
  error.kind = ErrorKind::RunFailed;
  error.message = std::move(message);
  return error;
}
tl::unexpected<Errors> no(std::string message) {
  return tl::unexpected(Errors{refused(std::move(message))});
}

class SharedLibrary {
 public:
  SharedLibrary() = default;
  ~SharedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  // The first of them that is there; false with the last one's reason in `why`.
  bool open(const std::vector<const char*>& names, std::string& why) {
    for (const char* name : names) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return true;
      if (const char* said = dlerror()) why = said;
    }
    return false;
  }
  template <class F>
  bool find(F& function, const char* symbol) {
    function = reinterpret_cast<F>(dlsym(handle_, symbol));
    if (function == nullptr && lacking_.empty()) lacking_ = symbol;
    return function != nullptr;
  }
  const std::string& lacking() const { return lacking_; }

 private:
  void* handle_ = nullptr;
  std::string lacking_;
};

// nvrtc.h, by its documentation: results are 0 for success, a program is an opaque pointer.
struct Nvrtc {
  SharedLibrary library;
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(void*, int, const char* const*) = nullptr;
  int (*destroy)(void**) = nullptr;
  int (*ptx_size)(void*, std::size_t*) = nullptr;
  int (*ptx)(void*, char*) = nullptr;
  int (*log_size)(void*, std::size_t*) = nullptr;
  int (*log)(void*, char*) = nullptr;
  const char* (*error_text)(int) = nullptr;

  bool open(std::string& why) {
    if (!library.open({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, why)) return false;
    library.find(create, "nvrtcCreateProgram");
    library.find(compile, "nvrtcCompileProgram");
    library.find(destroy, "nvrtcDestroyProgram");
    library.find(ptx_size, "nvrtcGetPTXSize");
    library.find(ptx, "nvrtcGetPTX");
    library.find(log_size, "nvrtcGetProgramLogSize");
    library.find(log, "nvrtcGetProgramLog");
    library.find(error_text, "nvrtcGetErrorString");
    why = "it has no " + library.lacking();
    return library.lacking().empty();
  }

  std::string text(void* program, int (*size)(void*, std::size_t*), int (*get)(void*, char*)) const {
    std::size_t bytes = 0;
    if (size(program, &bytes) != 0) return "";
    std::string text(bytes, '\0');
    if (get(program, text.data()) != 0) return "";
    text.resize(text.find_last_not_of('\0') + 1);
    return text;
  }
};

using Address = unsigned long long;  // CUdeviceptr

}  // namespace

// cuda.h, by its documentation: results are 0 for success, handles are opaque pointers.
struct SideKernel::Driver {
  SharedLibrary library;
  int (*init)(unsigned) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*get_current)(void**) = nullptr;
  int (*load)(void**, const void*) = nullptr;
  int (*unload)(void*) = nullptr;
  int (*function)(void**, void*, const char*) = nullptr;
  int (*allocate)(Address*, std::size_t) = nullptr;
  int (*free)(Address) = nullptr;
  int (*set_words)(Address, unsigned, std::size_t, void*) = nullptr;
  int (*to_host)(void*, Address, std::size_t) = nullptr;
  int (*stream_create)(void**, unsigned) = nullptr;
  int (*stream_destroy)(void*) = nullptr;
  int (*stream_wait)(void*) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = nullptr;
  int (*error_name)(int, const char**) = nullptr;

  int device = 0;
  void *context = nullptr, *module = nullptr, *kernel = nullptr, *stream = nullptr, *control = nullptr;
  Address from = 0, to = 0, moved = 0, stop = 0;
  bool running = false;
  SideLoad load_of_run;
  std::chrono::steady_clock::time_point started;

  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver() {
    if (context == nullptr) return;
    const Current current(*this);
    if (running) {
      set_words(stop, 1, 1, control);
      stream_wait(stream);
    }
    for (const Address one : {from, to, moved, stop})
      if (one != 0) free(one);
    for (void* one : {stream, control})
      if (one != nullptr) stream_destroy(one);
    if (module != nullptr) unload(module);
    release(device);
  }

  // Makes the context the thread's while it lives.
  struct Current {
    explicit Current(const Driver& d) : driver(d) {
      driver.get_current(&before);
      driver.set_current(driver.context);
    }
    ~Current() { driver.set_current(before); }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    const Driver& driver;
    void* before = nullptr;
  };

  bool open(std::string& why) {
    if (!library.open({"libcuda.so.1"}, why)) return false;
    library.find(init, "cuInit");
    library.find(device_get, "cuDeviceGet");
    library.find(attribute, "cuDeviceGetAttribute");
    library.find(retain, "cuDevicePrimaryCtxRetain");
    library.find(release, "cuDevicePrimaryCtxRelease_v2");
    library.find(set_current, "cuCtxSetCurrent");
    library.find(get_current, "cuCtxGetCurrent");
    library.find(load, "cuModuleLoadData");
    library.find(unload, "cuModuleUnload");
    library.find(function, "cuModuleGetFunction");
    library.find(allocate, "cuMemAlloc_v2");
    library.find(free, "cuMemFree_v2");
    library.find(set_words, "cuMemsetD32Async");
    library.find(to_host, "cuMemcpyDtoH_v2");
    library.find(stream_create, "cuStreamCreate");
    library.find(stream_destroy, "cuStreamDestroy_v2");
    library.find(stream_wait, "cuStreamSynchronize");
    library.find(launch, "cuLaunchKernel");
    library.find(error_name, "cuGetErrorName");
    why = "it has no " + library.lacking();
    return library.lacking().empty();
  }

  std::string name_of_error(int status) const {
    const char* name = nullptr;
    return error_name(status, &name) == 0 && name != nullptr ? name : fmt::format("error {}", status);
  }

  // The first call that does not succeed, or an empty text.
  std::string set_up(int index) {
    constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
    constexpr unsigned kNonBlocking = 1;     // CU_STREAM_NON_BLOCKING: does not wait for the default stream
    const auto failed = [this](const char* call, int status) {
      return fmt::format("{}: {}", call, name_of_error(status));
    };
    int major = 0, minor = 0;
    if (const int s = init(0)) return failed("cuInit", s);
    if (const int s = device_get(&device, index)) return failed("cuDeviceGet", s);
    if (const int s = attribute(&major, kMajor, device)) return failed("cuDeviceGetAttribute", s);
    if (const int s = attribute(&minor, kMinor, device)) return failed("cuDeviceGetAttribute", s);
    const auto ptx = compile_side_kernel(fmt::format("compute_{}{}", major, minor));
    if (!ptx) return ptx.error().front().message;
    if (const int s = retain(&context, device)) return failed("cuDevicePrimaryCtxRetain", s);
    const Current current(*this);
    if (const int s = load(&module, ptx->c_str())) return failed("cuModuleLoadData", s);
    if (const int s = function(&kernel, module, "lockstep_side")) return failed("cuModuleGetFunction", s);
    for (void** one : {&stream, &control})
      if (const int s = stream_create(one, kNonBlocking)) return failed("cuStreamCreate", s);
    for (const auto& [where, bytes] :
         {std::pair(&from, kBufferBytes), std::pair(&to, kBufferBytes),
          std::pair(&moved, kMostBlocks * sizeof(Address)), std::pair(&stop, kWordBytes)}) {
      if (const int s = allocate(where, bytes)) return failed("cuMemAlloc", s);
      if (const int s = set_words(*where, 0, bytes / 4, control)) return failed("cuMemsetD32Async", s);
    }
    if (const int s = stream_wait(control)) return failed("cuStreamSynchronize", s);
    return "";
  }
};

Expected<std::string> compile_side_kernel(const std::string& architecture) {
  Nvrtc nvrtc;
  std::string why;
  if (!nvrtc.open(why)) return no(fmt::format("NVRTC, which compiles the kernel, cannot be used: {}", why));
  void* program = nullptr;
  if (const int s = nvrtc.create(&program, kSource, "lockstep_side.cu", 0, nullptr, nullptr))
    return no(fmt::format("nvrtcCreateProgram: {}", nvrtc.error_text(s)));
  const std::string option = "--gpu-architecture=" + architecture;
  const std::array<const char*, 1> options = {option.c_str()};
  const int status = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  std::string text =
      status == 0 ? nvrtc.text(program, nvrtc.ptx_size, nvrtc.ptx) : nvrtc.text(program, nvrtc.log_size, nvrtc.log);
  nvrtc.destroy(&program);
  if (status != 0) return no(fmt::format("NVRTC for {}: {}; {}", architecture, nvrtc.error_text(status), text));
  return text;
}

SideKernel::SideKernel(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}
SideKernel::SideKernel(SideKernel&&) noexcept = default;
SideKernel& SideKernel::operator=(SideKernel&&) noexcept = default;
SideKernel::~SideKernel() = default;

Expected<SideKernel> SideKernel::make(int device) {
  auto driver = std::make_unique<Driver>();
  std::string why;
  if (!driver->open(why)) return no(fmt::format("there is no NVIDIA driver to start a kernel with: {}", why));
  if (why = driver->set_up(device); !why.empty()) return no(std::move(why));
  return SideKernel(std::move(driver));
}

tl::expected<void, Errors> SideKernel::start(const SideLoad& load) {
  Driver& d = *driver_;
  if (d.running) return no("the side kernel runs already");
  if (load.blocks < 1 || load.blocks > kMostBlocks || load.threads < 1 || load.threads > 1024)
    return no(fmt::format("a side kernel has 1 to {} blocks of 1 to 1024 threads, not {} of {}", kMostBlocks,
                          load.blocks, load.threads));
  const Driver::Current current(d);
  if (d.set_words(d.stop, 0, 1, d.control) != 0 || d.stream_wait(d.control) != 0)
    return no("the side kernel's flag could not be cleared");
  const std::size_t chunks = kBufferBytes / kWordBytes / kChunkWords / static_cast<std::size_t>(load.blocks);
  unsigned long long words = chunks * kChunkWords, most_ns = static_cast<unsigned long long>(load.most_s * 1e9);
  double bytes_per_ns = load.rate_bps / load.blocks * 1e-9;
  std::array<void*, 7> arguments = {&d.stop, &d.from, &d.to, &words, &bytes_per_ns, &most_ns, &d.moved};
  d.started = std::chrono::steady_clock::now();
  d.load_of_run = load;
  if (const int s = d.launch(d.kernel, static_cast<unsigned>(load.blocks), 1, 1, static_cast<unsigned>(load.threads), 1,
                             1, 0, d.stream, arguments.data(), nullptr))
    return no("cuLaunchKernel: " + d.name_of_error(s));
  d.running = true;
  return {};
}

Expected<SideRun> SideKernel::stop() {
  Driver& d = *driver_;
  if (!d.running) return no("the side kernel does not run");
  const Driver::Current current(d);
  d.running = false;
  if (const int s = d.set_words(d.stop, 1, 1, d.control)) return no("cuMemsetD32Async: " + d.name_of_error(s));
  if (const int s = d.stream_wait(d.stream)) return no("cuStreamSynchronize: " + d.name_of_error(s));
  SideRun run;
  run.duration_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - d.started).count();
  std::vector<Address> moved(static_cast<std::size_t>(d.load_of_run.blocks));
  if (const int s = d.to_host(moved.data(), d.moved, moved.size() * sizeof(Address)))
    return no("cuMemcpyDtoH: " + d.name_of_error(s));
  for (const Address bytes : moved) run.moved_bytes += static_cast<double>(bytes);
  if (run.duration_s >= d.load_of_run.most_s)
    return no(fmt::format("the side kernel ended by itself after {} s: what ran beside it took longer",
                          d.load_of_run.most_s));
  return run;
}

}  // namespace lockstep
