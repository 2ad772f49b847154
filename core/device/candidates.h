// Chooses one of several ways to compute the same thing: engines of a layer, layouts and
// implementations of a library, algorithms that are measured. One mechanism serves all devices, and
// --dry_run prints its choices.
//
// A choice by modelled costs depends on nothing else, so a resumed training makes it again. A
// measured choice can come out otherwise, and with it the bits of the results. A device therefore
// notes the measured choices that its kernels use; snapshots store them and a resume replays them.
#ifndef DOPPIO_CORE_DEVICE_CANDIDATES_H_
#define DOPPIO_CORE_DEVICE_CANDIDATES_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace doppio {

// The outcome of trying a candidate.
struct CandidateTrial {
  std::string declined;  // why it cannot be used; "" if it can
  double cost = 0;       // modelled, or measured; only compared within one choice
  std::string detail;    // more about the candidate, for people: "jit:avx512_core"
};

// One way to compute something.
struct Candidate {
  std::string name;
  double least_cost = 0;  // not tried if an earlier candidate costs no more than this
  std::function<CandidateTrial()> attempt;
};

// A choice that was made.
struct CandidateChoice {
  struct Row {
    std::string name;
    bool tried = false;
    CandidateTrial trial;  // valid if it was tried
  };
  std::string what;       // what was chosen: "engine", "layouts"
  std::vector<Row> rows;  // the candidates, in order
  int chosen = -1;        // index of the chosen row; -1 if all have declined

  // Returns "name: reason" for each row from `first` on that declined, joined by "; ".
  std::string Declined(size_t first = 0) const;
  // Returns the same for all rows, and then the rows that lost: "not better: name, name".
  std::string Others() const;
};

// Tries the candidates in order. Chooses the one that costs least; of equals, the first one. If
// `preferred` is the name of a candidate that does not decline, chooses it and tries no other.
CandidateChoice ChooseAmong(const std::string& what, const std::vector<Candidate>& candidates,
                            const std::string& preferred = "");

// The measured choices of a device. Not thread-safe, like the device.
class MeasuredChoices {
 public:
  // Takes the choices of another run, from its lines(), for keys that occur in this one. Call it
  // before kernels are made for the device. Ignores lines that are no choices.
  void Replay(const std::vector<std::string>& lines);
  // Returns the choice that is replayed for `key`, or nullopt. A key names all that a choice
  // depends on, such as the model of the device and the version of the library.
  std::optional<std::string> Find(const std::string& key) const;
  // Notes that a kernel of the device uses `choice`.
  void Note(const std::string& key, const std::string& choice) { used_[key] = choice; }
  // Returns the choices that kernels use, as sorted lines "key = choice".
  std::vector<std::string> lines() const;

 private:
  std::map<std::string, std::string> replayed_, used_;
};

// Makes a choice whose costs are measured, or repeats the one that `measured` replays for `key`,
// and notes it there. The choice is stored by the candidate's name.
CandidateChoice ChooseMeasured(MeasuredChoices* measured, const std::string& key,
                               const std::string& what, const std::vector<Candidate>& candidates);

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_CANDIDATES_H_
