#!/bin/sh
# What a harness runs for its hooks: hands the payload on standard input over to Reeve, in milliseconds, and lets the
# harness go on whatever happens. It decides nothing: whoever reads the spool next does (src/supervisor/reports.ts).
#
# It is read into the shell that the harness starts for the hook, or run by itself. REEVE_REPORT_TO, or its argument, is
# the directory of the run that reports here. Without one, the run whose marks are in the environment; then it was
# installed for all sessions, and one that Reeve does not know is none of its business.
#
# A message is a file of its own in the run's `hooks/`: first the processes above this one, nearest first, by which a
# harness that was started by a tool of the first one is told from it; then the payload; then a last line that says that
# it is whole, which costs no process as a rename would. After the run's end it goes to the state directory's
# `late-hooks/`, where it is found without looking through all runs that ever were.

umask 077

# A harness may call it a failed hook when its payload finds no reader.
leave() {
    cat >/dev/null
    exit 0
}

run=${1:-${REEVE_REPORT_TO-}}
origin=launch
if [ -z "$run" ]; then
    [ -n "${REEVE_HOME-}" ] && [ -n "${REEVE_RUN-}" ] || leave
    run=$REEVE_HOME/runs/$REEVE_RUN
    origin=installed
fi
spool=$run/hooks
[ -d "$spool" ] || leave
if [ -e "$run/exit.json" ]; then
    spool=${run%/*/*}/late-hooks
    # Another hook may be making it at the same time.
    [ -d "$spool" ] || mkdir "$spool" || [ -d "$spool" ] || leave
fi

above=$PPID
pid=$PPID
for step in 1 2 3; do
    if ! read -r stat 2>/dev/null <"/proc/$pid/stat"; then
        # Without /proc a look costs a process; the first one tells the harness.
        pid=$(ps -o ppid= -p "$pid") && above="$above ${pid##* }"
        break
    fi
    rest=${stat##*) ? }
    pid=${rest%% *}
    above="$above $pid"
done

# A pid may be reused before its message was read.
number=0
while [ -e "$spool/$$.$number" ]; do number=$((number + 1)); done
message=$spool/$$.$number
{
    printf '%s %s %s\n' "$origin" "${run##*/}" "$above" &&
        cat &&
        printf '\nwhole\n'
} >"$message" && exit 0

# The disk is full, or the directory cannot be written to: a half is no message.
rm -f "$message"
leave
