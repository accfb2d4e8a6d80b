package mounts

import (
	"os"
	"strings"
	"testing"
)

func TestMountsAndMemberships(t *testing.T) {
	all, err := ParseMounts(strings.NewReader(`23 1 0:22 / /proc rw shared:5 - proc proc rw
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
33 31 0:31 /docker/abc /sys/fs/cg\040roup/memory rw master:9 propagate_from:2 - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 {
		t.Fatalf("mounts %+v", all)
	}
	own, err := ParseMembership(strings.NewReader("5:cpu,cpuacct:/a\n4:memory:/docker/abc/x:y\n3:name=systemd:/s\n0::/u\n"))
	if err != nil {
		t.Fatal(err)
	}
	for controller, want := range map[string]string{
		"cpu": "/sys/fs/cgroup/cpu,cpuacct/a", "cpuacct": "/sys/fs/cgroup/cpu,cpuacct/a",
		"memory": "/sys/fs/cg roup/memory/x:y", "name=systemd": "/sys/fs/cgroup/systemd/s", "": "/sys/fs/cgroup/unified/u",
	} {
		m, ok := Find(all, controller)
		got, shown := m.Own(own[controller])
		if !ok || !shown || got != want {
			t.Errorf("%q: own group in %q, %v, %v; want %q", controller, got, ok, shown, want)
		}
	}
	if _, ok := Find(all, "freezer"); ok {
		t.Error("found a hierarchy that is not mounted")
	}
	confined := Mount{Root: "/docker/abc", Point: "/m"}
	for group, want := range map[string]string{"/docker/abc": "/m", "/": "/m", "/docker/abcd": "", "/docker/abc/z": "/m/z"} {
		if got, ok := confined.Own(group); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", group, got, ok)
		}
	}
}

func FuzzParseMounts(f *testing.F) {
	own, err := os.ReadFile("testdata/mountinfo")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(own))
	f.Add("1 2 0:3 / /x\\ rw - cgroup c rw,cpu")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseMounts(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, m := range all {
			m.Own("/a/b")
		}
		Find(all, "")
	})
}

func FuzzParseMembership(f *testing.F) {
	f.Add("5:cpu,cpuacct:/a\n0::/u\n")
	f.Fuzz(func(t *testing.T, text string) {
		own, err := ParseMembership(strings.NewReader(text))
		for _, g := range own {
			if err == nil && !strings.HasPrefix(g, "/") {
				t.Errorf("%q gave group %q", text, g)
			}
		}
	})
}
