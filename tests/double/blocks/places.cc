#include "tests/double/blocks/places.h"

#include <link.h>

#include <algorithm>
#include <vector>

namespace doppio::gpu_double {
namespace {

struct Segment {
  Range range;
  StaticPlace place;
};

struct Places {
  unsigned long long loads = 0;   // libraries loaded so far, as the dynamic linker counts them
  std::vector<Segment> segments;  // sorted by address, disjoint
  Segment last = {{}, StaticPlace::kNone};  // result of the last query
};
Places& ThePlaces() {
  static Places& places = *new Places();
  return places;
}

int ReadModule(dl_phdr_info* module, size_t, void* data) {
  auto* places = static_cast<Places*>(data);
  Range constant;  // read-only after relocation
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type == PT_GNU_RELRO)
      constant = {module->dlpi_addr + header.p_vaddr, header.p_memsz};
  }
  const auto add = [&](uintptr_t begin, uintptr_t end, StaticPlace place) {
    if (begin < end) places->segments.push_back({{begin, end - begin}, place});
  };
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const uintptr_t begin = module->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
    if ((header.p_flags & PF_W) == 0) {
      add(begin, end, StaticPlace::kConstant);
    } else if (constant.Has(begin)) {
      const uintptr_t middle = std::min(end, constant.begin + constant.bytes);
      add(begin, middle, StaticPlace::kConstant);
      add(middle, end, StaticPlace::kWritable);
    } else {
      add(begin, end, StaticPlace::kWritable);
    }
  }
  return 0;
}

unsigned long long CountLoads() {
  unsigned long long loads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* module, size_t, void* to) {
        *static_cast<unsigned long long*>(to) = module->dlpi_adds + module->dlpi_subs;
        return 1;
      },
      &loads);
  return loads;
}

}  // namespace

void ReadPlaces() {
  Places& places = ThePlaces();
  const unsigned long long loads = CountLoads();
  if (loads == places.loads) return;
  places.segments.clear();
  places.last = {{}, StaticPlace::kNone};
  dl_iterate_phdr(&ReadModule, &places);
  places.loads = loads;
  std::sort(places.segments.begin(), places.segments.end(),
            [](const Segment& a, const Segment& b) { return a.range.begin < b.range.begin; });
}

StaticPlace PlaceOf(uintptr_t at) {
  Segment& last = ThePlaces().last;
  if (last.range.Has(at)) return last.place;
  const std::vector<Segment>& segments = ThePlaces().segments;
  auto next = std::upper_bound(segments.begin(), segments.end(), at,
                               [](uintptr_t at, const Segment& s) { return at < s.range.begin; });
  if (next == segments.begin() || !(--next)->range.Has(at)) return StaticPlace::kNone;
  last = *next;
  return last.place;
}

}  // namespace doppio::gpu_double
