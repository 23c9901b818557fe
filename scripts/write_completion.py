#!/usr/bin/env python3
"""Writes doctor/completion/lora-doctor.{bash,zsh,fish} from what the command line says of itself.

    scripts/write_completion.py [--check]

The scripts ask no program while somebody types: commands, options, their values, the faults that
``explain`` knows and the models that ``fit`` knows by name stand in them. ``--check`` writes nothing and ends
with 1 where the files are not what would be written.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from command_line import PROGRAM, Command, Option, commands

from doctor.memory import models
from doctor.pages import briefs

FOLDER = Path(__file__).resolve().parents[1] / "doctor" / "completion"
HEAD = "# Completion of lora-doctor for {shell}. Written by scripts/write_completion.py.\n"
BASH = """_lora_doctor() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= word
  COMPREPLY=()
  # --format=json is three words to bash.
  [ "$cur" = = ] && cur=
  [ "$prev" = = ] && prev=${{COMP_WORDS[COMP_CWORD-2]}}
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [ "$word" = -- ] && return
    case "$command $word" in
{steps}
    esac
  done
  case "$command:$prev" in
{values}
  esac
  local words
  case "$cur:$command" in
{words}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _lora_doctor lora-doctor
"""
ZSH = """_lora_doctor() {{
  local cur=${{words[CURRENT]}} prev=${{words[CURRENT-1]}} command= word
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    [[ $word == -- ]] && {{ _files; return }}
    case "$command $word" in
{steps}
    esac
  done
  case "$command:$prev" in
{values}
  esac
  local words_told
  case "$cur:$command" in
{words}
  esac
  compadd -- ${{=words_told}} || _files
}}
if [ "$funcstack[1]" = _lora_doctor ]; then _lora_doctor "$@"; else compdef _lora_doctor lora-doctor; fi
"""


def arguments_of(command: Command) -> Sequence[str]:
    """The words that may stand as an argument of a command."""
    known = {"explain": lambda: [one.id for one in briefs()], "fit": models.names}
    return command.children or known.get(command.path, tuple)()


def flags_of(command: Command) -> list[str]:
    """Every spelling of every option."""
    return [name for option in command.options for name in option.names]


def case(patterns: Iterable[str], action: str, indent: int = 4) -> str:
    """One branch of a shell's case."""
    return f"{' ' * indent}{'|'.join(patterns)}) {action} ;;"


def quoted(text: str) -> str:
    """A pattern as it stands: spaces must not part it."""
    return text.replace(" ", "\\ ")


def steps(told: Sequence[Command]) -> Iterator[str]:
    """From a command and the next word to the command that both name."""
    for command in told:
        for child in command.children:
            path = f"{command.path} {child}".strip()
            yield case([quoted(f"{command.path} {child}")], f"command={shlex.quote(path)}", 6)


def values(told: Sequence[Command], words: str, files: str) -> Iterator[str]:
    """What may follow an option that takes a value."""
    for command in told:
        for option in command.options:
            if option.metavar:
                patterns = [quoted(f"{command.path}:{name}") for name in option.names]
                if option.choices:
                    yield case(patterns, words.format(words=" ".join(option.choices)))
                elif option.takes_file:
                    yield case(patterns, files)
                else:
                    yield case(patterns, "return")


def offered(told: Sequence[Command], variable: str) -> Iterator[str]:
    """The options of a command behind a hyphen, else its arguments."""
    for command in told:
        yield case([quoted(f"-*:{command.path}")], f'{variable}="{" ".join(flags_of(command))}"')
        arguments = " ".join(arguments_of(command))
        if arguments:
            yield case([quoted(f"*:{command.path}")], f'{variable}="{arguments}"')


def bash(told: Sequence[Command]) -> str:
    """The script for bash."""
    reply = 'COMPREPLY=($(compgen -W "{words}" -- "$cur")); return'
    return HEAD.format(shell="bash") + BASH.format(
        steps="\n".join(steps(told)),
        values="\n".join(values(told, reply, 'COMPREPLY=($(compgen -f -- "$cur")); return')),
        words="\n".join(offered(told, "words")),
    )


def zsh(told: Sequence[Command]) -> str:
    """The script for zsh, as a file of fpath or to be sourced."""
    return (
        "#compdef lora-doctor\n"
        + HEAD.format(shell="zsh")
        + ZSH.format(
            steps="\n".join(steps(told)),
            values="\n".join(values(told, "compadd -- {words}; return", "_files; return")),
            words="\n".join(offered(told, "words_told")),
        )
    )


def fish(told: Sequence[Command]) -> str:
    """The script for fish."""
    return HEAD.format(shell="fish") + "".join(f"{line}\n" for one in told for line in fish_lines(one))


def fish_lines(command: Command) -> Iterator[str]:
    """What fish is told of one command."""
    names = command.path.split()
    here = " && ".join(f"__fish_seen_subcommand_from {name}" for name in names) or "__fish_use_subcommand"
    start = f"complete -c {PROGRAM} -n '{here}'"
    for option in command.options:
        yield f"{start}{fish_names(option)}{fish_value(option)} -d {fish_text(option.help)}"
    for child in command.children:
        summary = next(one.summary for one in commands() if one.path == f"{command.path} {child}".strip())
        unless = f" && not __fish_seen_subcommand_from {' '.join(command.children)}" if names else ""
        yield f"complete -c {PROGRAM} -f -n '{here}{unless}' -a {child} -d {fish_text(summary)}"
    if not command.children and (words := arguments_of(command)):
        yield f"{start} -a '{' '.join(words)}'"


def fish_names(option: Option) -> str:
    """Long names and short ones."""
    return "".join(f" -{'l' if name.startswith('--') else 's'} {name.lstrip('-')}" for name in option.names)


def fish_value(option: Option) -> str:
    """What an option takes."""
    if option.choices:
        return f" -xa '{' '.join(option.choices)}'"
    return "" if not option.metavar else " -rF" if option.takes_file else " -x"


def fish_text(text: str) -> str:
    """A text as fish quotes it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def wanted() -> dict[str, str]:
    """The text of each file by its name."""
    told = commands()
    return {f"{PROGRAM}.{write.__name__}": write(told) for write in (bash, zsh, fish)}


def main(arguments: Sequence[str]) -> int:
    """Write, or with ``--check`` look; the exit code."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    files = {FOLDER / name: text for name, text in wanted().items()}
    wrong = [file for file, text in files.items() if not file.is_file() or file.read_text("utf-8") != text]
    for file in wrong:
        if arguments:
            print(f"not as written: doctor/completion/{file.name}", file=sys.stderr)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(files[file], encoding="utf-8", newline="\n")
    return 1 if wrong and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
