package hadooplab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Sentences are what people read of a leaf policy where an application waits (heddle app -why).
var Sentences = map[string]*regexp.Regexp{
	"hopper":  regexp.MustCompile(`virtual size \d+\.\d: \d+ tasks, β [\d.]+, α [\d.]+; `),
	"eunomia": regexp.MustCompile(`the application has 0\.\d\d of the progress that it could make alone`),
}

// Groups returns the cgroups whose names begin so. There are none where the machine has no cgroups.
func Groups(t testing.TB, prefix string) (out []string) {
	t.Helper()
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // there is none, or it has just gone
		case err == nil && d.IsDir() && strings.HasPrefix(d.Name(), prefix):
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Throttle lets each of some cgroups have so many ms of a core in a second; 0: all that it wants.
func Throttle(t testing.TB, groups []string, ms int) {
	t.Helper()
	quota, limit := "-1", "max 100000"
	if ms > 0 {
		quota, limit = fmt.Sprint(ms*100), fmt.Sprint(ms*100, " 100000")
	}
	done := 0
	for _, dir := range groups {
		for file, text := range map[string]string{"cpu.cfs_quota_us": quota, "cpu.max": limit} {
			switch _, err := os.Stat(filepath.Join(dir, file)); {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				t.Fatal(err)
			default:
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0); err != nil {
					t.Fatal(err)
				}
				done++
			}
		}
	}
	if done == 0 {
		t.Fatalf("none of the groups %q can be throttled", groups)
	}
}
