package cgroup

import (
	"os"
	"strings"
	"testing"
)

// A NodeManager has a group of its own beside its containers', with the greatest weight, and leaves it when it ends. One that begins in there finds the same
// folder for groups.
func TestV2Seat(t *testing.T) {
	for own, given := range map[string]string{"/unit": "/unit", "/unit/" + leaf: "/unit", "/unit/heddle/" + seat: "/unit"} {
		f := newFakeV2(sys, "cpu", "memory")
		f.deny = func(path string) error {
			if path == sys+"/heddle" {
				return os.ErrPermission
			}
			return nil
		}
		for _, path := range []string{"/unit", "/unit/" + leaf, "/unit/heddle", "/unit/heddle/" + seat} {
			if err := f.mkdir(sys + path); err != nil {
				t.Fatal(err)
			}
		}
		for _, err := range []error{
			f.write(sys+"/cgroup.subtree_control", "+cpu"), f.write(sys+"/cgroup.subtree_control", "+memory"), f.write(sys+own+"/cgroup.procs", "77"),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		d, err := v2Site(f, own, "").handler(V2)
		if err != nil {
			t.Fatal(err)
		}
		if top := d.holder.(*unified).top; top != sys+given+"/heddle/nm-h_1" {
			t.Errorf("from %s: groups lie in %s", own, top)
		}
		from := sys + own
		if own == "/unit" {
			from = sys + "/unit/" + leaf // it had to move down
		}
		if err := d.sit(77, from); err != nil {
			t.Fatal(err)
		}
		at := f.groups[sys+"/unit/heddle/"+seat]
		if at.files["cgroup.procs"] != "77" || at.files["cpu.weight"] != "10000" {
			t.Errorf("from %s: %q, weight %s", own, at.files["cgroup.procs"], at.files["cpu.weight"])
		}
		d.Close()
		_, stays := f.groups[sys+"/unit/heddle/"+seat]
		if began := own == "/unit/heddle/"+seat; stays != began || f.groups[from].files["cgroup.procs"] != "77" {
			t.Errorf("from %s: afterwards the seat is there: %v", own, stays)
		}
		if err := d.Unseat(88); err != nil {
			t.Fatal(err)
		}
		if got := f.groups[from].files["cgroup.procs"]; from != sys+"/unit/heddle/"+seat && !strings.Contains(got, "88") {
			t.Errorf("from %s: %q is there, where a program of the NodeManager's should be", own, got)
		}
	}
}

// Without controllers groups have no weight, and the process stays where it is.
func TestNoSeatWithoutWeights(t *testing.T) {
	f := newFakeV2(sys)
	d, err := v2Site(f, "/", "").handler(V2)
	if err != nil {
		t.Fatal(err)
	}
	f.writes = nil
	if err := d.sit(77, sys); err != nil || len(f.writes) > 0 {
		t.Errorf("%v, %q", err, f.writes)
	}
}
