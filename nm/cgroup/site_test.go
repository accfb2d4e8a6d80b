package cgroup

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/nm/cgroup/mounts"

	"github.com/google/go-cmp/cmp"
)

const sys = "/sys/fs/cgroup"

func v2Site(f *fakeV2, own, root string) *site {
	return &site{
		tree: f, mounts: []mounts.Mount{{Root: "/", Point: sys, V2: true}}, own: mounts.Membership{"": own}, root: root, id: "h:1",
	}
}

func TestV2LimitsAsWritten(t *testing.T) {
	f := newFakeV2(sys, "cpuset", "cpu", "io", "memory", "pids")
	d, err := v2Site(f, "/", "/heddle").handler(Auto)
	if err != nil {
		t.Fatal(err)
	}
	if d.kind != V2 || len(d.Capabilities().Missing) != 0 {
		t.Errorf("kind %s, missing %q", d.kind, d.Capabilities().Missing)
	}
	if got := d.Capabilities().Features(); !slices.Contains(got, "memory-limit") || !slices.Contains(got, "cpu-limit") {
		t.Errorf("features %q", got)
	}
	u := d.holder.(*unified)
	if err := u.create("c"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limits Limits
		want   []string
	}{
		{
			Limits{Memory: 1 << 30, Shares: 2, CPU: 1.5, Pids: 100},
			[]string{"cpu.weight=200", "cpu.max=150000 100000", "memory.max=1073741824", "pids.max=100", "memory.swap.max=0"},
		},
		{Limits{}, []string{"cpu.weight=100", "cpu.max=max 100000", "memory.max=max", "pids.max=max"}},
		{Limits{Shares: 0.001, CPU: 0.01}, []string{"cpu.weight=1", "cpu.max=1000 100000", "memory.max=max", "pids.max=max"}},
		// under 1 % of a core the period has to grow, and under 0.1 % the kernel can do no better
		{Limits{Shares: 1000, CPU: 0.005}, []string{"cpu.weight=10000", "cpu.max=5000 1000000", "memory.max=max", "pids.max=max"}},
		{Limits{CPU: 0.0001}, []string{"cpu.weight=100", "cpu.max=1000 1000000", "memory.max=max", "pids.max=max"}},
	} {
		f.writes = nil
		if err := u.set("c", c.limits); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, w := range c.want {
			want = append(want, sys+"/heddle/nm-h_1/c/"+w)
		}
		if diff := cmp.Diff(want, f.writes); diff != "" {
			t.Errorf("%+v: %s", c.limits, diff)
		}
	}
	use, err := u.usage("c")
	want := Usage{CPU: 1500 * time.Millisecond, Memory: 4000, Peak: 7000, OOMKills: 1, Starved: -1}
	if err != nil || use != want {
		t.Errorf("usage %+v, %v, want %+v", use, err, want)
	}
}

// The folders on the way to the groups get the weight of all of them, but for one that has another than the kernel's initial one.
func TestV2WeightOfAllGroups(t *testing.T) {
	f := newFakeV2(sys, "cpu", "memory", "pids")
	if err := f.mkdir(sys + "/system"); err != nil {
		t.Fatal(err)
	}
	d, err := v2Site(f, "/", "/system/heddle").handler(Auto)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.write(sys+"/system/cpu.weight", "50"); err != nil {
		t.Fatal(err)
	}
	f.writes = nil
	d.weigh(4)
	d.weigh(0)
	want := []string{sys + "/system/heddle/nm-h_1/cpu.weight=400", sys + "/system/heddle/cpu.weight=400"}
	if diff := cmp.Diff(want, f.writes); diff != "" {
		t.Error(diff)
	}
}

// A measurement reads each file once, though cpu.stat has two figures of it.
func TestAMeasurementReadsEachFileOnce(t *testing.T) {
	f := newFakeV2(sys, "cpu", "memory", "pids")
	d, err := v2Site(f, "/", "/heddle").handler(V2)
	if err != nil {
		t.Fatal(err)
	}
	u := d.holder.(*unified)
	if err := u.create("c"); err != nil {
		t.Fatal(err)
	}
	files := f.groups[filepath.Dir(u.path("c", "x"))].files
	files["cpu.stat"] = "usage_usec 1500000\nthrottled_usec 500000\n"
	files["cpu.pressure"] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n"
	f.reads = nil
	use, err := (&kernelGroup{d: d, name: "c"}).Usage()
	want := Usage{CPU: 1500 * time.Millisecond, Memory: 4000, Peak: 7000, OOMKills: 1, Starved: 1500 * time.Millisecond}
	if err != nil || use != want {
		t.Errorf("usage %+v, %v, want %+v", use, err, want)
	}
	slices.Sort(f.reads)
	if once := slices.Compact(slices.Clone(f.reads)); !slices.Equal(once, f.reads) || !slices.Contains(once, u.path("c", "cpu.stat")) {
		t.Errorf("read: %v", f.reads)
	}
}

