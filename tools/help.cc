#include "tools/help.h"

#include <gflags/gflags.h>

#include <iomanip>
#include <iostream>
#include <sstream>

#include "core/base/nearest.h"
#include "tools/command.h"
#include "tools/flags.h"

namespace doppio {
namespace {

constexpr size_t kWidth = 100;

struct ExitCodeHelp {
  int code;
  const char* meaning;
};
const ExitCodeHelp kExitCodes[] = {
    {static_cast<int>(ExitCode::kDone), "the work asked for is done"},
    {static_cast<int>(ExitCode::kBug), "a defect of Doppio"},
    {static_cast<int>(ExitCode::kUsage), "unknown command or flag, a flag is missing"},
    {static_cast<int>(ExitCode::kConfig), "mistakes in a net, a solver or --set"},
    {static_cast<int>(ExitCode::kFile),
     "a file is missing, unreadable, damaged or cannot be written"},
    {static_cast<int>(ExitCode::kDevice), "the device asked for is missing or unusable"},
    {static_cast<int>(ExitCode::kMemory), "out of memory"},
    {static_cast<int>(ExitCode::kNonFinite), "the loss is not a number any more"},
    {static_cast<int>(ExitCode::kPeer), "another rank is lost"},
    {static_cast<int>(ExitCode::kDifference), "a comparison is over its tolerance"},
    {static_cast<int>(ExitCode::kStopped),
     "stopped by a signal, after a snapshot: run again to go on"},
    {130, "a second SIGINT, before the snapshot was written"},
    {143, "a second SIGTERM, before the snapshot was written"},
};

// Lines of words, each no wider than the page, all but the first indented.
std::string Wrap(const std::string& text, size_t indent) {
  std::istringstream words(text);
  std::string out;
  size_t column = indent;
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

void PrintFlag(const std::string& name, std::ostream& out) {
  gflags::CommandLineFlagInfo info;
  DOPPIO_CHECK(gflags::GetCommandLineFlagInfo(name.c_str(), &info),
               "no flag of this name: " + name);
  std::string shown = "--" + name, text = info.description;
  if (!text.empty() && text[0] == '<') {
    const size_t end = text.find('>');
    shown += "=" + text.substr(1, end - 1);
    text = text.substr(end + 2);
  }
  if (info.type != "bool" && !info.default_value.empty() && info.default_value != "-1" &&
      text.find(" = ") == std::string::npos) {
    text += " (default: " + info.default_value + ")";
  } else if (info.type == "bool" && info.default_value == "true") {
    text += " (default; --no" + name + " turns it off)";
  }
  constexpr size_t kIndent = 30;
  out << "  " << shown;
  if (shown.size() + 3 > kIndent) {
    out << '\n' << std::string(kIndent, ' ');
  } else {
    out << std::string(kIndent - 2 - shown.size(), ' ');
  }
  out << Wrap(text, kIndent) << '\n';
}

void PrintExitCodes(std::ostream& out) {
  out << "\nExit codes:\n";
  for (const ExitCodeHelp& e : kExitCodes) {
    out << std::setw(5) << e.code << "  " << e.meaning << '\n';
  }
}

void PrintCommands(std::ostream& out) {
  out << "Doppio trains the networks that Caffe's prototxt files describe.\n\n"
         "usage: doppio COMMAND [flags]        (flags may also stand before the "
         "command)\n\nCommands:\n";
  for (const std::string& name : Commands::Get().Names()) {
    out << "  " << std::left << std::setw(20) << name << std::right
        << Commands::Get().Find(name)->summary << '\n';
  }
  out << "\nEvery flag can also be given in the environment: DOPPIO_SOLVER for --solver. Called "
         "through a\n"
         "link with the name of a command, the program is that command. Results go to standard "
         "output,\n"
         "log lines to standard error.\n";
  PrintExitCodes(out);
  out << "\nExample:\n  doppio train --solver=models/lenet/solver.prototxt\n"
         "\ndoppio help COMMAND shows the flags of a command.\n";
}

void PrintCommand(const std::string& name, const Command& command, std::ostream& out) {
  out << "usage: doppio " << name << (command.flags.empty() ? "" : " [flags]")
      << (command.files.empty() ? "" : " " + command.files) << "\n\n"
      << command.summary << '\n';
  if (!command.flags.empty()) out << "\nFlags:\n";
  for (const std::string& flag : command.flags) PrintFlag(flag, out);
  PrintExitCodes(out);
  out << "\nExample:\n  " << command.example << '\n';
}

ExitCode RunHelp(const CommandLine& line, bool*) {
  PrintHelp(line.files.empty() ? "" : line.files[0], std::cout);
  return ExitCode::kDone;
}

ExitCode RunVersion(const CommandLine&, bool*) {
  PrintVersion(std::cout);
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "help",
                {"shows the commands, or the flags of one",
                 {},
                 {},
                 "[COMMAND]",
                 "doppio help train",
                 &RunHelp});
DOPPIO_REGISTER(Commands, "version",
                {"shows the version", {}, {}, "", "doppio version", &RunVersion});

}  // namespace

void PrintVersion(std::ostream& out) { out << "doppio " << kVersion << '\n'; }

void PrintHelp(const std::string& command, std::ostream& out) {
  if (command.empty()) return PrintCommands(out);
  const Command* found = Commands::Get().Find(command);
  if (found == nullptr) {
    throw UsageError("unknown command '" + command + "'" +
                     DidYouMean(command, Commands::Get().Names()));
  }
  PrintCommand(command, *found, out);
}

}  // namespace doppio
