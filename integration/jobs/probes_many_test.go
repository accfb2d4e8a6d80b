package jobs

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// Two schedulers keep twenty nodes busy, and everything is lost in turn: nodes, executors, leading ResourceManagers, and in the end one of the schedulers. Each command of the other one has one
// result, and nothing of either is left.
func TestProbesOfTwentyNodesThroughFailures(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // twenty nodes keep a small machine busy for minutes
	const nodes, commands = 20, 4000
	c := startCluster(t, 3, nodes, map[string]string{"heddle.probes.memory-mb": "1024", "heddle.probes.vcores": "2"})
	// Its commands take a while, so that each loss meets some that run.
	x := c.xargs("--probes", "-P", "200", "-I{}", "sh", "-c", "sleep 0.2; echo {}")
	other := c.xargs("--probes", "-P", "50", "-I{}", "sh", "-c", "sleep 0.3; echo {}")
	go func() {
		for i := range 100 * commands {
			if _, err := other.in.Write([]byte(strconv.Itoa(i) + "\n")); err != nil {
				return // it was killed
			}
		}
	}()
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		x.feed(0, commands)
	}()
	results := func(x *xargs) int { return strings.Count(x.stdout.String(), "\n") }
	more := func(n int) {
		t.Helper()
		from := results(x)
		await.Slowly(t, "commands end", func() bool { return results(x) >= min(from+n, commands) })
	}
	draw := rand.New(rand.NewPCG(17, 1))
	var lost []int // executors
	for round := range 6 {
		more(150)
		switch round % 3 {
		case 0:
			down := []string{"nm" + strconv.Itoa(1+draw.IntN(nodes)), "nm" + strconv.Itoa(1+draw.IntN(nodes))}
			for _, id := range slices.Compact(down) {
				c.Kill(id)
				more(50)
				c.start(id)
			}
		case 1:
			all := processes("executor", c.dir)
			if len(all) == 0 {
				t.Error("no executor runs")
			}
			for range min(3, len(all)) {
				pid := all[draw.IntN(len(all))]
				if err := syscall.Kill(pid, syscall.SIGKILL); err == nil { // it may have been drawn before
					lost = append(lost, pid)
				}
			}
		case 2:
			id := c.leader()
			c.Kill(id)
			more(100)
			c.start(id)
		}
	}
	if n := results(other); n == 0 {
		t.Error("the other scheduler has run nothing")
	}
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-other.done
	began, left := time.Now(), commands-results(x)
	<-fed
	x.eachOnce(commands)
	t.Logf("%d commands were left when the other scheduler died, and took %v", left, time.Since(began))
	for _, pid := range lost {
		gone(t, pid)
	}
	await.Slowly(t, "no executor is left", func() bool { return len(processes("executor", c.dir)) == 0 })
}
