package gpu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/yarn/records"
)

func id(n int64) records.ContainerID { return records.ContainerID{ID: n} }

func TestParse(t *testing.T) {
	got, err := Parse(" 0:0, 1:3 ,")
	if diff := cmp.Diff([]Device{{0, 0}, {1, 3}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for text, want := range map[string]string{
		"": "no GPU", "0": `"0" is not a GPU`, "a:b": `"a:b"`, "-1:0": `"-1:0"`, "0:0,0:1": "twice", "0:1,2:1": "twice", "1:99999": "99999",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestDiscover(t *testing.T) {
	dev := t.TempDir()
	for _, name := range []string{"nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "null"} {
		if err := os.WriteFile(filepath.Join(dev, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Discover(dev)
	if diff := cmp.Diff([]Device{{0, 2}, {1, 10}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := Discover(filepath.Join(dev, "absent")); err == nil {
		t.Error("an absent directory is taken")
	}
}

// Whatever is taken, restored and released: no device has two owners, and none is lost.
func TestPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 6).Draw(t, "devices")
		p := NewPool(Counted(size))
		has := map[int64][]Device{}
		free := size
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				c, n := rapid.Int64Range(0, 8).Draw(t, "container"), rapid.Int64Range(0, 4).Draw(t, "gpus")
				if _, ok := has[c]; ok {
					t.Skip("it has some")
				}
				got, err := p.Take(id(c), n)
				if (err == nil) != (n <= free) {
					t.Fatalf("took %d of %d: %v", n, free, err)
				}
				if err == nil {
					has[c] = got
					free -= n
				}
			},
			"release": func(t *rapid.T) {
				c := rapid.Int64Range(0, 8).Draw(t, "container")
				p.Release(id(c))
				free += int64(len(has[c]))
				delete(has, c)
			},
			"": func(t *rapid.T) {
				want := map[Device]records.ContainerID{}
				for c, devices := range has {
					for _, d := range devices {
						if other, taken := want[d]; taken {
							t.Fatalf("%v belongs to %v and %v", d, other, id(c))
						}
						want[d] = id(c)
					}
				}
				if diff := cmp.Diff(want, p.Assigned()); diff != "" {
					t.Fatal(diff)
				}
			},
		})
	})
}

func TestEnvironment(t *testing.T) {
	for want, devices := range map[string][]Device{"0,3 0,3": {{0, 7}, {3, 1}}, " void": nil} {
		env := Environment(devices)
		if got := env["CUDA_VISIBLE_DEVICES"] + " " + env["NVIDIA_VISIBLE_DEVICES"]; got != want {
			t.Errorf("%v: %q, want %q", devices, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("0:0,1:1")
	f.Fuzz(func(t *testing.T, text string) {
		if devices, err := Parse(text); err == nil && len(devices) == 0 {
			t.Errorf("%q gives nothing", text)
		}
	})
}
