package command

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/integration/minicluster"
)

// exchange is a command that a stock cluster was given, and what it said.
type exchange struct {
	Args   []string
	Code   int
	Stdout string
	Stderr string // its first line
}

// Commands about labels and queues of a labelled cluster say the same as a stock ResourceManager's, and end alike: testdata/partitions.json was recorded there. (Those about attributes are in
// integration/cli.) A usage is each command's own.
func TestCommandsOfALabelledCluster(t *testing.T) {
	b, err := os.ReadFile("testdata/partitions.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []exchange
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	const queue = "yarn.scheduler.capacity.root."
	c := minicluster.Start(t, 1, map[string]string{
		"yarn.node-labels.enabled": "true", queue + "queues": "a,b", queue + "accessible-node-labels.x.capacity": "100",
		queue + "a.capacity": "50", queue + "a.user-limit-factor": "10", queue + "a.accessible-node-labels": "x", queue + "a.accessible-node-labels.x.capacity": "50",
		queue + "b.capacity": "50", queue + "b.user-limit-factor": "10", queue + "b.accessible-node-labels": "x", queue + "b.accessible-node-labels.x.capacity": "50",
	})
	nodes := map[string]string{}
	for _, host := range []string{"127.0.1.1", "127.0.1.2", "127.0.1.21", "127.0.1.22"} {
		nodes["{"+host+"}"] = c.Node(minicluster.NodeOptions{Host: host}).ID.String()
	}
	settings := map[string]string{}
	for _, key := range []string{"yarn.resourcemanager.address", "yarn.resourcemanager.admin.address"} {
		at, err := c.Conf.RMAddresses(key)
		if err != nil {
			t.Fatal(err)
		}
		settings[key] = at[0].String()
	}
	for _, x := range all {
		args := slices.Clone(x.Args)
		for i := range args {
			if id, ok := nodes[args[i]]; ok {
				args[i] = id
			}
		}
		got := run(t, maps.Clone(settings), args...)
		if diff := cmp.Diff(steady(x.Stdout), steady(got.out)); diff != "" && x.Code == 0 {
			t.Errorf("%q (-stock +heddle):\n%s", x.Args, diff)
		}
		said, _, _ := strings.Cut(got.err, "\n")
		if want := javaClass.ReplaceAllString(x.Stderr, ""); got.code != x.Code || said != want {
			t.Errorf("%q ends with %d (%v), stock's with %d\n got %q\nwant %q", x.Args, got.code, got.failure, x.Code, said, want)
		}
	}
}

// javaClass names the class of an error, which Heddle's commands leave out.
var javaClass = regexp.MustCompile(`java\.io\.IOException: `)

var unsteady = regexp.MustCompile(`(127\.0\.1\.\d+):(\d+|<port>)\b?|(Last-Health-Update : ).*|(Resource Utilization by \w+ :).*`)

// steady leaves out what differs from run to run, and sorts lines, whose order is that of hashes.
func steady(text string) []string {
	lines := strings.Split(strings.TrimRight(unsteady.ReplaceAllString(text, "$1$3$4"), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	slices.Sort(lines)
	return lines
}
