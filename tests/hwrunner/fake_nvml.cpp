// Stands in for libnvidia-ml.so.1: two GPUs. FAKE_NVML=broken: it does not start; FAKE_NVML=silent: the devices tell
// nothing that may be left out.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kNotSupported = 3, kUninitialised = 1, kNotFound = 6;
int gpus[2] = {0, 1};
int started = 0;

bool is(const char* mood) {
  const char* asked = std::getenv("FAKE_NVML");
  return asked != nullptr && std::strcmp(asked, mood) == 0;
}
int index_of(const void* device) {
  return device == &gpus[1] ? 1 : 0;
}
int number(unsigned* to, unsigned value) {
  if (is("silent")) return kNotSupported;
  *to = value;
  return 0;
}
int text(char* to, unsigned size, const char* value) {
  if (std::strlen(value) >= size) return 7;
  std::strcpy(to, value);
  return 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (is("broken")) return 9;
  ++started;
  return 0;
}
int nvmlShutdown() {
  --started;
  return 0;
}
const char* nvmlErrorString(int status) {
  return status == 9 ? "Driver Not Loaded" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* to, unsigned size) {
  return started > 0 ? text(to, size, "580.65.06") : kUninitialised;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index > 1) return 2;
  *device = &gpus[index];
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  if (std::strcmp(bus, "0000:1b:00.0") != 0) return kNotFound;
  *device = &gpus[1];
  return 0;
}
int nvmlDeviceGetIndex(void* device, unsigned* index) {
  *index = static_cast<unsigned>(index_of(device));
  return 0;
}
int nvmlDeviceGetName(void* device, char* to, unsigned size) {
  return text(to, size, index_of(device) == 0 ? "NVIDIA A100-SXM4-80GB" : "NVIDIA H200");
}
int nvmlDeviceGetUUID(void* device, char* to, unsigned size) {
  return text(to, size, index_of(device) == 0 ? "GPU-aa" : "GPU-bb");
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* total_free_used) {
  if (is("silent")) return kNotSupported;
  total_free_used[0] = 85899345920ULL;
  total_free_used[1] = 80000000000ULL;
  total_free_used[2] = 5899345920ULL;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* gpu_memory) {
  gpu_memory[1] = 40;
  return number(&gpu_memory[0], 87);
}
int nvmlDeviceGetClockInfo(void* device, int kind, unsigned* mhz) {
  return kind == 1 ? number(mhz, index_of(device) == 0 ? 1200 : 1980) : kNotSupported;
}
int nvmlDeviceGetMaxClockInfo(void* device, int kind, unsigned* mhz) {
  return kind == 1 ? number(mhz, index_of(device) == 0 ? 1410 : 1980) : kNotSupported;
}
// Under its older name only. Idle, a power cap, thermal.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
  if (is("silent")) return kNotSupported;
  *bits = index_of(device) == 0 ? 0x1 + 0x4 + 0x20 : 0;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  return number(milliwatts, 401500);
}
int nvmlDeviceGetTemperature(void*, int sensor, unsigned* degrees) {
  return sensor == 0 ? number(degrees, 63) : kNotSupported;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) {
  return number(generation, 4);
}
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* width) {
  return number(width, 16);
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* active) {
  if (is("silent") || link >= 12) return kNotSupported;
  *active = link != 5;
  return 0;
}
int nvmlDeviceGetTopologyCommonAncestor(void*, void*, int* level) {
  if (is("silent")) return kNotSupported;
  *level = 30;
  return 0;
}

}  // extern "C"
