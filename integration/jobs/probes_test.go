package jobs

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/pb"
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
	c.showsShortTasks("nm1")
	slices.Sort(executors)
	each := slices.Compact(executors)
	if len(each) != 2 {
		t.Errorf("8 commands run in %d executors", len(each))
	}
	if err := syscall.Kill(each[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, each[0])
	c.Kill(c.leader())
	c.Kill("nm1")
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	x.feed(140, 300)
	x.eachOnce(300)
	c.start("nm1")
	c.ready(2)
	for _, pid := range each {
		gone(t, pid)
	}
	c.oneSucceeded()
	c.nothingIsLeft() // also of what the first life of the node that was killed has left
}

// showsShortTasks waits until people can see that a node uses all that it was lent.
func (c *cluster) showsShortTasks(node string) {
	c.t.Helper()
	set := func(key string) string { return c.Address(node, key) }
	await.Slowly(c.t, "heddle node -status shows what short tasks have", func() bool {
		out, err := exec.Command(c.binary, "node", "--conf", c.conf, "-status", set("yarn.nodemanager.address")).Output()
		return err == nil && strings.Contains(string(out), "Lent-To-Short-Tasks : 2048MB, 4 vcores\n") && strings.Contains(string(out), "Used-By-Short-Tasks : 2048MB, 4 vcores, ")
	})
	for path, text := range map[string]string{
		"/node": "2048 MB and 4 virtual cores, of which 2048 MB and 4 are used; ", "/metrics": "heddle_nm_short_tasks_used_memory_bytes 2.147483648e+09\n",
	} {
		page, err := fetch("http://" + set("yarn.nodemanager.webapp.address") + path)
		if err != nil || !strings.Contains(page, text) {
			c.t.Errorf("%s of %s: %v: %s", path, node, err, page)
		}
	}
}

// fetch returns a page.
func fetch(url string) (string, error) {
	resp, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	return string(page), err
}

// nothingIsLeft waits until no application has processes or cgroups.
func (c *cluster) nothingIsLeft() {
	c.t.Helper()
	for _, app := range must(c.applications().List(c.t.Context(), nil)) {
		id := "container_" + strings.TrimPrefix(app.ID.String(), "application_")
		await.Until(c.t, "neither processes nor cgroups are left", func() bool { return len(processes(id)) == 0 && len(hadooplab.Groups(c.t, id)) == 0 })
	}
}

// Commands flood their output, stop their executor, leave daemons, and take more memory than their executor's cgroup has: users hear what was wrong, others go on,
// and neither processes nor cgroups are left.
func TestHostileCommandsByProbes(t *testing.T) {
	c := startCluster(t, 1, 1, map[string]string{"heddle.probes.memory-mb": "512", "heddle.probes.vcores": "1"})
	const flood = 30 << 20
	for _, test := range []struct {
		name, script, input string
		code, out           int
		said                string
	}{
		{"a flood", "head -c 31457280 /dev/zero; head -c 31457280 /dev/zero >&2", "a", 0, flood, strings.Repeat("\x00", flood)},
		// Its connection is good, but it tells nothing of the command's end.
		// It ends only when each thread of the executor has stopped: one of them might tell of its end yet.
		{
			"one that stops its executor",
			`if mkdir stopped; then kill -STOP $PPID; while grep -L "^State:.T" /proc/$PPID/task/*/status | grep -q .; do :; done; else echo $0; fi`, "a", 0, 2, "File exists",
		},
		{"a daemon", "setsid sh -c 'echo $$ >daemon; exec sleep 10000' >/dev/null 2>&1 & until test -s daemon; do sleep 0.01; done; echo", "a", 0, 1, ""},
		// tail keeps a line of 2 GB. The kernel or the NodeManager ends it, with its executor or without.
		{"a hog", "case $0 in a) head -c 2000000000 /dev/zero | tail -n1 | wc -c | grep -q 2000000000;; *) echo $0;; esac", "a b", 123, 2, ""},
	} {
		x := c.xargs("--probes", "-n1", "sh", "-c", test.script)
		io.WriteString(x.in, test.input)
		x.in.Close()
		if code := x.code(); code != test.code || len(x.stdout.String()) != test.out || !strings.Contains(x.stderr.String(), test.said) {
			t.Errorf("%s: exit code %d, %d bytes of output, %.1000s", test.name, code, len(x.stdout.String()), x.stderr)
		}
	}
	gone(t, numbers(t, filepath.Join(c.dir, "daemon"), 1)[0])
	c.nothingIsLeft()
}

