#!/bin/sh
# Posts applications that fail or are killed to a web hook, as Slack, Mattermost and others have. It needs curl and jq.
#
#   notify.sh https://hooks.example.com/services/… http://rm1:8088 http://rm2:8088
#
# When the ResourceManager that it follows is gone, it goes on at the next one where it was.
set -eu
hook=$1
shift
last=$(mktemp)
trap 'rm -f "$last"' EXIT
while :; do
	for rm in "$@"; do
		curl -sN ${AS:+-H "Cookie: $AS"} -H "Last-Event-ID: $(cat "$last")" "$rm/ws/v1/heddle/events?kind=application" | while read -r name value; do
			case $name in
			id:) echo "$value" >"$last" ;;
			data:)
				text=$(printf %s "$value" | jq -r 'select(.what == "ended" and .state != "FINISHED") | "\(.name) of \(.user) in \(.queue): \(.state). \(.detail)"')
				[ -z "$text" ] || jq -n --arg text "$text" '{text: $text}' | curl -s -H 'Content-Type: application/json' -d @- "$hook"
				;;
			esac
		done
	done
	sleep 2
done
