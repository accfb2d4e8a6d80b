package frameworks

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// options are those of the lab that tests share.
var options = hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, HistoryServer: true}

var lab *hadooplab.Shared

func TestMain(m *testing.M) {
	if !hadooplab.Full() {
		fmt.Println("Tez, Hive, Pig, Flink, TonY, Skein, Dask and other Hadoops are not tried: make integration-full does, with HEDDLE_TEST_FULL=1")
		return
	}
	os.Exit(hadooplab.Main(m, &options, &lab))
}

// begin starts a client.
func begin(t *testing.T, l *hadooplab.Lab, cmd *exec.Cmd) *hadooplab.Command {
	t.Helper()
	c, err := l.BeginCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	c.EndWith(t)
	return c
}

// succeed runs a client that must succeed to its end.
func succeed(t *testing.T, l *hadooplab.Lab, cmd *exec.Cmd) hadooplab.Result {
	t.Helper()
	r, err := begin(t, l, cmd).Wait(t.Context())
	if err != nil || r.Code != 0 {
		t.Fatalf("%s: %v, exit code %d\n%s\n%s", filepath.Base(cmd.Path), err, r.Code, r.Stdout, r.Stderr)
	}
	return r
}

// text is some lines of words, and counts their numbers as word, tab, number, in order.
func text(lines int, seed uint64) (text, counts string) {
	random := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	numbers := map[string]int{}
	for range lines {
		for i := range 8 {
			word := "w" + strconv.Itoa(random.IntN(3000))
			numbers[word]++
			b.WriteString(word)
			b.WriteByte(" \n"[i/7])
		}
	}
	return b.String(), sorted(numbers)
}

func sorted(numbers map[string]int) string {
	var b strings.Builder
	for _, word := range slices.Sorted(maps.Keys(numbers)) {
		fmt.Fprintf(&b, "%s\t%d\n", word, numbers[word])
	}
	return b.String()
}

// lines are those of some files in HDFS, in order.
func lines(t *testing.T, l *hadooplab.Lab, pattern string) string {
	t.Helper()
	out, err := l.Run(t.Context(), "hdfs", "dfs", "-cat", pattern)
	if err != nil {
		t.Fatal(err)
	}
	return inOrder(out)
}

// inOrder sorts lines.
func inOrder(text string) string {
	all := strings.SplitAfter(text, "\n")
	slices.Sort(all)
	return strings.Join(all, "")
}

// sameCounts compares the counts of words without showing them all.
func sameCounts(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("the counts are wrong: %d lines beginning %.60q, want %d lines beginning %.60q",
			strings.Count(got, "\n"), got, strings.Count(want, "\n"), want)
	}
}

// get returns what is at a path of the ResourceManager's; it is "" unless that is a success.
func get(t *testing.T, l *hadooplab.Lab, path string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(fmt.Sprintf("http://localhost:%d%s", l.Port("rm-http"), path))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return ""
	}
	return string(b)
}

// contains wants all of some texts.
func contains(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not in\n%s", w, got)
		}
	}
}
