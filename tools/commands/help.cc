#include "tools/commands/help.h"

#include <algorithm>
#include <iomanip>
#include <iostream>

#include "core/net/contract/layer.h"
#include "core/net/spec/fork_names.h"
#include "tools/cli/command.h"
#include "tools/cli/text_table.h"
#include "tools/cli/verbs.h"
#include "tools/cli/word_list.h"
#include "tools/help/field_table.h"
#include "tools/help/flag_text.h"
#include "tools/help/help_index.h"
#include "tools/help/help_topics.h"

namespace doppio {
namespace {

constexpr size_t kWidth = 100;

const std::vector<ExitCodeHelp> kExitCodes = {
    {static_cast<int>(ExitCode::kDone), "success"},
    {static_cast<int>(ExitCode::kBug), "a defect of Doppio"},
    {static_cast<int>(ExitCode::kUsage), "unknown command or flag, or a missing flag"},
    {static_cast<int>(ExitCode::kConfig), "errors in a net, a solver or --set"},
    {static_cast<int>(ExitCode::kFile),
     "a file is missing, unreadable, damaged or cannot be written"},
    {static_cast<int>(ExitCode::kDevice), "the requested device is missing or unusable"},
    {static_cast<int>(ExitCode::kMemory), "out of memory"},
    {static_cast<int>(ExitCode::kNonFinite), "the loss or a weight is not finite"},
    {static_cast<int>(ExitCode::kPeer), "another rank is lost"},
    {static_cast<int>(ExitCode::kDifference), "a comparison exceeds its tolerance"},
    {static_cast<int>(ExitCode::kStopped),
     "stopped by a signal after a snapshot; the run can be resumed"},
    {130, "a second SIGINT, before the snapshot was written"},
    {143, "a second SIGTERM, before the snapshot was written"},
};

// Breaks text into lines of at most kWidth columns and indents all lines but the first.
std::string Wrap(const std::string& text, size_t indent) {
  std::string out;
  size_t column = indent;
  for (const std::string& word : Words(text)) {
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
  const FlagText flag = DescribeFlag(name);
  const std::string shown = "--" + name + (flag.value.empty() ? "" : "=" + flag.value);
  constexpr size_t kIndent = 30;
  out << "  " << shown;
  if (shown.size() + 3 > kIndent) {
    out << '\n' << std::string(kIndent, ' ');
  } else {
    out << std::string(kIndent - 2 - shown.size(), ' ');
  }
  out << Wrap(flag.meaning, kIndent) << '\n';
}

void PrintExitCodes(std::ostream& out) {
  out << "Exit codes:\n";
  for (const ExitCodeHelp& e : kExitCodes) {
    out << std::setw(5) << e.code << "  " << e.meaning << '\n';
  }
}

void PrintExitCodesHint(std::ostream& out) {
  out << "\ndoppio help exit-codes lists the exit codes.\n";
}

void PrintCommands(std::ostream& out) {
  out << "Doppio trains the networks that Caffe's prototxt files describe.\n\n"
         "usage: doppio COMMAND [flags]        (flags may also precede the "
         "command)\n\nCommands:\n";
  const std::vector<std::string> names = Commands::Get().Names();
  size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  for (const std::string& name : names) {
    out << "  " << std::left << std::setw(static_cast<int>(longest) + 2) << name << std::right
        << Commands::Get().Find(name)->summary << '\n';
  }
  out << "\nFlags can also be set in the environment, such as DOPPIO_SOLVER for --solver. A link "
         "to "
         "the program\n"
         "that has the name of a command runs this command. Results go to standard output, log "
         "lines to\n"
         "standard error.\n";
  out << "\nExample:\n  doppio train --solver=models/lenet/solver.prototxt\n"
         "\ndoppio help COMMAND shows the flags of a command, doppio help Convolution the fields "
         "of a layer,\nand doppio help WORD the flags, fields and topics that match a word, such "
         "as "
         "warmup or resume.\n";
  PrintExitCodesHint(out);
}

// Prints the fields of a message. `name` is the name of the block in a file.
void PrintMessage(const std::string& name, const google::protobuf::Descriptor& message,
                  std::ostream& out) {
  out << name << " {\n";
  TextTable table({"  field", "type", "default", "meaning"});
  for (const FieldRow& row : FieldRows(message)) {
    table.Add({"  " + row.name, row.type, row.default_value, row.meaning});
  }
  table.Print(out);
  out << "}\n";
}

const google::protobuf::Descriptor* MessageNamed(const std::string& name) {
  return google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName("doppio." +
                                                                                   name);
}

// Prints the fields that a layer type uses, grouped by message.
void PrintLayer(const std::string& type, std::ostream& out) {
  out << "layer { name: \"...\" type: \"" << type << "\" ... }\n\n"
      << "bottoms and tops: " << ArityOf(type) << '\n';
  for (const google::protobuf::FieldDescriptor* parameter : ParametersOf(type)) {
    out << '\n';
    PrintMessage(parameter->name(), *parameter->message_type(), out);
  }
  out << "\ndoppio help FillerParameter shows one message, doppio help SolverParameter the solver, "
         "doppio reference everything.\n";
}

void PrintFlagsAndExample(const std::vector<std::string>& flags, const std::string& example,
                          std::ostream& out) {
  if (!flags.empty()) out << "\nFlags:\n";
  for (const std::string& flag : flags) PrintFlag(flag, out);
  out << "\nExample:\n  " << example << '\n';
  PrintExitCodesHint(out);
}

void PrintUsage(const std::string& name, const std::vector<std::string>& flags,
                const std::string& files, const std::string& summary, std::ostream& out) {
  out << "usage: doppio " << name << (flags.empty() ? "" : " [flags]")
      << (files.empty() ? "" : " " + files) << "\n\n"
      << summary << '\n';
}

void PrintVerb(const std::string& command, const Verb& verb, std::ostream& out) {
  PrintUsage(command + " " + verb.name, verb.flags, verb.files, verb.summary, out);
  PrintFlagsAndExample(verb.flags, verb.example, out);
}

// Prints the page of a command with verbs. Flags are on the pages of the verbs.
void PrintVerbs(const std::string& name, const Command& command, std::ostream& out) {
  PrintUsage(name + " VERB", command.flags, "...", command.summary, out);
  out << "\nVerbs:\n";
  for (const Verb& verb : command.verbs) {
    out << "  " << std::left << std::setw(30) << verb.name + " " + verb.files << std::right
        << verb.summary << '\n';
  }
  out << "\ndoppio help " << name << ' ' << command.verbs[0].name
      << " shows the flags of a verb.\n";
  PrintFlagsAndExample({}, command.example, out);
}

void PrintCommand(const std::string& name, const Command& command, std::ostream& out) {
  if (!command.verbs.empty()) return PrintVerbs(name, command, out);
  PrintUsage(name, command.flags, command.files, command.summary, out);
  PrintFlagsAndExample(command.flags, command.example, out);
}

// Shortens text to at most `columns` terminal columns, at a word boundary.
std::string CutTo(size_t columns, const std::string& text) {
  if (DisplayWidth(text) <= columns) return text;
  std::string cut;
  for (const std::string& word : Words(text)) {
    if (DisplayWidth(cut + " " + word + " ...") > columns) break;
    cut += (cut.empty() ? "" : " ") + word;
  }
  return cut + " ...";
}

// Prints a line for each of the best matches, with as much of its meaning as fits.
void PrintFound(std::vector<HelpEntry> entries, std::ostream& out) {
  constexpr size_t kMostShown = 12, kMostColumns = 126, kKindAndGaps = 15, kLeastMeaning = 40;
  const size_t more = entries.size() - std::min(entries.size(), kMostShown);
  entries.resize(entries.size() - more);
  size_t shown = 0, where = 0;
  for (const HelpEntry& entry : entries) {
    shown = std::max(shown, entry.shown.size());
    where = std::max(where, entry.where.size());
  }
  const size_t others = std::min(kMostColumns, shown + where + kKindAndGaps);
  const size_t columns = std::max(kLeastMeaning, kMostColumns - others);
  TextTable table({" what", "name", "meaning", "more"});
  for (const HelpEntry& entry : entries) {
    const bool whole = entry.kind == HelpEntry::kTopic;  // the meaning of a topic is its answer
    table.Add({std::string(" ") + NameOf(entry.kind), entry.shown,
               whole ? entry.meaning : CutTo(columns, entry.meaning), entry.where});
  }
  table.Print(out);
  if (more > 0) out << '\n' << more << " more; a longer word finds fewer\n";
}

void PrintTopics(std::ostream& out) {
  out << "doppio help finds these topics by many other words, too.\n\n";
  TextTable table({" topic", "answer", "more"});
  for (const HelpTopic& topic : HelpTopics())
    table.Add({" " + topic.name, topic.answer, topic.where});
  table.Print(out);
}

[[noreturn]] void ThrowNothingFound(const std::string& words) {
  for (const char* name : {"type=", ""}) {
    const std::string fork = ForkHint("LayerParameter", name + words);
    if (!fork.empty()) throw UsageError("Doppio has no '" + words + "': " + fork);
  }
  const std::string nearest = Join(NearestInHelp(words), "' or '");
  throw UsageError("help has nothing on '" + words + "'" +
                   (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") +
                   "\ntry: doppio help topics");
}

// Prints the page of the command or verb with this name, ignoring case, spaces, '-' and '_'.
// Returns false and prints nothing if there is none.
bool PrintCommandCalled(const std::string& words, std::ostream& out) {
  for (const std::string& name : Commands::Get().Names()) {
    const Command& command = *Commands::Get().Find(name);
    if (EqualHelpWords(name, words)) {
      PrintCommand(name, command, out);
      return true;
    }
    for (const Verb& verb : command.verbs) {
      if (!EqualHelpWords(name + verb.name, words)) continue;
      PrintVerb(name, verb, out);
      return true;
    }
  }
  return false;
}

void PrintHelpOn(const std::string& words, std::ostream& out) {
  if (LayerTypes::Get().Find(words) != nullptr) return PrintLayer(words, out);
  if (MessageNamed(words) != nullptr) return PrintMessage(words, *MessageNamed(words), out);
  if (PrintCommandCalled(words, out)) return;
  if (EqualHelpWords(words, "exit codes")) return PrintExitCodes(out);
  if (EqualHelpWords(words, "topics")) return PrintTopics(out);
  const std::vector<HelpEntry> found = SearchHelp(words);
  if (found.empty()) ThrowNothingFound(words);
  PrintFound(found, out);
}

ExitCode RunHelp(const CommandLine& line, bool*) {
  const std::string words = Join(line.files, " ");
  if (words.empty()) {
    PrintCommands(std::cout);
  } else {
    PrintHelpOn(words, std::cout);
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "help",
                {"shows the page of a command, verb, layer or message, or searches for a word",
                 {},
                 {},
                 "[COMMAND [VERB]|LAYER|MESSAGE|WORD...|topics|exit-codes]",
                 "doppio help train\n  doppio help warmup",
                 &RunHelp});

}  // namespace

const std::vector<ExitCodeHelp>& ExitCodeHelps() { return kExitCodes; }

void PrintHelp(const CommandLine& line, std::ostream& out) {
  if (line.command == nullptr) return PrintCommands(out);
  const Verb* verb = line.files.empty() ? nullptr : FindVerb(*line.command, line.files[0]);
  if (verb != nullptr) return PrintVerb(line.command_name, *verb, out);
  PrintCommand(line.command_name, *line.command, out);
}

}  // namespace doppio
