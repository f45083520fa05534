#!/bin/sh
# A stand-in for Claude Code: keeps the same files, calls the same hooks, answers what it was told first.
home="${CLAUDE_CONFIG_DIR:-$HOME/.claude}"
id="" prompt="" source=startup
while [ $# -gt 0 ]; do
    case "$1" in
        --permission-mode | --model | --effort) shift 2 ;;
        --resume) id="$2"; source=resume; shift 2 ;;
        -*) shift ;;
        *) prompt="$1"; shift ;;
    esac
done
cwd=$(pwd -P)
[ -n "$id" ] || id=$(cat /proc/sys/kernel/random/uuid)
folder="$home/projects/$(printf %s "$cwd" | tr -c 'A-Za-z0-9' '-')"
file="$folder/$id.jsonl"
mkdir -p "$folder" "$home/sessions"
if [ "$source" = resume ] && [ ! -s "$file" ]; then
    echo "No conversation found with session ID: $id"
    exit 1
fi
now() { date -u +%Y-%m-%dT%H:%M:%S.000Z; }
line() {
    printf '{"type":"%s","sessionId":"%s","cwd":"%s","timestamp":"%s","uuid":"%s","isSidechain":false,"entrypoint":"cli","version":"2.1.332","permissionMode":"default","message":{"role":"%s","content":"%s"}}\n' \
        "$1" "$id" "$cwd" "$(now)" "$(cat /proc/sys/kernel/random/uuid)" "$1" "$2" >> "$file"
}
event() {
    [ -x "$RESEAT" ] || return 0
    printf '{"session_id":"%s","hook_event_name":"%s","source":"%s","reason":"%s","permission_mode":"default","cwd":"%s"}' \
        "$id" "$1" "$source" "$2" "$cwd" | "$RESEAT" hook claude
}
record="$home/sessions/$$.json"
start=$(sed 's/.*) //' "/proc/$$/stat" | cut -d' ' -f20)
record_now() {
    printf '{"pid":%s,"sessionId":"%s","cwd":"%s","startedAt":%s000,"procStart":"%s","version":"2.1.332","kind":"interactive","entrypoint":"cli","status":"idle"}' \
        "$$" "$id" "$cwd" "$(date +%s)" "$start" > "$record"
}
record_now
leave() { rm -f "$record"; event SessionEnd "$1"; exit "$2"; }
trap 'leave other 129' HUP
trap 'leave other 143' TERM
event SessionStart ""
turn() { line user "$1"; event UserPromptSubmit ""; line assistant "noted: $1"; }
[ -z "$prompt" ] || turn "$prompt"
echo "claude stand-in ready"
while read -r text; do
    case "$text" in
        /exit) leave prompt_input_exit 0 ;;
        /clear)
            source=clear
            event SessionEnd clear
            id=$(cat /proc/sys/kernel/random/uuid) file="$folder/$id.jsonl"
            record_now
            event SessionStart ""
            echo "cleared"
            ;;
        who) echo "I AM $(sed -n 's/.*"role":"user","content":"\([^"]*\)".*/\1/p' "$file" | head -n 1)" ;;
        *) turn "$text"; echo "noted: $text" ;;
    esac
done
leave other 0