func TestV2GroupLifecycle(t *testing.T) {
	f := newFakeV2(sys, "cpu", "memory", "pids")
	d, err := v2Site(f, "/", "/heddle").handler(V2)
	if err != nil {
		t.Fatal(err)
	}
	u := d.holder.(*unified)
	for _, err := range []error{u.create("c"), u.add("c", 10), u.add("c", 11), f.mkdir(u.path("c", "inner")), u.add("c/inner", 12)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	pids, err := u.pids("c")
	slices.Sort(pids)
	if err != nil || !slices.Equal(pids, []int{10, 11, 12}) {
		t.Errorf("processes %v, %v", pids, err)
	}
	if err := u.freeze(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if frozen, err := u.frozen("c"); err != nil || !frozen {
		t.Errorf("frozen %v, %v", frozen, err)
	}
	if err := u.kill(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if err := d.remove("c"); err != nil {
		t.Fatal(err)
	}
	d.Close()
	if names := len(f.groups); names != 1 {
		t.Errorf("%d groups are left", names)
	}
}

// A NodeManager confined to a part of the tree has to leave its own group before that can have limited groups below.
func TestV2BelowTheOwnGroup(t *testing.T) {
	f := newFakeV2(sys, "cpu", "memory")
	for _, err := range []error{
		f.mkdir(sys + "/slice"), f.mkdir(sys + "/slice/unit"),
		f.write(sys+"/cgroup.subtree_control", "+cpu"), f.write(sys+"/cgroup.subtree_control", "+memory"),
		f.write(sys+"/slice/cgroup.subtree_control", "+cpu"), f.write(sys+"/slice/cgroup.subtree_control", "+memory"),
		f.write(sys+"/slice/unit/cgroup.procs", "77"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f.deny = func(path string) error {
		if !strings.HasPrefix(path, sys+"/slice/unit/") {
			return syscall.EACCES
		}
		return nil
	}
	d, err := v2Site(f, "/slice/unit", "").handler(Auto)
	if err != nil {
		t.Fatal(err)
	}
	c := d.Capabilities()
	if !c.MemoryLimit || !c.CPULimit || c.PidsLimit {
		t.Errorf("capabilities %+v", c)
	}
	if len(c.Missing) != 1 || !strings.Contains(c.Missing[0], "pids") {
		t.Errorf("missing %q", c.Missing)
	}
	if got := d.holder.(*unified).top; got != sys+"/slice/unit/heddle/nm-h_1" {
		t.Errorf("groups lie in %s", got)
	}
	if got := f.groups[sys+"/slice/unit/"+leaf].files["cgroup.procs"]; got != "77" {
		t.Errorf("moved down: %q", got)
	}
	// after a restart within the moved group the same folder is found again
	again, err := v2Site(f, "/slice/unit/"+leaf, "").handler(Auto)
	if err != nil || again.holder.(*unified).top != d.holder.(*unified).top {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestV2WithoutControllersStillFreezesAndKills(t *testing.T) {
	d, err := v2Site(newFakeV2(sys), "/", "").handler(Auto)
	if err != nil {
		t.Fatal(err)
	}
	c := d.Capabilities()
	if !c.Suspend || !c.KillTree || c.MemoryLimit || len(c.Missing) != 3 {
		t.Errorf("capabilities %+v", c)
	}
}

func TestAnUnwritableTreeIsNoHandler(t *testing.T) {
	f := newFakeV2(sys, "cpu")
	f.deny = func(string) error { return syscall.EROFS }
	if d, err := v2Site(f, "/", "").handler(Auto); err == nil {
		t.Errorf("got %+v", d)
	}
	if _, err := (&site{tree: f, id: "h:1"}).handler(Auto); err == nil {
		t.Error("no hierarchy at all gave a handler")
	}
}

// Where v1 refuses a limit below what is used, v2 kills; and slows down for ever what memory.high is left on.
func TestALowerMemoryLimitKillsNobody(t *testing.T) {
	f := newFakeV2(sys, "memory")
	d, err := v2Site(f, "/", "/heddle").handler(Auto)
	if err != nil {
		t.Fatal(err)
	}
	u := d.holder.(*unified)
	if err := u.create("c"); err != nil {
		t.Fatal(err)
	}
	if err := u.add("c", 42); err != nil {
		t.Fatal(err)
	}
	files := f.groups[sys+"/heddle/nm-h_1/c"].files // it uses 5000 bytes, 3000 of them anonymous
	for _, c := range []struct {
		limit int64
		stat  string
		want  error
		max   string
	}{
		{6000, "anon 3000", nil, "6000"},
		{4000, "anon 3000", nil, "4000"}, // page cache goes
		{2000, "anon 3000", syscall.EBUSY, "4000"},
		{2000, "anon 2500", syscall.EBUSY, "4000"},
		{8000, "anon 3000", nil, "8000"},
		{0, "anon 3000", nil, "max"},
		{2000, "anon 3000", syscall.EBUSY, "max"},
	} {
		files["memory.stat"] = c.stat + "\nfile 1500\ninactive_file 1000\n"
		if err := u.set("c", Limits{Memory: c.limit}); !errors.Is(err, c.want) {
			t.Errorf("limit %d: %v, want %v", c.limit, err, c.want)
		}
		if pids, err := u.pids("c"); err != nil || len(pids) != 1 {
			t.Fatalf("limit %d: its processes are %v, %v", c.limit, pids, err)
		}
		if files["memory.max"] != c.max || files["memory.high"] != "max" {
			t.Errorf("limit %d: memory.max %s, memory.high %s", c.limit, files["memory.max"], files["memory.high"])
		}
	}
	files["memory.high"] = "1000" // an earlier life of the NodeManager has died in between
	if err := u.set("c", Limits{Memory: 8000}); err != nil || files["memory.high"] != "max" {
		t.Errorf("memory.high is %s, %v", files["memory.high"], err)
	}
}
