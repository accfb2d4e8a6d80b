package command

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/integration/hadooplab"
)

// update rewrites the golden files with what Hadoop's own commands print.
var update = flag.Bool("update", false, "take the golden files from Hadoop's commands")

// golden are commands that print the same as yarn's, to the byte, and end with the same code. What yarn prints is in
// testdata/yarn; a file that would be empty is not there.
var golden = []struct {
	file, line string
	code       int
}{
	{"app-list", "app -list", 0},
	{"app-list-all", "application -list -appStates ALL", 0},
	{"app-list-filters", "application --list -appStates FINISHED,running -appTypes spark,MAPREDUCE -appTags b,A", 0},
	{"app-list-bad-state", "application -list -appStates RUNNING,SLEEPING", 255},
	{"app-status-running", "application -status " + knownApp, 0},
	{"app-status-killed", "application -status " + finishedApp, 0},
	{"app-status-bare", "application -status application_1700000000000_12345", 0},
	{"app-status-unknown", "application -status " + unknownApp, 255},
	{"app-kill-ended", "application -kill " + finishedApp, 0},
	{"app-kill-unknown", "application -kill " + unknownApp, 255},
	{"app-kill-some", "application -kill " + unknownApp + " " + finishedApp, 0},
	{"app-kill-running", "application -kill " + knownApp, 0},
	{"app-move", "application -movetoqueue " + knownApp + " -queue other", 0},
	{"app-move-ended", "application -appId " + finishedApp + " -changeQueue other", 0},
	{"app-move-nowhere", "application -appId " + knownApp + " -changeQueue nowhere", 1},
	{"app-priority", "application -updatePriority 7 -appId " + knownApp, 0},
	{"app-priority-capped", "application -appId " + knownApp + " -updatePriority 70", 0},
	{"attempt-list", "applicationattempt -list " + knownApp, 0},
	{"attempt-status", "applicationattempt -status " + knownAttempt, 0},
	{"attempt-status-unknown", "applicationattempt -status " + unknownAttempt, 255},
	{"attempt-status-no-app", "applicationattempt -status appattempt_1_0001_000001", 255},
	{"attempt-fail", "applicationattempt -fail " + knownAttempt, 0},
	{"container-list", "container -list " + knownAttempt, 0},
	{"container-status", "container -status " + knownContainer, 0},
	{"container-status-ended", "container -status container_e02_1700000000000_0007_01_000002", 0},
	{"container-status-unknown", "container -status container_e02_1700000000000_0007_01_000077", 255},
	{"container-status-no-attempt", "container -status container_1700000000000_0007_09_000001", 255},
	{"container-status-no-app", "container -status container_1_0001_01_000001", 255},
	{"container-signal", "container -signal " + knownContainer + " FORCEFUL_SHUTDOWN", 0},
	{"node-list", "node -list", 0},
	{"node-list-all", "node -list -all -showDetails", 0},
	{"node-list-states", "node -list -states LOST,UNHEALTHY", 0},
	{"node-list-bad-state", "node -list -states SLEEPING", 255},
	{"node-status", "node -status node7.example.com:45454", 0},
	{"node-status-lost", "node -status n:1", 0},
	{"node-status-unknown", "node -status elsewhere:1", 0},
	{"queue-status", "queue -status users", 0},
	{"queue-status-fair", "queue -status fair", 0},
	{"queue-status-unknown", "queue -status nowhere", 255},
	{"queue-list", "queue -list root", 0},
	{"queue-list-all", "queue -list all", 0},
	{"queue-list-leaf", "queue -list users", 0},
	{"cluster-labels", "cluster -lnl", 0},
	{"cluster-attributes", "cluster --list-node-attributes", 0},
	{"rmadmin-refresh", "rmadmin -refreshQueues", 0},
	{"rmadmin-refused", "rmadmin -refreshServiceAcl", 255},
	{"rmadmin-groups", "rmadmin -getGroups alice bob", 0},
	{"rmadmin-no-ha", "rmadmin -getServiceState rm1", 255},
	{"rmadmin-decommission", "rmadmin -refreshNodes -g -client", 0},
	{"rmadmin-resource", "rmadmin -updateNodeResource n:1 2048 2", 0},
	{"rmadmin-labels", "rmadmin -addToClusterNodeLabels a,b(exclusive=false)", 0},
	{"rmadmin-unknown", "rmadmin -paintQueues", 255},
	{"ha-state", "rmadmin -getServiceState rm1", 0},
	{"ha-state-gone", "rmadmin -getServiceState rm2", 255},
	{"ha-state-unknown", "rmadmin -getServiceState rm9", 255},
	{"ha-health", "rmadmin -checkHealth rm1", 255},
	{"ha-node-list", "node -list", 0},
}

// goldenSettings are the settings of a case: those whose names begin with ha have two ResourceManagers.
func goldenSettings(f *fakeRM, name string) map[string]string {
	if strings.HasPrefix(name, "ha-") {
		return f.haSettings()
	}
	return f.settings()
}

func goldenFile(name string) string { return filepath.Join("testdata", "yarn", name+".txt") }

func readGolden(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(goldenFile(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func TestCommandsPrintWhatYarnPrints(t *testing.T) {
	for _, c := range golden {
		t.Run(c.file, func(t *testing.T) {
			got := run(t, goldenSettings(startRM(t), c.file), strings.Fields(c.line)...)
			if diff := cmp.Diff(readGolden(t, c.file), got.out); diff != "" {
				t.Errorf("%s (-yarn +heddle):\n%s", c.line, diff)
			}
			if got.code != c.code {
				t.Errorf("%s: exit code %d (%v), yarn's is %d", c.line, got.code, got.failure, c.code)
			}
		})
	}
}

// sample are the golden files that are compared with Hadoop's commands in every run; each takes a JVM's start. With -update
// they all are made anew.
var sample = []string{
	"app-list-filters", "app-status-running", "app-status-bare", "attempt-list", "container-list", "container-status", "node-list-all",
	"node-status", "queue-status", "queue-list", "cluster-attributes", "rmadmin-groups", "ha-state",
}

// Hadoop's own commands, against the same ResourceManager, print what the golden files say.
func TestYarnPrintsTheGoldenFiles(t *testing.T) {
	t.Setenv("TZ", "UTC")
	for _, c := range golden {
		if !*update && !slices.Contains(sample, c.file) {
			continue
		}
		t.Run(c.file, func(t *testing.T) {
			lab := hadooplab.Start(t, hadooplab.Options{Site: goldenSettings(startRM(t), c.file)})
			r, err := lab.Try(t.Context(), "", append([]string{"yarn"}, strings.Fields(c.line)...)...)
			if err != nil {
				t.Fatal(err)
			}
			out := r.Stdout
			if r.Code != c.code {
				t.Errorf("%s: yarn's exit code is %d, not %d: %s", c.line, r.Code, c.code, r.Stderr)
			}
			switch {
			case *update && out == "":
				err = os.Remove(goldenFile(c.file))
				if errors.Is(err, os.ErrNotExist) {
					err = nil
				}
			case *update:
				err = os.WriteFile(goldenFile(c.file), []byte(out), 0o644)
			default:
				err = nil
				if diff := cmp.Diff(readGolden(t, c.file), out); diff != "" {
					t.Errorf("%s (-golden +yarn):\n%s", c.line, diff)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