// While a node has a container with a long task, short tasks go to the other one.
func TestShortTasksAvoidLongOnes(t *testing.T) {
	c := startCluster(t, 1, 2, map[string]string{
		"heddle.probes.memory-mb": "2048", "heddle.probes.vcores": "4", "heddle.probes.steal": "false", "heddle.scheduler.partition.cutoff-ms": "60000",
	})
	proceed, busy := filepath.Join(c.dir, "go"), filepath.Join(c.dir, "busy")
	x := c.xargs("--probes", "-P", "8", "-I{}", "sh", "-c", `case {} in ?) touch held-{}; while ! test -e go; do sleep 0.02; done;; esac; echo {} $NM_PORT`)
	x.feed(0, 8) // and so both nodes are connected: each was lent four slots
	await.Until(t, "eight commands run", func() bool {
		held, err := filepath.Glob(filepath.Join(c.dir, "held-?"))
		return err == nil && len(held) == 8
	})
	long := c.xargs("-P", "1", "-I{}", "sh", "-c", `echo $NM_PORT >busy.part; mv busy.part busy; while ! test -e end; do sleep 0.02; done`)
	long.feed(0, 1)
	await.Until(t, "the long command runs", func() bool { _, err := os.Stat(busy); return err == nil })
	port := strings.TrimSpace(string(must(os.ReadFile(busy))))
	if err := os.WriteFile(proceed, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	done, elsewhere := 8, 0
	lines := func() []string { return strings.Fields(x.stdout.String()) }
	await.Until(t, "twenty short commands in a row run elsewhere", func() bool {
		x.feed(done, done+1)
		done++
		await.Until(t, "the command has ended", func() bool { return len(lines()) == 2*done })
		if last := lines(); last[len(last)-1] == port {
			elsewhere = 0
		} else {
			elsewhere++
		}
		return elsewhere == 20
	})
	if err := os.WriteFile(filepath.Join(c.dir, "end"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*xargs{long, x} {
		x.in.Close()
		if code := x.code(); code != 0 {
			t.Errorf("exit code %d: %s", code, x.stderr)
		}
	}
}

// A node rejects probes for long tasks that the ResourceManager hasn't told their scheduler of yet. The commands run elsewhere: here the other node is the short partition.
func TestNodesWithLongTasksRejectProbes(t *testing.T) {
	c := startCluster(t, 1, 2, map[string]string{
		"heddle.probes.memory-mb": "2048", "heddle.probes.vcores": "4", "heddle.scheduler.partition.cutoff-ms": "60000", "heddle.scheduler.partition.short-percent": "50",
	})
	x := c.xargs("--probes", "-P", "8", "-n1", "sh", "-c", `echo $NM_PORT`)
	long := c.xargs("-P", "1", "-I{}", "sh", "-c", `while ! test -e end-{}; do sleep 0.02; done`)
	rejected := func() bool {
		return slices.ContainsFunc([]string{"nm1", "nm2"}, func(node string) bool {
			page := must(fetch("http://" + c.Address(node, "yarn.nodemanager.webapp.address") + "/metrics"))
			if !strings.Contains(page, "\nheddle_nm_probes_avoided_total ") {
				t.Fatalf("%s counts no rejections: %s", node, page)
			}
			return !strings.Contains(page, "\nheddle_nm_probes_avoided_total 0\n")
		})
	}
	done := 0
	short := func() {
		x.feed(done, done+8)
		done += 8
		await.Until(t, "short commands have ended", func() bool { return strings.Count(x.stdout.String(), "\n") == done })
	}
	round := 0
	await.Slowly(t, "a node rejects probes", func() bool {
		long.feed(round, round+1)
		for range 100 {
			short()
		}
		if err := os.WriteFile(filepath.Join(c.dir, fmt.Sprintf("end-%d", round)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		round++
		return rejected()
	})
	for _, x := range []*xargs{long, x} {
		x.in.Close()
		if code := x.code(); code != 0 {
			t.Errorf("exit code %d: %s", code, x.stderr)
		}
	}
}

// One of two nodes is the short partition: a long application's containers go to the other one, where two of four find no room.
func TestLongWorkStaysOffTheShortPartition(t *testing.T) {
	c := startCluster(t, 1, 2, map[string]string{"heddle.scheduler.partition.cutoff-ms": "60000", "heddle.scheduler.partition.short-percent": "50"})
	x := c.xargs("-P", "4", "--memory", "3000", "-I{}", "sh", "-c", `while ! test -e go; do sleep 0.02; done; echo $NM_PORT`)
	x.feed(0, 8)
	await.Slowly(t, "two of four containers find no room on the other node", func() bool {
		list := must(c.applications().List(t.Context(), nil))
		if len(list) == 0 {
			return false
		}
		out, err := exec.Command(c.binary, "app", "--conf", c.conf, "-why", list[0].ID.String()).CombinedOutput()
		t.Logf("%s %v", out, err)
		return err == nil && strings.Contains(string(out), "2 x <memory:3072")
	})
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	x.in.Close()
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d: %s", code, x.stderr)
	}
	ports := strings.Fields(x.stdout.String())
	slices.Sort(ports)
	if len(ports) != 8 || len(slices.Compact(ports)) != 1 {
		t.Errorf("the commands ran on %v", ports)
	}
}

// An executor may use what its node was lent after it had started: together its tasks take more than was lent at first.
func TestExecutorsGrowWithWhatIsLent(t *testing.T) {
	c := startCluster(t, 1, 1, map[string]string{
		"heddle.probes.memory-mb": "512", "heddle.probes.vcores": "1", "heddle.probes.max-memory-mb": "2048", "heddle.probes.max-vcores": "4",
		"heddle.probes.max-wait-ms": "1", "heddle.probes.window-ms": "1000",
	})
	// tail keeps a line of 200 MB until all may go on.
	x := c.xargs("--probes", "-P", "30", "-I{}", "sh", "-c", `case {} in 1?)
		n=$( (head -c 200000000 /dev/zero; touch full-{}; while ! test -e go; do sleep 0.02; done) | tail -n1 | wc -c); test "$n" = 200000000 || exit 9;;
		*) sleep 0.05;; esac; echo {}`)
	apps, done := c.applications(), 20
	offered := func() int64 {
		return must(apps.NodeReports(t.Context(), pb.NodeState_NS_RUNNING))[0].GetCapability().GetMemory()
	}
	before := offered()
	x.feed(done, done+1)
	done++
	await.Until(t, "the first command has started the executor", func() bool { return x.stdout.String() != "" })
	await.Slowly(t, "as much is lent as may be, since commands wait", func() bool {
		x.feed(done, done+30)
		done += 30
		await.Until(t, "they have ended", func() bool { return strings.Count(x.stdout.String(), "\n") == done-20 })
		return before-offered() == 2048-512
	})
	x.feed(10, 14)
	await.Until(t, "four large ones keep their lines", func() bool {
		held, err := filepath.Glob(filepath.Join(c.dir, "full-1?"))
		return err == nil && len(held) == 4
	})
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	x.in.Close()
	if code := x.code(); code != 0 || strings.Count(x.stdout.String(), "\n") != done-16 {
		t.Errorf("exit code %d: %s", code, x.stderr)
	}
}

// Each application's executor may use all that is lent, and all of them together no more than that: the kernel ends what outgrows it. People see what processes use,
// and not what tasks were given alone.
func TestExecutorsTogetherUseNoMoreThanIsLent(t *testing.T) {
	c := startCluster(t, 1, 1, map[string]string{"heddle.probes.memory-mb": "600", "heddle.probes.vcores": "4"})
	// It keeps 400 MB until all may go on.
	const keep = `import os, sys, time
x = b"x" * 400000000
open("full-" + sys.argv[1], "w").close()
while not os.path.exists("go"): time.sleep(.02)`
	hog := func(name string) *xargs {
		x := c.xargs("--probes", "--memory", "32", "-n1", "python3", "-c", keep)
		io.WriteString(x.in, name)
		x.in.Close()
		return x
	}
	first := hog("one")
	await.Until(t, "the first keeps its memory", func() bool { _, err := os.Stat(filepath.Join(c.dir, "full-one")); return err == nil })
	status := func() string {
		out, err := exec.Command(c.binary, "node", "--conf", c.conf, "-status", c.Address("nm1", "yarn.nodemanager.address")).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	used := regexp.MustCompile(`Used-By-Short-Tasks : (\d+)MB`)
	await.Slowly(t, "people see what it uses", func() bool {
		m := used.FindStringSubmatch(status())
		if m == nil {
			return false
		}
		mb, err := strconv.Atoi(m[1])
		return err == nil && mb >= 380 && mb <= 600
	})
	second := hog("two")
	var failed *xargs
	await.Until(t, "one of them is ended", func() bool {
		for _, x := range []*xargs{first, second} {
			if len(x.done) > 0 {
				failed = x
			}
		}
		return failed != nil
	})
	if code := failed.code(); code != 125 { // a signal has ended its command
		t.Errorf("exit code %d: %s", code, failed.stderr)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	other := first
	if failed == first {
		other = second
	}
	if code := other.code(); code != 0 {
		t.Errorf("exit code %d: %s", code, other.stderr)
	}
	c.nothingIsLeft()
}
