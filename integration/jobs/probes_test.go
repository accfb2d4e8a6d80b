package jobs

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/await"
)

// Commands are placed by probes of nodes, within what these are lent, without a container of the ResourceManager's. An executor, a node with its
// executor, and the leading ResourceManager are lost meanwhile: each command has one result, and nothing is left in the end.
func TestXargsByProbes(t *testing.T) {
	c := startCluster(t, 3, 2, map[string]string{"heddle.probes.memory-mb": "2048", "heddle.probes.vcores": "4"})
	held := filepath.Join(c.dir, "held")
	if err := os.Mkdir(held, 0o755); err != nil {
		t.Fatal(err)
	}
	// Numbers from 100 to 199 wait until they may go on.
	x := c.xargs("--probes", "-P", "20", "-I{}", "sh", "-c",
		`case {} in 1??) echo $PPID > `+held+`/{}.part; mv `+held+`/{}.part `+held+`/{}; while ! test -e go; do sleep 0.02; done;; esac; echo {}`)
	x.feed(0, 100)
	await.Until(t, "the first hundred", func() bool { return strings.Count(x.stdout.String(), "\n") == 100 })
	x.feed(100, 140)
	executors := numbers(t, held+"/1??", 8) // and no more: each node was lent four of 512 MB
	slices.Sort(executors)
	each := slices.Compact(executors)
	if len(each) != 2 {
		t.Errorf("8 commands run in %d executors", len(each))
	}
	if err := syscall.Kill(each[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, each[0])
	c.kill(c.leader())
	c.kill("nm1")
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	x.feed(140, 300)
	x.in.Close()
	if code := x.code(); code != 0 {
		t.Fatalf("exit code %d: %s", code, x.stderr)
	}
	var got []int
	for _, l := range lines(x.stdout.String()) {
		got = append(got, must(strconv.Atoi(l)))
	}
	slices.Sort(got)
	for i, n := range got {
		if n != i {
			t.Fatalf("%d is there twice, or a number below is missing", n)
		}
	}
	if len(got) != 300 {
		t.Errorf("%d results instead of 300", len(got))
	}
	c.again("nm1")
	c.ready(2)
	for _, pid := range each {
		gone(t, pid)
	}
	list := must(c.applications().List(t.Context(), nil))
	if len(list) != 1 || !list[0].Succeeded() {
		t.Errorf("applications: %+v", list)
	}
}
