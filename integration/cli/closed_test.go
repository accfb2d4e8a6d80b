package cli

import (
	"os/exec"
	"testing"
)

// A standard stream that is closed is like /dev/null for heddle xargs and its commands: nothing of what they print comes into another file, and exit codes are
// those of the commands.
func TestXargsWithClosedStreams(t *testing.T) {
	for _, c := range []struct{ closed, command, out, code string }{
		{">&-", "echo", "", "0"},
		{">&-", `sh -c 'echo "$0" >&2'`, "a\nb\n", "0"},
		{"2>&-", `sh -c 'echo "$0"; echo error >&2'`, "a\nb\n", "0"},
		{">&- 2>&-", `sh -c 'echo "$0"; exit 3'`, "", "123"},
		{"<&-", "echo", "\n", "0"}, // an empty input, with which GNU's runs a command as well
	} {
		sh := exec.Command("sh", "-c", `printf 'a\nb\n' | { "$0" xargs --local -n1 `+c.command+` `+c.closed+`; echo "$?" >&3; } 3>code; cat code`, heddle)
		sh.Dir = t.TempDir()
		out, err := sh.CombinedOutput()
		if err != nil || string(out) != c.out+c.code+"\n" {
			t.Errorf("heddle xargs %s %s: %v, %q, want %q and exit code %s", c.command, c.closed, err, out, c.out, c.code)
		}
	}
}
