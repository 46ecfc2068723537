#include "hwrunner/measure/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "hwrunner/launch/pinning.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
constexpr double kWorthAWarning = 0.05;  // of the machine's cores

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<double> number_in(const std::string& text) {
  const std::size_t start = text.find_first_of("-0123456789");
  if (start == std::string::npos) return std::nullopt;
  double value = 0;
  const auto [end, code] = std::from_chars(text.data() + start, text.data() + text.size(), value);
  return code == std::errc{} ? std::optional(value) : std::nullopt;
}

std::string after_colon(const std::string& line) {
  const std::size_t colon = line.find(':');
  const std::size_t start = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
  return start == std::string::npos ? "" : line.substr(start);
}

// "model name" of x86; "Hardware", "Model" or the implementer's part number elsewhere.
std::string cpu_name(const std::string& root) {
  std::ifstream file(root + "/proc/cpuinfo");
  std::string other;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return after_colon(line);
    if (other.empty() && (line.rfind("Hardware", 0) == 0 || line.rfind("CPU part", 0) == 0)) other = after_colon(line);
  }
  return other;
}

std::int64_t memory_of(const std::string& root, const std::string& name) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name + ":", 0) == 0) return static_cast<std::int64_t>(number_in(line).value_or(0) * 1024);
  return 0;
}

std::string core_folder(const std::string& root, int core) {
  return fmt::format("{}/sys/devices/system/cpu/cpu{}", root, core);
}

int physical_behind(const std::vector<int>& allowed, const std::string& root) {
  std::set<std::string> cores;
  for (const int core : allowed) {
    const std::string folder = core_folder(root, core) + "/topology/";
    const std::string id = first_line(folder + "core_id");
    cores.insert(id.empty() ? fmt::format("cpu{}", core) : first_line(folder + "physical_package_id") + "/" + id);
  }
  return static_cast<int>(cores.size());
}

// Seconds from fields of /proc/stat's first line, which counts ticks: user nice system idle iowait irq softirq steal.
double ticks_s(const std::vector<double>& fields, std::initializer_list<std::size_t> which) {
  double sum = 0;
  for (const std::size_t i : which)
    if (i < fields.size()) sum += fields[i];
  return sum / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

void use_cores(Machine& machine, std::vector<int> cores, const std::string& root) {
  machine.allowed = std::move(cores);
  machine.cores = std::max(1, static_cast<int>(machine.allowed.size()));
  machine.physical_cores = std::max(1, physical_behind(machine.allowed, root));
}

Machine this_machine(const std::string& root) {
  Machine machine;
  utsname names{};
  if (::uname(&names) == 0) {
    machine.host = names.nodename;
    machine.kernel = fmt::format("{} {}", names.sysname, names.release);
  }
  machine.cpu = cpu_name(root);
  use_cores(machine, allowed_cores(), root);
  if (!machine.allowed.empty())
    machine.governor = first_line(core_folder(root, machine.allowed.front()) + "/cpufreq/scaling_governor");
  machine.memory_bytes = memory_of(root, "MemTotal");
  machine.available_bytes = memory_of(root, "MemAvailable");
  machine.load = number_in(first_line(root + "/proc/loadavg")).value_or(0);
  return machine;
}

std::map<std::string, std::string> fingerprint(const Machine& machine) {
  std::map<std::string, std::string> facts;
  const auto add = [&facts](const char* key, const std::string& value) {
    if (!value.empty() && value != "0") facts[key] = value;
  };
  add("host", machine.host);
  add("cpu", machine.cpu);
  add("cores", fmt::format("{}", machine.cores));
  add("physical_cores", fmt::format("{}", machine.physical_cores));
  add("memory_bytes", fmt::format("{}", machine.memory_bytes));
  add("kernel", machine.kernel);
  add("governor", machine.governor);
  add("affinity", core_list(machine.allowed));
  facts["load"] = fmt::format("{:.2f}", machine.load);
  return facts;
}

std::map<std::string, std::string> interface_facts(const std::string& name, const std::string& root) {
  std::map<std::string, std::string> facts;
  if (name.empty() || name.find('/') != std::string::npos) return facts;
  facts["network_interface"] = name;
  const std::string folder = fmt::format("{}/sys/class/net/{}", root, name);
  if (const auto rate = number_in(first_line(folder + "/speed")); rate && *rate > 0)
    facts["network_rate_mbit_per_s"] = fmt::format("{:.0f}", *rate);
  if (const std::string size = first_line(folder + "/mtu"); !size.empty()) facts["network_mtu_bytes"] = size;
  return facts;
}

CpuCounters cpu_counters(const std::string& root) {
  CpuCounters counters;
  std::istringstream line(first_line(root + "/proc/stat"));
  line.imbue(std::locale::classic());
  std::string name;
  line >> name;
  std::vector<double> fields;
  for (double field = 0; line >> field;) fields.push_back(field);
  counters.busy_s = ticks_s(fields, {0, 1, 2, 5, 6});
  counters.stolen_s = ticks_s(fields, {7});
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(root + "/sys/devices/system/cpu", failure))
    if (const std::string count = first_line(entry.path().string() + "/thermal_throttle/core_throttle_count");
        !count.empty())
      counters.throttled += static_cast<std::int64_t>(number_in(count).value_or(0));
  return counters;
}

std::vector<std::string> disturbances(const Machine& machine, const LaunchLoad& load) {
  std::vector<std::string> found;
  const double all_s = load.wall_s * machine.cores;
  const double other = all_s > 0 ? (load.after.busy_s - load.before.busy_s - load.own_cpu_s) / all_s : 0;
  const double stolen = all_s > 0 ? (load.after.stolen_s - load.before.stolen_s) / all_s : 0;
  if (other > kWorthAWarning)
    found.push_back(fmt::format("the machine was busy: other programs took {} of its cores", format_percent(other)));
  if (stolen > kWorthAWarning)
    found.push_back(fmt::format("the hypervisor gave {} of the cores to others", format_percent(stolen)));
  if (load.after.throttled > load.before.throttled) found.emplace_back("cores were slowed down because they were hot");
  if (load.threads > machine.physical_cores)
    found.push_back(fmt::format("{} threads shared {} core{}", load.threads, machine.physical_cores,
                                machine.physical_cores == 1 ? "" : "s"));
  return found;
}

}  // namespace lockstep
