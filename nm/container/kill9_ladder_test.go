package container

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/cgroup"
	"heddle/nm/suspend"
)

// climb takes a container down the ladder and up again, in a node that is to be killed, and returns when a step is next, which is not taken.
func (n *node) climb(h *hooked, c *Container, to string) {
	var mu sync.Mutex
	reclaimed, warm, up, reached := false, false, false, make(chan struct{})
	step := func(name string) {
		mu.Lock()
		switch {
		case name == "reclaim":
			reclaimed = true
		case name == "limit" && up:
			name = "let go"
		case name == "limit" && warm:
			name = "make room ahead"
		case name == "page in" && warm:
			name = "read ahead"
		case name == "limit" && reclaimed:
			name = "squeeze"
		case name == "limit":
			name = "let it swap"
		}
		mu.Unlock()
		if name == to {
			close(reached)
			select {}
		}
	}
	h.set(func(h *hooked) {
		h.freeze = func(ctx context.Context, g cgroup.Group) error { step("freeze"); return g.Freeze(ctx) }
		h.limit = func(l cgroup.Limits, g cgroup.Group) error { step("limit"); return g.SetLimits(l) }
		h.reclaim = func(ctx context.Context, g cgroup.Group, bytes int64) error {
			step("reclaim")
			return g.Reclaim(ctx, bytes)
		}
		h.pageIn = func(ctx context.Context, g cgroup.Group) error { step("page in"); return g.PageIn(ctx) }
		h.thaw = func() error { step("thaw"); return nil }
	})
	go func() {
		for version, o := range []suspend.Order{level(suspend.Reclaimed, 64, 0, 1), level(suspend.Running, 256, 1, 2)} {
			mu.Lock()
			up = o.Level == suspend.Running
			mu.Unlock()
			if err := c.Order(n.ctx, o); err != nil {
				panic(fmt.Sprintf("order %d: %v", version+1, err))
			}
			for c.Status().Suspension.Lags() {
				time.Sleep(time.Millisecond)
			}
			if strings.HasSuffix(to, " ahead") {
				mu.Lock()
				warm = true
				mu.Unlock()
				n.Ahead(c, true)
				return
			}
		}
	}()
	<-reached
}

// stepsOfClimb are what the kernel is told, one after the other.
var stepsOfClimb = []string{"freeze", "let it swap", "reclaim", "squeeze", "make room ahead", "read ahead", "let go", "page in", "thaw"}

// A NodeManager is killed before each thing that it tells the kernel on the way of a container down the ladder and up. The next one brings
// the container where it was to be, and its memory is what it was.
func TestKilledOnTheLadder(t *testing.T) {
	swapfile.On(t, 512<<20)
	d, err := cgroup.Detect(cgroup.Options{ID: labID(t.TempDir()), Log: logrus.NewEntry(logrus.New())})
	if err != nil {
		t.Fatal(err)
	}
	able, kind := d.Capabilities().Reclaim, string(d.Kind())
	d.Close()
	if !able {
		return // it says so: see nm/cgroup
	}
	for i, step := range stepsOfClimb {
		t.Run(kind+"/"+step, func(t *testing.T) {
			l := newDeadLab(t)
			node := startChild(t, l.dir)
			const remembered = 96 << 20
			dir := t.TempDir()
			node.do("start 1 cd %s; %s=%d GOGC=off exec %s", dir, rememberVariable, remembered, os.Args[0])
			waitFile(t, dir+"/ready")
			node.do("climb 1 %s", step)
			node.kill()
			l.start()
			c := l.container(containerID(1, 1))
			want, version := suspend.Reclaimed, int32(1)
			if i >= slices.Index(stepsOfClimb, "let go") {
				want, version = suspend.Running, 2
			}
			await.Until(t, "level "+want.String(), func() bool {
				s := c.Status().Suspension
				return s.Version == version && s.Have == want && !s.Lags()
			})
			if frozen, err := c.Group().Frozen(); err != nil || frozen != (want == suspend.Reclaimed) {
				t.Errorf("frozen %v, %v", frozen, err)
			}
			if err := c.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if got := waitFile(t, dir+"/sum"); got != sumOf(randomBytes(remembered)) {
				t.Errorf("its memory has the sum %s", got)
			}
			await.Until(t, "all of its limits are lifted", func() bool {
				l := c.box.Limits()
				return l.High == 0 && l.Swap == 0 && l.CPU == 0
			})
		})
	}
}
