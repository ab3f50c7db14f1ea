"""Print a script that lets a shell complete `mate`: source <(mate completion bash)."""

from __future__ import annotations

from mate_cli.cli.completion import SHELLS, candidates
from mate_cli.config.rules import unknown_name
from mate_cli.system.errors import UserError

# Each asks `mate completion query LINE` for what could follow, and completes file names where nothing is said.
SCRIPTS = {
    # Readline takes what follows "=" for a word of its own.
    "bash": """\
_mate() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}"
    COMPREPLY=($("$1" completion query "$line" 2>/dev/null))
    [[ ${COMPREPLY[0]} == *[=.[] ]] && compopt -o nospace
    [[ ${line##* } == *=* ]] && COMPREPLY=("${COMPREPLY[@]#*=}")
    return 0
}
complete -o default -F _mate mate
""",
    "zsh": """\
#compdef mate
_mate() {
    local -a found open
    found=(${(f)"$("${words[1]}" completion query "$LBUFFER" 2>/dev/null)"})
    open=(${(M)found:#*[=.]})
    if (( ${#found} )); then
        compadd -Q -S '' -- $open
        compadd -Q -- ${found:|open}
    else
        compset -P '*='
        _files
    fi
}
compdef _mate mate
""",
    "fish": """\
function __mate_candidates
    set -l words (commandline -opc)
    set -l found ($words[1] completion query (commandline -cp) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        set -l key (string match -r '^[^=]*=' -- (commandline -ct))
        string replace -r '^' "$key" -- (__fish_complete_path (string replace -- "$key" '' (commandline -ct)))
    end
end
complete -c mate -f -a '(__mate_candidates)'
""",
}


def run(shell: str = "bash", line: str = "") -> None:
    """Print the script of a shell; for the shell ``query``, what could continue a line, one a line.

    Raises:
        UserError: there is no script for that shell.
    """
    if shell == "query":
        print("\n".join(candidates(line)))
    elif shell in SCRIPTS:
        print(SCRIPTS[shell], end="")
    else:
        raise UserError(unknown_name("shell", shell, SHELLS))
