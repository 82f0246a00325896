#!/usr/bin/env bash
# Run a sweep, compare it with a base session and write the comparison to the summary of a GitHub job.
#
#     gate.sh SWEEP SESSION [BASE]
#
# An empty SWEEP compares a SESSION that exists. FAIL_ON, FAIL_ON_ALL and RESOLVE are percentages, of which an empty one of
# the last two isn't checked. FAIL_ON_UNSURE is true or false, and so is TRUST: whether to run the code and set the
# variables that the sweep names.
# Exit status: 0 if no case fails or there is no BASE, 1 if a case is significantly slower or is no longer measured,
# 2 for invalid usage; if the sweep failed, that of "benchtui run".
set -euo pipefail

refuse() {
    printf '%s\n' "$1" >&2
    exit 2
}

sweep=$1 session=$2 base=${3-} on_unsure=${FAIL_ON_UNSURE:-false}
# a line break would add a line of its own to the outputs
if [[ $session == *[$'\n\r']* ]]; then refuse "session: ${session@Q} has a line break; use another name"; fi
if [[ $on_unsure != true && $on_unsure != false ]]; then refuse "fail-on-unsure: ${on_unsure@Q} isn't true or false"; fi
summary=${GITHUB_STEP_SUMMARY:-/dev/stdout} outputs=${GITHUB_OUTPUT:-/dev/null}
most_bytes=1000000 # a summary has at most 1 MiB
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

if [[ -n $sweep ]]; then
    trust=()
    if [[ ${TRUST:-false} == true ]]; then trust=(--trust); fi
    benchtui run -o "$session" "${trust[@]}" -- "$sweep" || {
        status=$?
        echo "benchtui run ended with exit status $status: see the log." >>"$summary"
        exit "$status"
    }
fi
echo "session=$session" >>"$outputs"

if [[ -z $base ]]; then
    echo "There is no base session yet: nothing was compared." >>"$summary"
    benchtui export --format md -o "$folder/report.md" -- "$session"
    head -c "$most_bytes" "$folder/report.md" >>"$summary"
    echo "verdict=none" >>"$outputs"
    exit 0
fi

gate=(--fail-on "${FAIL_ON:-5%}")
if [[ -n ${FAIL_ON_ALL-} ]]; then gate+=(--fail-on-all "$FAIL_ON_ALL"); fi
if [[ -n ${RESOLVE-} ]]; then gate+=(--resolve "$RESOLVE"); fi
if [[ $on_unsure == true ]]; then gate+=(--fail-on-unsure); fi
status=0
benchtui compare --format github -o "$folder/summary.md" "${gate[@]}" -- "$base" "$session" 2>"$folder/lines" || status=$?
cat "$folder/lines" >&2
if ((status > 1)) || [[ ! -s $folder/summary.md ]]; then
    sed 's/^/    /' "$folder/lines" >>"$summary"
    exit 2
fi
if ((status == 0)); then verdict=pass; else verdict=fail; fi
cat "$folder/summary.md" >>"$summary"
echo "verdict=$verdict" >>"$outputs"
exit "$status"
