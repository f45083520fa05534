#!/bin/sh
# A stand-in for Codex with a thread of its own: keeps its rollout open, answers what it was told first.
home="${CODEX_HOME:-$HOME/.codex}"
id="" prompt=""
if [ "$1" = resume ]; then
    for arg in "$@"; do id="$arg"; done
else
    for arg in "$@"; do prompt="$arg"; done
fi
cwd=$(pwd -P)
dir="$home/sessions/2026/01/01"
mkdir -p "$dir"
now() { date -u +%Y-%m-%dT%H:%M:%S.000Z; }
if [ -z "$id" ]; then
    ms=$(printf '%012x' "$(date +%s%3N)")
    tail=$(cut -c 15-36 /proc/sys/kernel/random/uuid)
    id="$(printf %s "$ms" | cut -c 1-8)-$(printf %s "$ms" | cut -c 9-12)-7$(printf %s "$tail" | cut -c 2-22)"
    file="$dir/rollout-2026-01-01T00-00-00-$id.jsonl"
    printf '{"timestamp":"%s","type":"session_meta","payload":{"id":"%s","cwd":"%s","originator":"codex-tui","source":"cli","cli_version":"0.171.0"}}\n' \
        "$(now)" "$id" "$cwd" > "$file"
else
    file=$(ls "$dir"/rollout-*-"$id".jsonl 2>/dev/null)
    [ -s "$file" ] || { echo "ERROR: No saved session found with ID $id."; exit 1; }
fi
exec 9>> "$file"
turn() {
    printf '{"timestamp":"%s","type":"event_msg","payload":{"type":"user_message","message":"%s"}}\n' "$(now)" "$1" >&9
}
[ -z "$prompt" ] || turn "$prompt"
printf '\033]2;Ready | %s...\007' "$(printf %s "$id" | cut -c 1-29)"
echo "codex stand-in ready"
while read -r text; do
    case "$text" in
        /quit) printf '\033]2;\007'; exit 0 ;;
        who) echo "I AM $(sed -n 's/.*"type":"user_message","message":"\([^"]*\)".*/\1/p' "$file" | head -n 1)" ;;
        *) turn "$text"; echo "noted: $text" ;;
    esac
done
