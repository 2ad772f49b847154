// `man`: writes manual pages, one for each command, an overview, and one for the topics of `help`.
#include <filesystem>
#include <iostream>
#include <sstream>

#include "core/base/file.h"
#include "core/base/text/nearest.h"
#include "core/base/version.h"
#include "tools/cli/command.h"
#include "tools/cli/word_list.h"
#include "tools/commands/help.h"
#include "tools/help/flag_text.h"
#include "tools/help/help_topics.h"

namespace doppio {
namespace {

constexpr const char* kTopics = "doppio-topics";

// Escapes text for troff.
std::string Roff(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\\' || c == '-') out += '\\';
    out += c == '\\' ? 'e' : c;
  }
  // A dot or quote at the start of a line begins a troff request.
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
  return out;
}

std::string Bold(const std::string& text) { return "\\fB" + Roff(text) + "\\fR"; }
std::string Italic(const std::string& text) { return "\\fI" + Roff(text) + "\\fR"; }

void Head(const std::string& page, const std::string& summary, std::ostream& out) {
  out << ".TH " << Roff(Upper(page)) << " 1 \"\" \"doppio " << Version() << "\" \"Doppio\"\n"
      << ".SH NAME\n"
      << Roff(page) << " \\- " << Roff(summary) << '\n';
}

void ExitStatus(std::ostream& out) {
  out << ".SH EXIT STATUS\n";
  for (const ExitCodeHelp& code : ExitCodeHelps()) {
    out << ".TP\n.B " << code.code << '\n' << Roff(code.meaning) << '\n';
  }
}

void PrintOverview(std::ostream& out) {
  Head("doppio", "trains the networks that Caffe's prototxt files describe", out);
  out << ".SH SYNOPSIS\n.B doppio\n.I COMMAND\n[\\fIflags\\fR] [\\fIfiles\\fR]\n.SH COMMANDS\n";
  for (const std::string& name : Commands::Get().Names()) {
    out << ".TP\n.BR doppio\\-" << Roff(name) << " (1)\n"
        << Roff(Commands::Get().Find(name)->summary) << '\n';
  }
  out << ".SH ENVIRONMENT\n.TP\n.BI DOPPIO_ FLAG\nAny flag of the command, such as "
      << Bold("DOPPIO_SOLVER") << " for " << Bold("--solver")
      << ". The command line takes precedence.\n"
      << ".TP\n.B OMP_NUM_THREADS\nThe number of compute threads. The default is all cores that "
         "the "
         "process may use.\n";
  ExitStatus(out);
  out << ".SH EXAMPLE\n.nf\n"
      << Roff("doppio train --solver=models/lenet/solver.prototxt")
      << "\n.fi\n.SH SEE ALSO\n.BR doppio\\-topics (1)\n";
}

void WriteFlags(const std::vector<std::string>& names, std::ostream& out) {
  for (const std::string& name : names) {
    const FlagText flag = DescribeFlag(name);
    out << ".TP\n"
        << Bold("--" + flag.name) << (flag.value.empty() ? "" : "=" + Italic(flag.value)) << '\n'
        << Roff(flag.meaning) << '\n';
  }
}

void Example(const std::string& example, std::ostream& out) {
  out << ".nf\n";
  std::istringstream lines(example);
  for (std::string line; std::getline(lines, line);) out << Roff(line) << '\n';
  out << ".fi\n";
}

void Verbs(const std::string& command, const std::vector<Verb>& verbs, std::ostream& out) {
  for (const Verb& verb : verbs) {
    out << ".SS " << Roff(verb.name) << '\n'
        << Roff(verb.summary) << "\n.PP\n.B doppio " << Roff(command + " " + verb.name) << '\n';
    if (!verb.flags.empty()) out << "[\\fIflags\\fR]\n";
    if (!verb.files.empty()) out << Italic(verb.files) << '\n';
    WriteFlags(verb.flags, out);
    out << ".PP\n";
    Example(verb.example, out);
  }
}

void PrintPage(const std::string& name, const Command& command, std::ostream& out) {
  Head("doppio-" + name, command.summary, out);
  out << ".SH SYNOPSIS\n.B doppio " << Roff(name) << '\n';
  if (!command.flags.empty()) out << "[\\fIflags\\fR]\n";
  if (!command.files.empty()) out << Italic(command.files) << '\n';
  if (!command.verbs.empty()) {
    out << ".SH VERBS\n";
    Verbs(name, command.verbs, out);
  } else if (!command.flags.empty()) {
    out << ".SH OPTIONS\n";
    WriteFlags(command.flags, out);
  }
  out << ".SH EXIT STATUS\n0 on success; all codes are listed in\n.BR doppio (1).\n"
         ".SH EXAMPLE\n";
  Example(command.example, out);
  out << ".SH SEE ALSO\n.BR doppio (1),\n.BR doppio\\-topics (1)\n";
}

void PrintTopicsPage(std::ostream& out) {
  Head(kTopics, "flags and fields by what they are for", out);
  out << ".SH DESCRIPTION\n.B doppio help\n.I WORD\nfinds these topics, and any flag or field.\n"
         ".SH TOPICS\n";
  for (const HelpTopic& topic : HelpTopics()) {
    out << ".TP\n"
        << Bold(topic.name) << '\n'
        << Roff(topic.answer) << "\n.br\n"
        << Italic(topic.where) << '\n';
  }
  out << ".SH SEE ALSO\n.BR doppio (1)\n";
}

void WriteAll(const std::string& folder) {
  // Writing the first page reports errors of the folder.
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::ostringstream overview;
  PrintOverview(overview);
  WriteFileAtomically(folder + "/doppio.1", overview.str());
  for (const std::string& name : Commands::Get().Names()) {
    std::ostringstream page;
    PrintPage(name, *Commands::Get().Find(name), page);
    WriteFileAtomically(folder + "/doppio-" + name + ".1", page.str());
  }
  std::ostringstream topics;
  PrintTopicsPage(topics);
  WriteFileAtomically(folder + "/" + kTopics + ".1", topics.str());
}

ExitCode RunMan(const CommandLine& line, bool*) {
  if (line.Given("man_dir")) {
    if (!line.files.empty())
      throw UsageError("--man_dir writes all pages; leave out '" + line.files[0] + "'");
    WriteAll(line.flags.man_dir);
  } else if (line.files.empty()) {
    PrintOverview(std::cout);
  } else if (line.files[0] == "topics") {
    PrintTopicsPage(std::cout);
  } else {
    const Command* command = Commands::Get().Find(line.files[0]);
    if (command == nullptr) {
      throw UsageError("unknown command '" + line.files[0] + "'" +
                       DidYouMean(line.files[0], Commands::Get().Names()));
    }
    PrintPage(line.files[0], *command, std::cout);
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "man",
                {"prints a manual page, or writes all of them",
                 {"man_dir"},
                 {},
                 "[COMMAND|topics]",
                 "doppio man --man_dir=$HOME/.local/share/man/man1",
                 &RunMan});

}  // namespace
}  // namespace doppio
