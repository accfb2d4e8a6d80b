package house

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// skips are the tests that may be skipped, and why: only for what a machine can't do, or takes too long for every run. A program that is
// missing is no reason: heddle/internal/needs fails such tests.
var skips = map[string]map[string]int{
	"only root can do it": {
		"internal/cable/cable_linux.go":            1,
		"nm/full_linux_test.go":                    1,
		"nm/options_test.go":                       1,
		"nm/runas/runas_test.go":                   1,
		"nm/jvmarchive/hostile_test.go":            1,
		"nm/jvmarchive/store_test.go":              1,
		"nm/localizer/owner_test.go":               1,
		"nm/hostile_linux_test.go":                 1,
		"nm/auxaccount_linux_test.go":              1,
		"nm/container/full_linux_test.go":          1,
		"nm/container/outside_linux_test.go":       1,
		"nm/container/owner_linux_test.go":         1,
		"nm/container/runtime_test.go":             1,
		"nm/container/image_linux_test.go":         1,
		"nm/image/layer/layer_linux_test.go":       1,
		"nm/image/store/store_linux_test.go":       1,
		"nm/launch/session_linux_test.go":          1,
		"nm/launch/hostile_linux_test.go":          1,
		"internal/userfiles/hostile_test.go":       1,
		"internal/hungdisk/hungdisk_linux.go":      1,
		"internal/swapfile/swapfile_linux.go":      2,
		"integration/attacks/target_test.go":       1,
		"integration/campaign/seeds_test.go":       1,
		"integration/chaos/hungdisk_linux_test.go": 1,
		"integration/chaos/floods_linux_test.go":   1,
		"integration/cli/standalone_test.go":       1,
		"integration/faults/node_test.go":          1,
		"integration/jobs/overheard_linux_test.go": 1,
		"nm/disks/former_test.go":                  2,
		"integration/modes/modes_test.go":          1,
		"integration/modes/state_test.go":          1,
		"integration/migration/walk_linux_test.go": 1,
		"internal/trust/trust_test.go":             2,
		"internal/secret/secret_test.go":           1,
		"cmd/heddle/internal/roots/roots_test.go":  1,
		"integration/hadoop/restart_test.go":       1, // and Hadoop a program of root's
	},
	"the kernel lacks a feature, or lets nobody mount": {
		"nm/cgroup/handler_linux_test.go":          2,
		"integration/suspended/ring_linux_test.go": 1,
		"nm/localizer/disk_linux_test.go":          1,
		"nm/container/outside_linux_test.go":       1,
		"nm/shuffle/load_test.go":                  1,
		"internal/hungdisk/hungdisk_linux.go":      2,
		"internal/hungdisk/hungdisk_other.go":      1,
		"internal/swapfile/swapfile_linux.go":      3,
		"internal/swapfile/swapfile_other.go":      1,
		"integration/archives/archives_test.go":    1,
		"integration/hadooplab/disk.go":            1,
		"integration/jobs/suspension_test.go":      1,
		"integration/vm/vm_test.go":                1, // only root, on Linux and amd64
		"integration/campaign/machine_test.go":     1,
	},
	"HEDDLE_TEST_FULL=1 runs it, as it takes minutes": {
		"cmd/heddle/internal/whatif/proof_test.go": 1,
		"integration/browser/matrix_test.go":       1,
		"integration/browser/pace_test.go":         1,
		"hdfsadapter/secure_test.go":               1,
		"integration/hadooplab/main.go":            1,
		"integration/secure/hdfs_test.go":          1,
		"integration/images/images_test.go":        1,
		"integration/images/stock_test.go":         1,
		"integration/policy/random_test.go":        1,
		"nm/container/order_test.go":               1,
		"nm/container/resize_test.go":              1,
		"nm/container/torture_linux_test.go":       1,
		"sim/hybrid/published_test.go":             1,
	},
	"HEDDLE_TEST_STOCK=1 tests a stock Hadoop, which can't do it": {
		"integration/faults/tokens_test.go":                   1,
		"integration/faults/keys_test.go":                     1,
		"integration/faults/node_test.go":                     1,
		"integration/rest/probes_test.go":                     1,
		"integration/rest/queueacls_test.go":                  1,
		"integration/spark/options_test.go":                   1,
		"integration/frameworks/services_constraints_test.go": 1,
		"integration/spark/executor_test.go":                  1,
		"integration/spark/pages_test.go":                     1,
		"integration/spark/suspended_test.go":                 1,
		"integration/spark/policies_test.go":                  1,
		"integration/spark/upgrade_test.go":                   1,
		"integration/spark/shuffleservice_test.go":            2,
		"integration/frameworks/suspended_test.go":            1,
		"integration/hadoop/pages_test.go":                    1,
		"integration/hadoop/timeline_test.go":                 1,
		"integration/hadoop/restart_test.go":                  3,
		"integration/hadoop/timelinereader_test.go":           1,
		"integration/hadoop/mixed_test.go":                    1,
		"integration/hadoop/suspend_test.go":                  1,
		"integration/hadoop/jobs_test.go":                     1,
		"integration/hadoop/stages_test.go":                   1,
		"integration/hadoop/starvation_test.go":               1,
		"integration/hadoop/mix_test.go":                      1,
		"integration/hadoop/policies_test.go":                 1,
		"integration/hadoop/switch_test.go":                   1,
	},
	"no registry has what it compiles": {
		"integration/frameworks/tezshuffle_test.go": 1,
	},
	"rapid or the fuzzer draws another input": {
		"nm/gpu/gpu_test.go":     1,
		"am/client/asks_test.go": 1,
		"conf/expand_test.go":    1,
	},
}

// A skipped test proves nothing. Each place that skips one is on the list, and each on the list is there.
func TestSkipsAreListed(t *testing.T) {
	found := map[string]int{}
	for name, p := range packages(t) {
		if name == "internal/house" {
			continue
		}
		p.calls(func(file string, f *ast.File, call *ast.CallExpr) {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) && tests(f) {
				found[file]++
			}
		})
	}
	listed := map[string]int{}
	for _, files := range skips {
		for file, n := range files {
			listed[file] += n
		}
	}
	for _, file := range slices.Sorted(maps.Keys(found)) {
		if found[file] != listed[file] {
			t.Errorf("%s skips tests in %d places, and %d are listed with a reason: a test that can't run for want of a program must fail",
				file, found[file], listed[file])
		}
	}
	for file := range listed {
		if found[file] == 0 {
			t.Errorf("%s skips no test any more: take it off the list", file)
		}
	}
}

// tests reports whether a file may skip tests at all.
func tests(f *ast.File) bool {
	for _, s := range f.Imports {
		if path := strings.Trim(s.Path.Value, `"`); path == "testing" || path == "pgregory.net/rapid" {
			return true
		}
	}
	return false
}
